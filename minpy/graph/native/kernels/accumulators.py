"""`Lanes`: the partial results of one reduction, one for each lane of a few vectors, in registers once LLVM is done.

A sum of many floats is a sum of blocks, each short enough that its rounding errors stay small: those of float32 in
float64, those of float64 with the errors of their own additions (Knuth's TwoSum; Ogita, Rump and Oishi, "Accurate sum
and dot product", SIAM J. Sci. Comput. 26 (2005), algorithm 4.4).
"""

from __future__ import annotations

import numpy

from minpy.graph.native.kernels.reductions import combined, folded, identity, is_better
from minpy.graph.native.kernels.writing import Writer, memory_type, value_type
from minpy.graph.native.language import Reduce

__all__ = ["BLOCK", "Lanes", "add_exactly"]

# So many additions of a lane are one block: as many as there are in a row in a block of NumPy's pairwise sums.
BLOCK = 16


def add_exactly(w: Writer, kind: str, total: str, value: str) -> tuple[str, str]:
    """Write the sum of two values, and the error of that sum."""
    found = w.give(f"fadd {kind} {total}, {value}")
    part = w.give(f"fsub {kind} {found}, {total}")
    rest = w.give(f"fsub {kind} {found}, {part}")
    first = w.give(f"fsub {kind} {total}, {rest}")
    second = w.give(f"fsub {kind} {value}, {part}")
    return found, w.give(f"fadd {kind} {first}, {second}")


