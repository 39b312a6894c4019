"""What a kernel computes for some of its outer points: phase by phase, in vectors along a lane."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from minpy.backends.native.fusing.loop_nest import Level, Nest
from minpy.backends.native.kernels import element_functions
from minpy.backends.native.kernels.accumulators import BLOCK, Lanes
from minpy.backends.native.kernels.column_reductions import Columns
from minpy.backends.native.kernels.combining import is_summed
from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer, literal, memory_type, value_type
from minpy.backends.native.kernels.nest_geometry import Access, Dim, Geometry, is_of_rows
from minpy.backends.native.kernels.phases import Phase, weight
from minpy.backends.native.kernels.split_reductions import Partials, Pieces, cut
from minpy.backends.native.kernels.split_row_reductions import RowPieces
from minpy.backends.native.kernels.strips import Lane, Strips
from minpy.backends.native.language import Array, Elementwise, Reduce

__all__ = ["Body"]


@dataclass(eq=False)
class Body:
    """Writes the phases of a nest.

    `reserve`: (number of elements, dtype) -> pointer to scratch memory. `partials`: memory for pieces' partial results.
    `is_cut`: whether a loop of reductions is to be cut in pieces, if one can be and no other range can be shared.
    """

    w: Writer
    cursor: Cursor
    strips: Strips
    nest: Nest
    geometry: Geometry
    phases: list[Phase]
    reserve: Callable[[int, numpy.dtype], str]
    partials: Partials
    is_cut: bool

    def __post_init__(self) -> None:
        geometry = self.geometry
        self.tile = 0  # the length of the tile that is written, where the lane is an outer one; 0 where not
        if geometry.across:
            assert geometry.lane is not None
            self.tile = self.strips.length(max(map(_weight, self.phases), default=1), geometry.lane.length)
            self.tile = max(1, min(self.tile, geometry.lane.length))
        # Of the outer point: values by name or, in a tile, where they are on the stack.
        self.rows: dict[Array, str] = {}
        self.finished: set[Array] = set()
        self.spilled = self._spill_memory()
        self.columns = Columns(
            self.w, self.cursor, self.nest, geometry, self.reserve, self.strips, self.tile, self.partials
        )
        self.row_pieces: RowPieces | None = None
        self.bounds: dict[Dim, tuple[str, str]] = {}
        self.is_last: str | None = None
        self.leaves_partials = False
        # Of a loop that is cut: `write_piece` writes each, and `finish` makes results of their partial results.
        self.pieces = self._pieces() if self.is_cut else None
        self.columns.lay_out(self.pieces if geometry.scope else None)

    def _spill_memory(self) -> dict[Array, Access]:
        """Return scratch memory for the values that later phases read back."""
        geometry = self.geometry
        dims = [*geometry.inner, geometry.lane] if geometry.across else geometry.inner
        result = {}
        for phase in self.phases:
            for array in phase.spills:
                strides, size = {}, 1
                for dim in reversed(dims):
                    assert dim is not None
                    strides[dim.axis] = size
                    size *= self.strips.whole(self.tile) if dim is geometry.lane and geometry.across else dim.length
                result[array] = Access(array.dtype, strides)
                # There is room for the lanes of the last vectors that have no elements.
                start = self.reserve(size + self.strips.piece * 4, array.dtype)
                self.cursor.start(result[array], start, local=geometry.across)
        return result

    # -- pieces ------------------------------------------------------------------------------------------------------

    def _pieces(self) -> Pieces | None:
        geometry, lane = self.geometry, self.geometry.lane
        if geometry.across and lane is not None and self.tile < lane.length:
            return None
        if geometry.scope:
            return self.columns.cut(math.prod(self.nest.shape))
        if len(self.phases) != 1 or geometry.columns or not geometry.rows:
            return None
        (phase,) = self.phases
        outer_dims, length, full, _ = self._extent(phase)
        lanes = self._lanes(phase, outer_dims, length, full)
        blocks = self._blocks(outer_dims, max(full, 1)) if any(partial.blocked for partial in lanes) else None
        if outer_dims:
            unit = blocks[1] if blocks is not None and blocks[0] is outer_dims[0] else 1
            pieces = cut(outer_dims[0], outer_dims[0].length, unit)
        else:
            assert lane is not None
            pieces = cut(lane, full * length, (1 if blocks is None else BLOCK) * length)
        if pieces is None:
            return None
        self.row_pieces = RowPieces(self.w, self.cursor, self.strips, geometry, self.partials, pieces, lanes, self.tile)
        return pieces

    def write_piece(self, number: str) -> None:
        """Write one piece, inside the loop over them, of the outer points of `write`."""
        assert self.pieces is not None
        self.bounds = self.columns.bounds = {self.pieces.loop: self.pieces.bounds(self.w, number)}
        self.is_last = self.w.put(f"icmp eq i64 {number}, {self.pieces.count - 1}")
        self.leaves_partials = self.row_pieces is not None
        self.write()
        self.bounds = self.columns.bounds = {}
        self.is_last, self.leaves_partials = None, False

    def finish(self) -> None:
        """Write the results, from the partial results of all pieces."""
        self.columns.join(self.tile)
        if self.row_pieces is None:
            return
        self.rows.clear()
        self.finished.clear()
        self._row_steps()
        if self.geometry.across:
            with self.strips.strip(self.geometry.lane, self.tile) as place:
                for array, value in self.row_pieces.results():
                    self._set_row(array, value, place)
        else:
            self.rows.update(self.row_pieces.results())
        self._row_steps()

    def _range(self, dim: Dim, length: int | None = None) -> tuple[int | str, int | str]:
        """Return where a loop begins and ends: the whole of it, or the piece that is written."""
        return self.bounds.get(dim, (0, dim.length if length is None else length))

    # -- outer points ------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write the loops along which columns are summed up, and what comes before and after."""
        self.columns.begin(self.tile)
        self._scope(0)
        self.columns.end(self.tile)

    def _scope(self, level: int) -> None:
        scope = self.geometry.scope
        if level == len(scope):
            self.rows.clear()
            self.finished.clear()
            self._row_steps()
            for phase in self.phases:
                self._phase(phase)
                if not self.leaves_partials:
                    self._row_steps()
            return
        dim = scope[level]
        deeper = [*scope[level + 1 :], *self.geometry.inner, *self._lane]
        with self.w.loop(*self._range(dim), runs=True) as variable, self.cursor.inside(dim, variable, deeper):
            self._scope(level + 1)
            self.columns.flush(level, variable, self.tile)

    @property
    def _lane(self) -> list[Dim]:
        return [] if self.geometry.lane is None else [self.geometry.lane]

    # -- phases ------------------------------------------------------------------------------------------------------

    def _extent(self, phase: Phase) -> tuple[list[Dim], int, int, int]:
        """Return the loops around that along the lane, the length of its strips, their number, and what remains."""
        if self.geometry.across:
            return self.geometry.inner, self.tile, 1, 0
        available = self.geometry.lane.length if self.geometry.lane is not None else 1
        length = self.strips.length(_weight(phase), available)
        return self.geometry.inner[:-1], length, *divmod(available, length)

    def _phase(self, phase: Phase) -> None:
        """Write one run of the inner loops."""
        geometry = self.geometry
        lane = geometry.lane
        outer_dims, length, full, remainder = self._extent(phase)
        if self.row_pieces is not None:
            lanes = self.row_pieces.lanes
        else:
            lanes = self._lanes(phase, outer_dims, length, full)
        for lanes_of_step in lanes:
            lanes_of_step.begin()
        blocks = self._blocks(outer_dims, max(full, 1)) if any(partial.blocked for partial in lanes) else None

        def flush() -> None:
            for lanes_of_step in lanes:
                lanes_of_step.flush()

        def strip(count: int) -> None:
            with self.strips.strip(lane, count) as place:
                self._point(phase, lanes, place)

        def strips(start: int | str, end: int | str) -> None:
            loop = self.w.loop(start, end, length, runs=True)
            with loop as first, self.cursor.inside(lane, first, self._lane):
                strip(length)

        def write_lane() -> None:
            if blocks is not None and blocks[0] is None:
                step = BLOCK * length
                begin, end = self._range(geometry.inner[-1], full * length)
                with self.w.loop(begin, end, step, runs=True) as start:
                    strips(start, self._end(start, step, end, full * length))
                    flush()
            elif full > 1:
                strips(*self._range(geometry.inner[-1], full * length))
            elif full:
                strip(length)
            place = full * length
            with self.w.when(self.is_last if remainder and lane in self.bounds else None):
                for count in self.strips.parts(remainder, bool(phase.columns)):
                    with self.cursor.inside(lane, str(place), self._lane):
                        strip(count)
                    place += count

        self._loops(outer_dims, write_lane, blocks, flush)
        if blocks is not None:
            flush()
        if self.row_pieces is not None:
            self.row_pieces.store_partials()
        elif not geometry.across:
            for lanes_of_step in lanes:
                self.rows[lanes_of_step.step.output] = lanes_of_step.combined_result()
        elif lanes:
            with self.strips.strip(lane, self.tile) as place:
                for lanes_of_step in lanes:
                    self._set_row(lanes_of_step.step.output, lanes_of_step.lane_result(place.number), place)

    def _end(self, start: str, step: int, last: int | str, length: int) -> str:
        """Write where a part of a loop, or of a piece of it, ends; pieces begin at multiples of `step`."""
        end = self.w.put(f"add nuw nsw i64 {start}, {step}")
        if length % step == 0:
            return end
        return self.w.intrinsic("llvm.umin.i64", "i64", ("i64", end), ("i64", str(last)))

    def _lanes(self, phase: Phase, outer_dims: Sequence[Dim], length: int, full: int) -> list[Lanes]:
        additions = max(full, 1) * math.prod(dim.length for dim in outer_dims)
        index = "i32" if math.prod(self.nest.shape) < 2**31 else "i64"
        count = self.strips.whole(length)
        result = []
        for step in phase.rows:
            blocked = is_summed(step.function, step.operands[0].dtype) and additions > BLOCK
            ordered, stride = True, 0
            if step.output in self.geometry.indices:
                strides = self.geometry.indices[step.output].strides
                visited = [strides[dim.axis] for dim in self.geometry.inner]
                ordered = visited == sorted(visited, reverse=True)
                stride = strides[self.geometry.lane.axis] if self.geometry.lane is not None else 0
            result.append(Lanes(self.w, step, count, self.strips.piece, blocked, index, ordered, stride))
        return result

    def _blocks(self, dims: Sequence[Dim], additions: int) -> tuple[Dim | None, int]:
        """Return after which loop's iterations blocks of sums end, and how many; None: within the lane."""
        if additions > BLOCK:
            return None, 0
        for dim in reversed(dims):
            if additions * dim.length > BLOCK:
                return dim, max(1, BLOCK // additions)
            additions *= dim.length
        raise AssertionError("a sum that is short has no blocks")

    def _loops(
        self,
        dims: Sequence[Dim],
        body: Callable[[], None],
        blocks: tuple[Dim | None, int] | None,
        flush: Callable[[], None],
    ) -> None:
        """Write inner loops around a body, and the ends of blocks."""
        if not dims:
            body()
            return
        first, inner_dims = dims[0], dims[1:]
        every = blocks[1] if blocks is not None and blocks[0] is first else 0
        deeper = [*inner_dims, *self._lane]
        if every > 1:
            # Two loops, so that nothing is asked in the inner one.
            begin, stop = self._range(first)
            with self.w.loop(begin, stop, every, runs=True) as start:
                end = self._end(start, every, stop, first.length)
                with self.w.loop(start, end, runs=True) as variable, self.cursor.inside(first, variable, deeper):
                    self._loops(inner_dims, body, blocks, flush)
                flush()
            return
        with self.w.loop(*self._range(first), runs=True) as variable, self.cursor.inside(first, variable, deeper):
            self._loops(inner_dims, body, blocks, flush)
            if every:
                flush()

    # -- one point ---------------------------------------------------------------------------------------------------

    def along(self, start: str, end: str) -> None:
        """Write a part of a nest that is one loop without reductions."""
        assert self.geometry.lane is not None
        for phase in self.phases:
            with self.strips.loop(self.geometry.lane, start, end) as place:
                self._point(phase, [], place)

    def _point(self, phase: Phase, lanes: Sequence[Lanes], lane: Lane) -> None:
        """Write what a phase does at a point: it reads before it writes."""
        geometry, cursor = self.geometry, self.cursor
        written = {array: geometry.stores[array] for array in phase.stores}
        accesses = {array: geometry.stores[array] for array, is_spilled in phase.loads.items() if not is_spilled}
        cursor.read_if(lane.filled, [*(geometry.reads[array] for array in phase.reads), *accesses.values()])
        accesses.update((array, self.spilled[array]) for array, is_spilled in phase.loads.items() if is_spilled)
        values = {array: cursor.read(access) for array, access in accesses.items()}
        for step in phase.steps:
            values[step.output] = self._computed(step, values, lane)
        for lanes_of_step in lanes:
            position = None
            if lanes_of_step.indexed:
                position = cursor.at(geometry.indices[lanes_of_step.step.output])
                if lanes_of_step.index != "i64":
                    position = self.w.put(f"trunc i64 {position} to {lanes_of_step.index}")
            lanes_of_step.accumulate(
                lane.number, self._operand(lanes_of_step.step.operands[0], values, lane), position, lane.filled
            )
        column_values = {step: self._operand(step.operands[0], values, lane) for step in phase.columns}
        for array in phase.spills:
            self.w.store(values[array], cursor.at(self.spilled[array]), array.dtype)
        if not (column_values or written):
            return
        with self.w.when(lane.filled):
            for reduction, value in column_values.items():
                self.columns.accumulate(reduction, value)
            for array, access in written.items():
                self.w.store(values[array], cursor.at(access), array.dtype)

    def _computed(self, step: Elementwise | Reduce, values: dict[Array, str], lane: Lane) -> str:
        operands = [self._operand(operand, values, lane) for operand in step.operands]
        if isinstance(step, Reduce):
            return self._of_one_element(step, operands[0])
        return element_functions.write(self.w, step.function, step.operands[-1].dtype, operands, step.output.dtype)

    def _of_one_element(self, step: Reduce, value: str) -> str:
        """Write the result of a reduction of one element."""
        if step.function.startswith("arg"):
            return "0"
        if not is_summed(step.function, step.output.dtype):
            return value
        return self.w.put(f"fadd {value_type(step.output.dtype)} {value}, 0.0")  # as a sum, no negative zero

    def _operand(self, array: Array, values: dict[Array, str], lane: Lane) -> str:
        if array.is_number:
            assert array.value is not None
            return literal(array.value[()], array.dtype)
        root = array.root
        if root in values:
            return values[root]
        if root in self.nest.levels:
            return self._row(root, lane)
        return self.cursor.read(self.geometry.reads[array])

    # -- values of outer points --------------------------------------------------------------------------------------

    def _row(self, array: Array, lane: Lane) -> str:
        """Return a value of the outer point."""
        if not self.geometry.across:
            return self.rows[array]
        element = memory_type(array.dtype)
        return self.cursor.cached(
            array, lambda: self.w.load(self.w.offset(self.rows[array], element, lane.number), array.dtype)
        )

    def _set_row(self, array: Array, value: str, lane: Lane) -> None:
        if not self.geometry.across:
            self.rows[array] = value
            return
        element = memory_type(array.dtype)
        if array not in self.rows:
            self.rows[array] = self.w.allocate(self.strips.whole(self.tile), element)
        self.w.store(value, self.w.offset(self.rows[array], element, lane.number), array.dtype)
        self.cursor.remember(array, value)

    def _row_steps(self) -> None:
        """Write the steps of the outer point that are ready and not yet written."""
        available = set(self.rows)
        batch: list[Elementwise | Reduce] = []
        for step in self.nest.steps:
            array = step.output
            if array in self.finished:
                continue
            if array in self.geometry.rows:
                ready = array in available
            else:
                of_rows = self.nest.levels[array] is Level.ROW
                if isinstance(step, Reduce):
                    of_rows = is_of_rows(self.nest, step)
                ready = of_rows and all(
                    operand.root in available for operand in step.operands if operand.root in self.nest.levels
                )
            if ready:
                self.finished.add(array)
                available.add(array)
                batch.append(step)
        if batch and not self.geometry.across:
            self._row_batch(batch, Lane("0"))
        elif batch:
            with self.strips.strip(self.geometry.lane, self.tile) as lane:
                self._row_batch(batch, lane)

    def _row_batch(self, batch: Sequence[Elementwise | Reduce], lane: Lane) -> None:
        geometry = self.geometry
        reads = [operand for step in batch if step.output not in geometry.rows for operand in step.operands]
        self.cursor.read_if(lane.filled, [geometry.reads[access] for access in reads if access in geometry.reads])
        column_values: dict[Reduce, str] = {}
        stored: dict[Array, str] = {}
        for step in batch:
            array = step.output
            if isinstance(step, Elementwise):
                self._set_row(array, self._computed(step, {}, lane), lane)
            elif array not in geometry.rows:
                column_values[step] = self._operand(step.operands[0], {}, lane)
                continue
            elif array in geometry.columns:
                column_values[step] = self._row(array, lane)
                continue
            if array in geometry.stores:
                stored[array] = self._row(array, lane)
        if self.leaves_partials or not (column_values or stored):  # of pieces, who puts them together stores
            return
        with self.w.when(lane.filled):
            for reduction, value in column_values.items():
                self.columns.accumulate(reduction, value)
            for array, value in stored.items():
                self.w.store(value, self.cursor.at(geometry.stores[array]), array.dtype)


def _weight(phase: Phase) -> int:
    """Return about how many instructions a phase has at each point."""
    return sum(map(weight, phase.steps)) + 2 * len(phase.rows) + 2 * len(phase.columns) + len(phase.stores)
