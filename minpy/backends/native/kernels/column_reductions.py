"""`Columns`: reductions along outer axes, whose results are summed up in memory while a nest runs.

A sum of many floats is put away into scratch memory block by block, as in `accumulators`.

Where the outermost loop along which they run is cut in pieces, each piece has a result of its own: of blocks, their
sums and errors, so that nothing is rounded before all of it is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy

from minpy.backends.native.fusing.loop_nest import Nest
from minpy.backends.native.kernels.accumulators import BLOCK, add_exactly, added, rounded
from minpy.backends.native.kernels.combining import combined, identity, is_summed
from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer, memory_type, value_type
from minpy.backends.native.kernels.nest_geometry import Access, Dim, Geometry, is_of_rows
from minpy.backends.native.kernels.split_reductions import Partials, Pieces, cut
from minpy.backends.native.kernels.strips import Strips
from minpy.backends.native.language import Array, Reduce

__all__ = ["Columns"]

_DOUBLE = numpy.dtype("float64")
# A piece's partial result of an element costs about as much as so many points of the nest, to clear, write and read.
_COST = 4


class _Column:
    """A reduction along outer axes, summed up in memory.

    Attributes
    ----------
    result, access : Access
        Its result, and where it is summed up: the same memory, unless pieces have memory of their own.
    totals, errors : Access or None
        Sums of the blocks, and their errors.
    level, every : int
        A block ends in the loop of the scope of that number, after so many iterations.
    """

    def __init__(self, step: Reduce, axes: frozenset[int], access: Access, inside: list[Dim], scope: list[Dim]) -> None:
        self.step = step
        self.axes = axes  # the outer axes along which it runs
        self.result = self.access = access
        self.inside = inside  # the inner loops along which there is an element each
        self.is_cut = False  # whether the loop that is cut in pieces is one that it runs along
        self.dtype = step.operands[0].dtype
        self.totals: Access | None = None
        self.errors: Access | None = None
        self.level, self.every = -1, 0
        additions = math.prod(dim.length for dim in scope if dim.axis in axes)
        if not is_summed(step.function, self.dtype) or additions <= BLOCK:
            return
        additions = 1
        for level in reversed(range(len(scope))):
            dim = scope[level]
            if dim.axis in axes:
                if additions * dim.length > BLOCK:
                    self.level, self.every = level, max(1, BLOCK // additions)
                    return
                additions *= dim.length

    @property
    def is_blocked(self) -> bool:
        """Whether it is summed up in blocks."""
        return self.level >= 0


@dataclass(eq=False)
class Columns:
    """The column reductions of a nest.

    `reserve`: (number of elements, dtype) -> pointer to scratch memory. `tile`: the largest length of tiles.
    `partials`: memory for partial results of pieces.
    """

    writer: Writer
    cursor: Cursor
    nest: Nest
    geometry: Geometry
    reserve: Callable[[int, numpy.dtype], str]
    strips: Strips
    tile: int
    partials: Partials
    pieces: Pieces | None = None
    # Where a loop begins and ends that is cut in pieces: filled in by who writes it.
    bounds: dict[Dim, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        geometry = self.geometry
        self.columns: dict[Array, _Column] = {}
        for array, axes in geometry.columns.items():
            step = array.step
            assert isinstance(step, Reduce)
            is_row_value = array in geometry.rows or is_of_rows(self.nest, step)
            inside = [] if is_row_value else geometry.inner
            self.columns[array] = _Column(step, axes, geometry.stores[array], inside, geometry.scope)

    def cut(self, points: int) -> Pieces | None:
        """Return the pieces of the outermost loop of the scope, if that is worth it for so many points."""
        first = self.geometry.scope[0]
        along = [column for column in self.columns.values() if first.axis in column.axes]
        unit = max((column.every for column in along if column.level == 0), default=1)
        lanes = self.tile if self.geometry.across else 1
        elements = sum(lanes * math.prod(dim.length for dim in self._result_dims(column)) for column in along)
        return cut(first, first.length, unit, points // (_COST * max(elements, 1)))

    def lay_out(self, pieces: Pieces | None) -> None:
        """Allocate memory for partial results.

        `pieces`: those of the outermost loop of the scope, if it is cut.
        """
        self.pieces = pieces
        for column in self.columns.values():
            column.is_cut = pieces is not None and pieces.loop.axis in column.axes
            if column.is_cut:
                column.access = self._allocated(column, column.dtype, not column.is_blocked)
            if column.is_blocked:
                column.totals = self._allocated(column, _DOUBLE, column.is_cut)
                if column.dtype == _DOUBLE:
                    column.errors = self._allocated(column, _DOUBLE, column.is_cut)

    def _result_dims(self, column: _Column, level: int = 0) -> list[Dim]:
        """Return the loops of the scope, from a level on, and the inner ones, along which there is an element each."""
        return [dim for dim in self.geometry.scope[level:] if dim.axis not in column.axes] + column.inside

    def _allocated(self, column: _Column, dtype: numpy.dtype, is_left: bool) -> Access:
        strides, step = {}, 1
        across, lane = self.geometry.across, self.geometry.lane
        if across and lane is not None:
            strides[lane.axis], step = 1, self.tile
        for dim in reversed(self._result_dims(column)):
            strides[dim.axis] = step
            step *= dim.length
        if is_left:
            assert self.pieces is not None
            return self.partials.place(self.pieces, dtype, strides, step, local=across)
        access = Access(dtype, strides)
        self.cursor.start(access, self.reserve(step, dtype), local=across)
        return access

    # -- loops over the results --------------------------------------------------------------------------------------

    def _each(self, column: _Column, level: int, tile: int, body: Callable[[], None]) -> None:
        """Write a body for every element of a result, as far as the loops outside of a level have come."""
        dims = self._result_dims(column, level)
        if self.geometry.across:

            def strip() -> None:
                with self.strips.strip(self.geometry.lane, tile) as lane, self.writer.when(lane.filled):
                    body()

            self._loops(dims, strip)
        elif not dims:
            with self.cursor.inside(None, "0", []):
                body()
        else:

            def line() -> None:
                with self.strips.loop(dims[-1], *self._range(dims[-1])):
                    body()

            self._loops(dims[:-1], line)

    def _loops(self, dims: list[Dim], body: Callable[[], None]) -> None:
        if not dims:
            body()
            return
        with self.writer.loop(*self._range(dims[0])) as variable, self.cursor.inside(dims[0], variable, []):
            self._loops(dims[1:], body)

    def _range(self, dim: Dim) -> tuple[int | str, int | str]:
        return self.bounds.get(dim, (0, dim.length))

    # -- what happens when -------------------------------------------------------------------------------------------

    def begin(self, tile: int) -> None:
        """Reset the partial results, before the loops of the scope."""
        for column in self.columns.values():
            if column.axes:
                self._each(column, 0, tile, lambda column=column: self._clear(column))  # type: ignore[misc]

    def _clear(self, column: _Column) -> None:
        self.writer.store(identity(column.step.function, column.dtype), self.cursor.at(column.access), column.dtype)
        for access in (column.totals, column.errors):
            if access is not None:
                self.writer.store("0.0", self.cursor.at(access), _DOUBLE)

    def accumulate(self, step: Reduce, value: str) -> None:
        """Accumulate a value."""
        w, column = self.writer, self.columns[step.output]
        kind = memory_type(column.dtype)
        pointer = self.cursor.at(column.access)
        if column.dtype.kind == "b":
            value = w.put(f"zext i1 {value} to i8")
        if column.axes:
            old = w.put(f"load {kind}, ptr {pointer}{w.mark()}")
        else:
            old = identity(step.function, column.dtype)
            old = {"true": "1", "false": "0"}.get(old, old)
        new = combined(w, step.function, column.dtype, kind, old, value)
        w.do(f"store {kind} {new}, ptr {pointer}{w.mark()}")

    def flush(self, level: int, variable: str, tile: int) -> None:
        """End blocks, at the end of an iteration of a loop of the scope."""
        for column in self.columns.values():
            if column.level != level:
                continue
            if column.every == 1:
                self._each(column, level + 1, tile, lambda column=column: self._add_block(column))  # type: ignore[misc]
                continue
            number = self.writer.put(f"urem i64 {variable}, {column.every}")
            is_last = self.writer.put(f"icmp eq i64 {number}, {column.every - 1}")
            with self.writer.when(is_last):
                self._each(column, level + 1, tile, lambda column=column: self._add_block(column))  # type: ignore[misc]

    def _add_block(self, column: _Column) -> None:
        w = self.writer
        assert column.totals is not None
        place = self.cursor.at(column.access)
        value = w.load(place, column.dtype)
        w.store("0.0", place, column.dtype)
        total, error = self._added(column, value)
        w.store(total, self.cursor.at(column.totals), _DOUBLE)
        if column.errors is not None:
            w.store(error, self.cursor.at(column.errors), _DOUBLE)

    def _added(self, column: _Column, value: str) -> tuple[str, str]:
        """Write the total with a block added, and, of doubles, the errors with the error of that added."""
        w = self.writer
        assert column.totals is not None
        total = w.load(self.cursor.at(column.totals), _DOUBLE)
        if column.errors is None:
            wide = w.put(f"fpext {value_type(column.dtype)} {value} to double")
            return w.put(f"fadd double {total}, {wide}"), ""
        total, error = add_exactly(w, "double", total, value)
        return total, w.put(f"fadd double {w.load(self.cursor.at(column.errors), _DOUBLE)}, {error}")

    def end(self, tile: int) -> None:
        """Write the results of sums in blocks; of a piece, its partial results."""
        for column in self.columns.values():
            if column.is_blocked:
                finish = self._add_block if column.is_cut else self._finish
                self._each(column, 0, tile, lambda column=column, finish=finish: finish(column))  # type: ignore[misc]

    def _finish(self, column: _Column) -> None:
        w = self.writer
        place = self.cursor.at(column.access)
        total, error = self._added(column, w.load(place, column.dtype))
        w.store(rounded(w, column.dtype, total, error), place, column.dtype)

    def join(self, tile: int) -> None:
        """Write the results, from the partial results of all pieces."""
        for column in self.columns.values():
            if column.is_cut:
                self._each(column, 0, tile, lambda column=column: self._join(column))  # type: ignore[misc]

    def _join(self, column: _Column) -> None:
        w, kind = self.writer, memory_type(column.dtype)
        place = self.cursor.at(column.result)
        if column.totals is None:
            values = self._piece_values(column.access, kind)
            result = values[0]
            for value in values[1:]:
                result = combined(w, column.step.function, column.dtype, kind, result, value)
            w.do(f"store {kind} {result}, ptr {place}{w.mark()}")
            return
        totals = self._piece_values(column.totals, "double")
        errors = [] if column.errors is None else self._piece_values(column.errors, "double")
        w.store(rounded(w, column.dtype, *added(w, totals, errors)), place, column.dtype)

    def _piece_values(self, access: Access, kind: str) -> list[str]:
        """Return the partial result of each piece for an element."""
        assert self.pieces is not None
        return self.partials.read(self.pieces, access, kind)