class Lanes:
    """Partial results of a reduction, `count` of them.

    Parameters
    ----------
    writer : Writer
    step : Reduce
    count : int
        How many lanes there are, whole vectors.
    piece : int
        How many are in one vector.
    blocked : bool
        Whether sums of blocks are summed up apart: `flush` ends a block.
    index : str
        The type of indices, of 'argmax' and 'argmin'.
    ordered : bool
        Whether each lane meets its elements in the order of their indices.
    stride : int
        How far the indices of the lanes' first elements are apart; lanes without any come last.
    """

    def __init__(
        self,
        writer: Writer,
        step: Reduce,
        count: int,
        piece: int,
        blocked: bool,
        index: str,
        ordered: bool,
        stride: int,
    ) -> None:
        self.writer = writer
        self.step = step
        self.function = step.function
        self.dtype: numpy.dtype = step.operands[0].dtype
        self.kind = memory_type(self.dtype)
        self.piece = min(piece, count)
        self.count = count
        self.index = index
        self.indexed = step.function.startswith("arg")
        self.ordered = ordered
        self.stride = stride
        self.values = writer.allocate(count, self.kind)
        self.positions = writer.allocate(count, index) if self.indexed else ""
        self.blocked = blocked
        self.totals = writer.allocate(self.count, "double") if blocked else ""
        self.errors = writer.allocate(self.count, "double") if blocked and self.kind == "double" else ""

    # -- vectors of lanes --------------------------------------------------------------------------------------------

    def _pieces(self) -> range:
        return range(0, self.count, self.piece)

    def _load(self, place: str, start: int, kind: str) -> str:
        pointer = self.writer.offset(place, kind, str(start))
        return self.writer.give(f"load <{self.piece} x {kind}>, ptr {pointer}")

    def _store(self, value: str, place: str, start: int, kind: str) -> None:
        pointer = self.writer.offset(place, kind, str(start))
        self.writer.do(f"store <{self.piece} x {kind}> {value}, ptr {pointer}")

    def _fill(self, place: str, value: str, kind: str) -> None:
        for start in self._pieces():
            self._store(f"splat ({kind} {value})", place, start, kind)

    @property
    def _identity(self) -> str:
        found = identity(self.function, self.dtype)
        return {"true": "1", "false": "0"}.get(found, found)

    def begin(self) -> None:
        """Begin anew."""
        self._fill(self.values, self._identity, self.kind)
        if self.indexed:
            # In order, each lane begins with its first element, whatever that is.
            for start in self._pieces():
                first = [self.stride * lane for lane in range(start, start + self.piece)]
                if not self.ordered:
                    first = [2 ** (int(self.index[1:]) - 1) - 1] * self.piece
                vector = ", ".join(f"{self.index} {position}" for position in first)
                self._store(f"<{vector}>", self.positions, start, self.index)
        for place in filter(None, (self.totals, self.errors)):
            self._fill(place, "0.0", "double")

    def take(self, lane: str, value: str, position: str | None, condition: str | None) -> None:
        """Take in a value, in the loop over the lanes, where a condition holds, if there is one."""
        w = self.writer
        place = w.offset(self.values, self.kind, lane)
        if condition is not None and not self.indexed:
            kind = value_type(self.dtype)
            nothing = identity(self.function, self.dtype)
            value = w.give(f"select i1 {condition}, {kind} {value}, {kind} {nothing}")
        if self.dtype.kind == "b":
            value = w.give(f"zext i1 {value} to i8")
        old = w.give(f"load {self.kind}, ptr {place}{w.mark()}")
        if not self.indexed:
            new = combined(w, self.function, self.dtype, self.kind, old, value)
            w.do(f"store {self.kind} {new}, ptr {place}{w.mark()}")
            return
        where = w.offset(self.positions, self.index, lane)
        before = w.give(f"load {self.index}, ptr {where}{w.mark()}")
        moves = is_better(w, self.function, self.dtype, self.kind, value, old)
        if not self.ordered:
            moves = w.give(f"or i1 {moves}, {self._ties(value, old, str(position), before)}")
        if condition is not None:
            moves = w.give(f"and i1 {moves}, {condition}")
        new = w.give(f"select i1 {moves}, {self.kind} {value}, {self.kind} {old}")
        after = w.give(f"select i1 {moves}, {self.index} {position}, {self.index} {before}")
        w.do(f"store {self.kind} {new}, ptr {place}{w.mark()}")
        w.do(f"store {self.index} {after}, ptr {where}{w.mark()}")

    def _ties(self, value: str, old: str, position: str, before: str) -> str:
        """Write whether a value is as good as the old one, and comes first."""
        w = self.writer
        same = w.give(f"{'fcmp oeq' if self.dtype.kind == 'f' else 'icmp eq'} {self.kind} {value}, {old}")
        if self.dtype.kind == "f":
            both = [w.give(f"fcmp uno {self.kind} {one}, 0.0") for one in (value, old)]
            same = w.give(f"or i1 {same}, {w.give(f'and i1 {both[0]}, {both[1]}')}")
        return w.give(f"and i1 {same}, {w.give(f'icmp slt {self.index} {position}, {before}')}")

    def flush(self) -> None:
        """End a block of a sum."""
        if not self.blocked:
            return
        w, double = self.writer, f"<{self.piece} x double>"
        for start in self._pieces():
            value = self._load(self.values, start, self.kind)
            total = self._load(self.totals, start, "double")
            if self.kind == "double":
                total, error = add_exactly(w, double, total, value)
                errors = self._load(self.errors, start, "double")
                self._store(w.give(f"fadd {double} {errors}, {error}"), self.errors, start, "double")
            else:
                wide = w.give(f"fpext <{self.piece} x {self.kind}> {value} to {double}")
                total = w.give(f"fadd {double} {total}, {wide}")
            self._store(total, self.totals, start, "double")
            self._store("zeroinitializer", self.values, start, self.kind)

    # -- what comes out ----------------------------------------------------------------------------------------------

    def _all(self, place: str, kind: str) -> list[str]:
        return [self._load(place, start, kind) for start in self._pieces()]

    def _tree(self, values: list[str], function: str, dtype: numpy.dtype, kind: str) -> str:
        """Combine vectors pairwise, then what is in one."""
        vector = f"<{self.piece} x {kind}>"
        while len(values) > 1:
            pairs = [
                combined(self.writer, function, dtype, vector, values[k], values[k + 1])
                for k in range(0, len(values) - 1, 2)
            ]
            values = pairs + values[len(pairs) * 2 :]
        return folded(self.writer, function, dtype, kind, values[0], self.piece)

    def one(self) -> str:
        """Write the result of all lanes together, and return it as a value."""
        w = self.writer
        if self.indexed:
            return self._first()
        if not self.blocked:
            found = self._tree(self._all(self.values, self.kind), self.function, self.dtype, self.kind)
            return w.give(f"trunc i8 {found} to i1") if self.dtype.kind == "b" else found
        wide = numpy.dtype("float64")
        total = self._tree(self._all(self.totals, "double"), "sum", wide, "double")
        if not self.errors:
            return w.give(f"fptrunc double {total} to {self.kind}")
        return self._corrected(total, self._tree(self._all(self.errors, "double"), "sum", wide, "double"))

    def _corrected(self, total: str, error: str) -> str:
        """Add the errors, which are NaN where the sum is infinite."""
        nan = self.writer.give(f"fcmp uno double {error}, 0.0")
        error = self.writer.give(f"select i1 {nan}, double 0.0, double {error}")
        return self.writer.give(f"fadd double {total}, {error}")

    def _first(self) -> str:
        """Write the smallest index of the best elements of all lanes."""
        w, kind, vector = self.writer, self.index, f"<{self.piece} x {self.kind}>"
        values = self._all(self.values, self.kind)
        positions = self._all(self.positions, kind)
        extreme = "max" if self.function.endswith("max") else "min"
        best = self._tree(values, extreme, self.dtype, self.kind)
        best = w.give(f"insertelement {vector} poison, {self.kind} {best}, i64 0")
        best = w.give(f"shufflevector {vector} {best}, {vector} poison, <{self.piece} x i32> zeroinitializer")
        largest = 2 ** (int(kind[1:]) - 1) - 1
        candidates = []
        for value, position in zip(values, positions, strict=True):
            if self.dtype.kind == "f":
                equal = w.give(f"fcmp oeq {vector} {value}, {best}")
                nan = w.give(f"fcmp uno {vector} {value}, {value}")  # then the best is NaN, too
                chosen = w.give(f"or <{self.piece} x i1> {equal}, {nan}")
            else:
                chosen = w.give(f"icmp eq {vector} {value}, {best}")
            candidates.append(
                w.give(
                    f"select <{self.piece} x i1> {chosen}, <{self.piece} x {kind}> {position}, "
                    f"<{self.piece} x {kind}> splat ({kind} {largest})"
                )
            )
        signed = numpy.dtype("int32" if kind == "i32" else "int64")
        found = self._tree(candidates, "min", signed, kind)
        return w.give(f"sext {kind} {found} to i64") if kind != "i64" else found

    def each(self, lane: str) -> str:
        """Write the result of one lane, in the loop over them, and return it as a value."""
        w = self.writer
        if self.indexed:
            found = w.give(f"load {self.index}, ptr {w.offset(self.positions, self.index, lane)}{w.mark()}")
            return w.give(f"sext {self.index} {found} to i64") if self.index != "i64" else found
        if not self.blocked:
            found = w.give(f"load {self.kind}, ptr {w.offset(self.values, self.kind, lane)}{w.mark()}")
            return w.give(f"icmp ne i8 {found}, 0") if self.dtype.kind == "b" else found
        total = w.give(f"load double, ptr {w.offset(self.totals, 'double', lane)}{w.mark()}")
        if not self.errors:
            return w.give(f"fptrunc double {total} to {self.kind}")
        error = w.give(f"load double, ptr {w.offset(self.errors, 'double', lane)}{w.mark()}")
        return self._corrected(total, error)
