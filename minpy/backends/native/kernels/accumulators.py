"""`Lanes`: the partial results of one reduction, one for each lane of a few vectors, in registers once LLVM is done.

A sum of many floats is a sum of blocks, each short enough that its rounding errors stay small: those of float32 in
float64, those of float64 with the errors of their own additions (Knuth's TwoSum; Ogita, Rump and Oishi, "Accurate sum
and dot product", SIAM J. Sci. Comput. 26 (2005), algorithm 4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from minpy.backends.native.kernels.combining import combined, folded, identity, is_better
from minpy.backends.native.kernels.function_writer import Writer, memory_type, value_type
from minpy.backends.native.language import Reduce

__all__ = ["BLOCK", "Lanes", "add_exactly", "added", "rounded"]

# So many additions of a lane are one block: as many as there are in a row in a block of NumPy's pairwise sums.
BLOCK = 16


def add_exactly(w: Writer, kind: str, total: str, value: str) -> tuple[str, str]:
    """Write the sum of two values, and the error of that sum."""
    result = w.put(f"fadd {kind} {total}, {value}")
    part = w.put(f"fsub {kind} {result}, {total}")
    remainder = w.put(f"fsub {kind} {result}, {part}")
    first = w.put(f"fsub {kind} {total}, {remainder}")
    second = w.put(f"fsub {kind} {value}, {part}")
    return result, w.put(f"fadd {kind} {first}, {second}")


def added(w: Writer, totals: Sequence[str], errors: Sequence[str]) -> tuple[str, str]:
    """Write the total of partial sums, and, if they have errors, its error."""
    total, error = totals[0], errors[0] if errors else ""
    for number in range(1, len(totals)):
        if not errors:
            total = w.put(f"fadd double {total}, {totals[number]}")
            continue
        total, further = add_exactly(w, "double", total, totals[number])
        error = w.put(f"fadd double {error}, {errors[number]}")
        error = w.put(f"fadd double {error}, {further}")
    return total, error


def rounded(w: Writer, dtype: numpy.dtype, total: str, error: str) -> str:
    """Write a sum rounded to a dtype: of float64 there is an error, which is NaN where the sum is infinite."""
    if not error:
        return w.put(f"fptrunc double {total} to {memory_type(dtype)}")
    nan = w.put(f"fcmp uno double {error}, 0.0")
    error = w.put(f"select i1 {nan}, double 0.0, double {error}")
    return w.put(f"fadd double {total}, {error}")


@dataclass(eq=False)
class Lanes:
    """Partial results of a reduction, `count` of them.

    `count`: how many lanes there are, whole vectors. `piece`: how many are in one vector. `blocked`: whether sums of
    blocks are summed up apart: `flush` ends a block. `index`: the type of indices, of 'argmax' and 'argmin'. `ordered`:
    whether each lane meets its elements in the order of their indices. `stride`: how far the indices of the lanes'
    first elements are apart; lanes without any come last.
    """

    writer: Writer
    step: Reduce
    count: int
    piece: int
    blocked: bool
    index: str
    ordered: bool
    stride: int

    def __post_init__(self) -> None:
        self.function = self.step.function
        self.dtype: numpy.dtype = self.step.operands[0].dtype
        self.kind = memory_type(self.dtype)
        self.piece = min(self.piece, self.count)
        self.indexed = self.function.startswith("arg")
        allocate = self.writer.allocate
        self.values = allocate(self.count, self.kind)
        self.positions = allocate(self.count, self.index) if self.indexed else ""
        self.totals = allocate(self.count, "double") if self.blocked else ""
        self.errors = allocate(self.count, "double") if self.blocked and self.kind == "double" else ""

    # -- vectors of lanes --------------------------------------------------------------------------------------------

    def _vector_starts(self) -> range:
        return range(0, self.count, self.piece)

    def _load(self, place: str, start: int, kind: str) -> str:
        pointer = self.writer.offset(place, kind, str(start))
        return self.writer.put(f"load <{self.piece} x {kind}>, ptr {pointer}")

    def _store(self, value: str, place: str, start: int, kind: str) -> None:
        pointer = self.writer.offset(place, kind, str(start))
        self.writer.do(f"store <{self.piece} x {kind}> {value}, ptr {pointer}")

    def _fill(self, place: str, value: str, kind: str) -> None:
        for start in self._vector_starts():
            self._store(f"splat ({kind} {value})", place, start, kind)

    @property
    def _identity(self) -> str:
        result = identity(self.function, self.dtype)
        return {"true": "1", "false": "0"}.get(result, result)

    def begin(self) -> None:
        """Reset the partial results."""
        self._fill(self.values, self._identity, self.kind)
        if self.indexed:
            # In order, each lane begins with its first element, whatever that is.
            for start in self._vector_starts():
                first = [self.stride * lane for lane in range(start, start + self.piece)]
                if not self.ordered:
                    first = [2 ** (int(self.index[1:]) - 1) - 1] * self.piece
                vector = ", ".join(f"{self.index} {position}" for position in first)
                self._store(f"<{vector}>", self.positions, start, self.index)
        for place in filter(None, (self.totals, self.errors)):
            self._fill(place, "0.0", "double")

    def accumulate(self, lane: str, value: str, position: str | None, condition: str | None) -> None:
        """Accumulate a value, in the loop over the lanes, where a condition holds, if there is one."""
        w = self.writer
        place = w.offset(self.values, self.kind, lane)
        if condition is not None and not self.indexed:
            kind = value_type(self.dtype)
            nothing = identity(self.function, self.dtype)
            value = w.put(f"select i1 {condition}, {kind} {value}, {kind} {nothing}")
        if self.dtype.kind == "b":
            value = w.put(f"zext i1 {value} to i8")
        old = w.put(f"load {self.kind}, ptr {place}{w.mark()}")
        if not self.indexed:
            new = combined(w, self.function, self.dtype, self.kind, old, value)
            w.do(f"store {self.kind} {new}, ptr {place}{w.mark()}")
            return
        where = w.offset(self.positions, self.index, lane)
        before = w.put(f"load {self.index}, ptr {where}{w.mark()}")
        moves = is_better(w, self.function, self.dtype, self.kind, value, old)
        if not self.ordered:
            moves = w.put(f"or i1 {moves}, {self._ties(value, old, str(position), before)}")
        if condition is not None:
            moves = w.put(f"and i1 {moves}, {condition}")
        new = w.put(f"select i1 {moves}, {self.kind} {value}, {self.kind} {old}")
        after = w.put(f"select i1 {moves}, {self.index} {position}, {self.index} {before}")
        w.do(f"store {self.kind} {new}, ptr {place}{w.mark()}")
        w.do(f"store {self.index} {after}, ptr {where}{w.mark()}")

    def _ties(self, value: str, old: str, position: str, before: str) -> str:
        """Write whether a value is as good as the old one, and comes first."""
        w = self.writer
        same = w.put(f"{'fcmp oeq' if self.dtype.kind == 'f' else 'icmp eq'} {self.kind} {value}, {old}")
        if self.dtype.kind == "f":
            both = [w.put(f"fcmp uno {self.kind} {item}, 0.0") for item in (value, old)]
            same = w.put(f"or i1 {same}, {w.put(f'and i1 {both[0]}, {both[1]}')}")
        return w.put(f"and i1 {same}, {w.put(f'icmp slt {self.index} {position}, {before}')}")

    def flush(self) -> None:
        """End a block of a sum."""
        if not self.blocked:
            return
        w, double = self.writer, f"<{self.piece} x double>"
        for start in self._vector_starts():
            value = self._load(self.values, start, self.kind)
            total = self._load(self.totals, start, "double")
            if self.kind == "double":
                total, error = add_exactly(w, double, total, value)
                errors = self._load(self.errors, start, "double")
                self._store(w.put(f"fadd {double} {errors}, {error}"), self.errors, start, "double")
            else:
                wide = w.put(f"fpext <{self.piece} x {self.kind}> {value} to {double}")
                total = w.put(f"fadd {double} {total}, {wide}")
            self._store(total, self.totals, start, "double")
            self._store("zeroinitializer", self.values, start, self.kind)

    # -- what comes out ----------------------------------------------------------------------------------------------

    def _all(self, place: str, kind: str) -> list[str]:
        return [self._load(place, start, kind) for start in self._vector_starts()]

    def _tree(self, values: list[str], function: str, dtype: numpy.dtype, kind: str) -> str:
        """Combine vectors pairwise, then the lanes of the last one."""
        vector = f"<{self.piece} x {kind}>"
        while len(values) > 1:
            pairs = [
                combined(self.writer, function, dtype, vector, values[k], values[k + 1])
                for k in range(0, len(values) - 1, 2)
            ]
            values = pairs + values[len(pairs) * 2 :]
        return folded(self.writer, function, dtype, kind, values[0], self.piece)

    @property
    def dtypes(self) -> list[numpy.dtype]:
        """The dtypes of partial results: see `combined_partials`."""
        if self.indexed:
            return [self.dtype, numpy.dtype("int32" if self.index == "i32" else "int64")]
        if not self.blocked:
            return [self.dtype]
        return [numpy.dtype("float64")] * (2 if self.errors else 1)

    def combined_result(self) -> str:
        """Write the result of all lanes together, and return it as a value."""
        return self.result(self.combined_partials())

    def lane_result(self, lane: str) -> str:
        """Write the result of one lane, in the loop over them, and return it as a value."""
        return self.result(self.lane_partials(lane))

    def combined_partials(self) -> list[str]:
        """Write the partial result of all lanes: a total and its error, the best element and its index, or a value."""
        if self.indexed:
            return self._best()
        if not self.blocked:
            return [self._tree(self._all(self.values, self.kind), self.function, self.dtype, self.kind)]
        places = [self.totals, self.errors] if self.errors else [self.totals]
        return [self._tree(self._all(place, "double"), "sum", numpy.dtype("float64"), "double") for place in places]

    def lane_partials(self, lane: str) -> list[str]:
        """Write the partial result of one lane, in the loop over them."""
        w = self.writer
        places = [self.totals, self.errors] if self.errors else [self.totals]
        if not self.blocked:
            places = [self.values, self.positions] if self.indexed else [self.values]
        kinds = map(memory_type, self.dtypes)
        return [
            w.put(f"load {kind}, ptr {w.offset(place, kind, lane)}{w.mark()}")
            for place, kind in zip(places, kinds, strict=True)
        ]

    def joined(self, pieces: Sequence[Sequence[str]]) -> list[str]:
        """Write the partial result of all elements, from those of pieces in order."""
        w = self.writer
        if self.blocked:
            total, error = added(
                w, [piece[0] for piece in pieces], [piece[1] for piece in pieces] if self.errors else []
            )
            return [total, error] if error else [total]
        best, *position = pieces[0]
        for value, *place in pieces[1:]:
            if not self.indexed:
                best = combined(w, self.function, self.dtype, self.kind, best, value)
                continue
            moves = is_better(w, self.function, self.dtype, self.kind, value, best)
            if not self.ordered:
                moves = w.put(f"or i1 {moves}, {self._ties(value, best, place[0], position[0])}")
            best = w.put(f"select i1 {moves}, {self.kind} {value}, {self.kind} {best}")
            position = [w.put(f"select i1 {moves}, {self.index} {place[0]}, {self.index} {position[0]}")]
        return [best, *position]

    def result(self, partials: Sequence[str]) -> str:
        """Write the result, from the partial result of all elements, and return it as a value."""
        w = self.writer
        if self.indexed:
            return w.put(f"sext {self.index} {partials[1]} to i64") if self.index != "i64" else partials[1]
        if self.blocked:
            return rounded(w, self.dtype, partials[0], partials[1] if self.errors else "")
        return w.put(f"trunc i8 {partials[0]} to i1") if self.dtype.kind == "b" else partials[0]

    def _best(self) -> list[str]:
        """Write the best element of all lanes, and the smallest index of those as good."""
        w, kind, vector = self.writer, self.index, f"<{self.piece} x {self.kind}>"
        values = self._all(self.values, self.kind)
        positions = self._all(self.positions, kind)
        extreme = "max" if self.function.endswith("max") else "min"
        only = self._tree(values, extreme, self.dtype, self.kind)
        best = w.put(f"insertelement {vector} poison, {self.kind} {only}, i64 0")
        best = w.put(f"shufflevector {vector} {best}, {vector} poison, <{self.piece} x i32> zeroinitializer")
        largest = 2 ** (int(kind[1:]) - 1) - 1
        candidates = []
        for value, position in zip(values, positions, strict=True):
            if self.dtype.kind == "f":
                equal = w.put(f"fcmp oeq {vector} {value}, {best}")
                nan = w.put(f"fcmp uno {vector} {value}, {value}")  # then the best is NaN, too
                chosen = w.put(f"or <{self.piece} x i1> {equal}, {nan}")
            else:
                chosen = w.put(f"icmp eq {vector} {value}, {best}")
            candidates.append(
                w.put(
                    f"select <{self.piece} x i1> {chosen}, <{self.piece} x {kind}> {position}, "
                    f"<{self.piece} x {kind}> splat ({kind} {largest})"
                )
            )
        signed = numpy.dtype("int32" if kind == "i32" else "int64")
        return [only, self._tree(candidates, "min", signed, kind)]
