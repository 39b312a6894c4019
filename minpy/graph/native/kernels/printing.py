"""Nests as functions of LLVM IR: loops over scalars, written so that LLVM makes vectors of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy

from minpy.graph.native.fusing.nest import Level, Nest, Place
from minpy.graph.native.kernels import elementwise
from minpy.graph.native.kernels.accumulators import BLOCK, Lanes
from minpy.graph.native.kernels.columns import Columns
from minpy.graph.native.kernels.cursor import Cursor
from minpy.graph.native.kernels.geometry import Access, Dim, Geometry, geometry_of, normalised
from minpy.graph.native.kernels.kernel import Kernel, Pointer
from minpy.graph.native.kernels.phases import Phase, phases_of, weight
from minpy.graph.native.kernels.reductions import is_summed
from minpy.graph.native.kernels.writing import Writer, literal, memory_type, value_type
from minpy.graph.native.language import Array, Elementwise, Reduce

__all__ = ["kernel_of"]

# Nests with fewer points are not cut in two, and their loops have lengths that LLVM knows.
_WORTH_SPLITTING = 16384
# A single loop is cut at multiples of so many elements.
_UNIT = 1024


def kernel_of(nest: Nest, places: Mapping[Array, Place] = MappingProxyType({})) -> Kernel:
    """Return the kernel of a nest.

    Nests that differ in nothing but their buffers have kernels with equal bodies.

    Parameters
    ----------
    nest : Nest
    places : mapping of Array to Place
        What of that which it reads lies in the memory of other arrays.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        If a step has no native form (see `elementwise.covers`), or a view of an array that lies in another's memory
        cannot be read there.

    Examples
    --------
    >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
    >>> y = Elementwise.of("square", x)
    >>> kernel = kernel_of(Nest((2, 3), frozenset(), [y.step], {y: Level.FULL}, {y: 0}, {y: None}))
    >>> [pointer.written for pointer in kernel.pointers], kernel.flops, kernel.bytes_moved
    ([False, True], 6, 48)
    """
    return _Printer(nest, places).kernel()


class _Printer:
    def __init__(self, nest: Nest, places: Mapping[Array, Place]) -> None:
        self.nest = nest = normalised(nest)
        self.geometry: Geometry = geometry_of(nest, places)
        self.phases: list[Phase] = phases_of(nest, self.geometry)
        self.w = Writer()
        self.pointers: list[Pointer] = []
        self.scratch = 0
        self.cursor = Cursor(self.w, list(dict.fromkeys(self.geometry.reads.values())))
        # Of the outer point: values by name or, in a tile, where they are on the stack.
        self.rows: dict[Array, str] = {}
        self.finished: set[Array] = set()
        self.tile = 0
        self.kept: dict[Array, Access] = {}
        self.in_place: set[tuple[int, int]] = set()

    # -- the function ------------------------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        geometry = self.geometry
        self._point()
        self._keep()
        tile = self._tile_length() if geometry.across else 0
        self.columns = Columns(self.w, self.cursor, self.nest, geometry, self.reserve, self.vectorised, tile)
        splits = self._write()
        parameters = [f"ptr {'noalias ' if self._is_alone(k) else ''}%p{k}" for k in range(len(self.pointers))]
        body = self.w.text(", ".join([*parameters, "ptr noalias %scratch", "i64 %begin", "i64 %end"]))
        flops, moved = self._estimates()
        return Kernel(
            body,
            tuple(self.pointers),
            frozenset(self.w.uses),
            frozenset(self.w.declares),
            tuple(self.w.metadata),
            frozenset(self.in_place),
            splits,
            self.scratch,
            flops,
            moved,
            self._name(),
        )

    def _point(self) -> None:
        """Number the pointers, and say which may be to the same memory."""
        numbers: dict[tuple[Array, int], int] = {}
        for access in (*self.geometry.reads.values(), *self.geometry.stores.values()):
            assert access.root is not None
            number = numbers.setdefault((access.root, access.offset), len(numbers))
            if number == len(self.pointers):
                self.pointers.append(Pointer(access.root, access.offset, access.written))
            elif access.written:
                self.pointers[number] = Pointer(access.root, access.offset, True)
            self.cursor.start(access, f"%p{number}")
        for access in self.geometry.indices.values():
            self.cursor.start(access, "0")
        last = self._last_reads()
        for array, access in self.geometry.stores.items():
            if self.nest.levels[array] is not Level.FULL or access.root is not array:
                continue
            for root, (phase, strides) in last.items():
                if (
                    strides == access.strides
                    and root.dtype.itemsize == array.dtype.itemsize
                    and root.size == array.size
                    and phase <= self.nest.phases[array]
                    and (root, 0) in numbers
                ):
                    self.in_place.add((numbers[array, 0], numbers[root, 0]))

    def _last_reads(self) -> dict[Array, tuple[int, object]]:
        """Return the roots that are read in one way only, from their beginning: when last, and how."""
        found: dict[Array, tuple[int, object]] = {}
        refused: set[Array] = set()
        for array, access in self.geometry.reads.items():
            root = access.root
            assert root is not None
            phase = max((one.number for one in self.phases if array in one.reads), default=0)
            if access.offset or root.is_constant or (root in found and found[root][1] != access.strides):
                refused.add(root)
            found[root] = (max(phase, found.get(root, (0, None))[0]), access.strides)
        return {root: how for root, how in found.items() if root not in refused}

    def _is_alone(self, number: int) -> bool:
        """Tell whether nothing else is read or written where a pointer is to."""
        array = self.pointers[number].array
        same = [pointer for pointer in self.pointers if pointer.array is array]
        if any(number in pair for pair in self.in_place):
            return False
        return len(same) == 1 or not any(pointer.written for pointer in same)

    def reserve(self, count: int, dtype: numpy.dtype) -> str:
        """Return a pointer to scratch memory."""
        offset = self.scratch
        self.scratch += -(-count * dtype.itemsize // 64) * 64
        return self.w.offset("%scratch", "i8", str(offset))

    def _keep(self) -> None:
        """Lay out the rows of scratch memory for values that later phases read."""
        geometry = self.geometry
        dims = [*geometry.inner, geometry.lane] if geometry.across else geometry.inner
        for phase in self.phases:
            for array in phase.keeps:
                strides, step = {}, 1
                for dim in reversed(dims):
                    assert dim is not None
                    strides[dim.axis] = step
                    step *= self._tile_length() if dim is geometry.lane and geometry.across else dim.length
                access = Access(array.dtype, strides)
                self.cursor.start(access, self.reserve(step, array.dtype), local=geometry.across)
                self.kept[array] = access

    def _estimates(self) -> tuple[int, int]:
        points = math.prod(self.nest.shape)
        inner = math.prod(dim.length for dim in self.geometry.inner) if self.geometry.rows else 1
        flops = 0
        for phase in self.phases:
            flops += points * sum(_flops(one) for one in phase.steps)
            flops += points * (len(phase.rows) + len(phase.columns))
        for step in self.nest.steps:
            if self.nest.levels[step.output] is Level.ROW and isinstance(step, Elementwise):
                flops += points // max(1, inner) * _flops(step)
        moved = 0
        for access in (*dict.fromkeys(self.geometry.reads.values()), *self.geometry.stores.values()):
            reached = [length for axis, length in enumerate(self.nest.shape) if access.strides[axis]]
            moved += math.prod(reached) * access.dtype.itemsize
        return flops, moved

    def _name(self) -> str:
        kinds = dict.fromkeys(
            step.function for step in self.nest.steps if isinstance(step, Reduce) or step.function not in _UNSPOKEN
        )
        return "_".join([*kinds][:4]) or "copy"

    # -- loops -------------------------------------------------------------------------------------------------------

    def _write(self) -> int:
        """Write everything, and return the length of the range that threads can share."""
        geometry = self.geometry
        if 0 in self.nest.shape:
            return self._write_empty()
        self.cursor.read_constants([*geometry.outer, *geometry.inner, *([geometry.lane] if geometry.lane else [])])
        large = math.prod(self.nest.shape) >= _WORTH_SPLITTING
        flat = not geometry.free and not geometry.scope and not geometry.rows and geometry.inner == [geometry.lane]
        tiles = geometry.across and not geometry.free
        if large and geometry.free:
            self._loops(geometry.free, self._deeper(geometry.free), self._outer_point, split=True)
            return geometry.free[0].length
        if large and flat:
            assert geometry.lane is not None
            return self._flat(geometry.lane)
        if large and tiles:
            return self._tiles(split=True)
        self._loops(geometry.free, self._deeper(geometry.free), self._outer_point)
        return 1

    def _write_empty(self) -> int:
        """Write what a nest without points gives: reductions of nothing."""
        for step in self.nest.steps:
            if step.output in self.geometry.stores and step.output.size:
                raise ValueError(
                    f"{step.label()}: a nest of {self.nest.shape} has no points: its results are constants."
                )
        return 1

    def _deeper(self, dims: Sequence[Dim]) -> list[Dim]:
        geometry = self.geometry
        every = [*geometry.free, *([geometry.lane] if geometry.across and geometry.lane else []), *geometry.scope]
        return [dim for dim in (*every, *geometry.inner) if dim not in dims]

    def _loops(self, dims: Sequence[Dim], deeper: Sequence[Dim], body: Callable[[], None], split: bool = False) -> None:
        """Write loops around a body; the outermost over the function's range, if that is split."""
        if not dims:
            body()
            return
        first, rest = dims[0], dims[1:]
        bounds: tuple[int | str, int | str] = ("%begin", "%end") if split else (0, first.length)
        with self.w.loop(*bounds) as variable:
            with self.cursor.inside(first, variable, [*rest, *deeper]):
                self._loops(rest, deeper, body)

    def _flat(self, lane: Dim) -> int:
        """Write a single loop, over units of a range."""
        units = -(-lane.length // _UNIT)
        start = self.w.give(f"mul nuw nsw i64 %begin, {_UNIT}")
        end = self.w.give(f"mul nuw nsw i64 %end, {_UNIT}")
        if lane.length % _UNIT:
            end = self.w.intrinsic("llvm.umin.i64", "i64", ("i64", end), ("i64", str(lane.length)))
        for phase in self.phases:
            with self._vector_loop(lane, start, end):
                self._point_of(phase, [], False, "0")
        return units

    def _outer_point(self) -> None:
        """Write what is done for each point of the free loops."""
        if self.geometry.across:
            self._tiles(split=False)
        else:
            self._scope()

    def _tile_length(self) -> int:
        """Return how many lanes of a tile there are: as much as stays in registers."""
        lane = self.geometry.lane
        assert lane is not None
        return min(self._vectors(max(self._weight(phase) for phase in self.phases)), lane.length)

    def _tiles(self, split: bool) -> int:
        """Write the tiles of an outer lane, the rest of it last, and return how many there are."""
        lane = self.geometry.lane
        assert lane is not None
        length = self._tile_length()
        full, rest = divmod(lane.length, length)
        total = full + bool(rest)
        end: int | str = full * length
        if split:
            last = self.w.intrinsic("llvm.smin.i64", "i64", ("i64", "%end"), ("i64", str(full))) if rest else "%end"
            start: int | str = self.w.give(f"mul nuw nsw i64 %begin, {length}")
            end = self.w.give(f"mul nuw nsw i64 {last}, {length}")
        else:
            start = 0
        self.tile = length
        with self.w.loop(start, end, length) as variable, self._tile_at(variable):
            self._scope()
        if rest:
            self.tile = rest
            if split:
                inside = self.w.give(f"icmp eq i64 %end, {total}")
                with self.w.when(inside), self._tile_at(str(full * length)):
                    self._scope()
            else:
                with self._tile_at(str(full * length)):
                    self._scope()
        return total

    @contextmanager
    def _tile_at(self, position: str) -> Iterator[None]:
        lane = self.geometry.lane
        assert lane is not None
        with self.cursor.inside(lane, position, self._deeper(self.geometry.free), tile=True):
            yield

    def _scope(self) -> None:
        """Write the loops along which columns are summed up, and what comes before and after."""
        geometry = self.geometry
        self.columns.begin(self.tile)
        self._scope_loops(0)
        self.columns.end(self.tile)

    def _scope_loops(self, level: int) -> None:
        scope = self.geometry.scope
        if level == len(scope):
            self.rows.clear()
            self.finished.clear()
            self._row_steps()
            for phase in self.phases:
                self._phase(phase)
                self._row_steps()
            return
        dim = scope[level]
        deeper = [*scope[level + 1 :], *self.geometry.inner]
        if self.geometry.across and self.geometry.lane:
            deeper.append(self.geometry.lane)
        with self.w.loop(0, dim.length) as variable:
            with self.cursor.inside(dim, variable, deeper):
                self._scope_loops(level + 1)
                self.columns.flush(level, variable, self.tile)

    # -- vectors -----------------------------------------------------------------------------------------------------

    def _weight(self, phase: Phase) -> int:
        """Return about how many instructions a phase has at each point."""
        return sum(map(weight, phase.steps)) + 2 * len(phase.rows) + 2 * len(phase.columns) + len(phase.stores)

    def _piece(self) -> int:
        """Return how many elements a vector has: 64 bytes of the dtype that most is computed in."""
        sizes = [step.operands[-1].dtype.itemsize for step in self.nest.steps]
        return 64 // max(sizes, default=4)

    def _vectors(self, weight: int) -> int:
        """Return how many elements are worked on together: several vectors, if they are little work."""
        return self._piece() * (4 if weight <= 24 else 2 if weight <= 80 else 1)

    def vectorised(self, length: int) -> str:
        """Return metadata for a loop over a few vectors, all of which are one iteration of LLVM's."""
        piece = self._piece()
        if length % piece:
            return self.w.hint("vectorize.predicate.enable i1 true", parallel=True)
        count = max(1, length // piece)
        return self.w.hint(f"vectorize.width i32 {piece}", f"interleave.count i32 {count}", parallel=True)

    @contextmanager
    def _vector_loop(self, dim: Dim, start: int | str, end: int | str) -> Iterator[str]:
        """Write a loop along a lane, whose iterations LLVM makes vectors of as it likes."""
        with self.w.loop(start, end, hint=self.w.hint(parallel=True)) as variable:
            with self.w.independent(), self.cursor.inside(dim, variable, []):
                yield variable

    @contextmanager
    def _strip(self, dim: Dim | None, length: int) -> Iterator[str]:
        """Write a loop over the lanes of a few vectors."""
        if dim is None or length == 1:
            with self.cursor.inside(dim, "0", []):
                yield "0"
            return
        with self.w.loop(0, length, hint=self.vectorised(length)) as variable:
            with self.w.independent(), self.cursor.inside(dim, variable, []):
                yield variable

    # -- phases ------------------------------------------------------------------------------------------------------

    def _phase(self, phase: Phase) -> None:
        """Write one run of the inner loops."""
        lane, inner = self.geometry.lane, self.geometry.inner
        if self.geometry.across:
            self._phase_across(phase)
        elif phase.rows:
            self._phase_along(phase)
        elif lane is None:
            with self.cursor.inside(None, "0", []):
                self._point_of(phase, [], False, "0")
        else:

            def whole() -> None:
                assert lane is not None
                with self._vector_loop(lane, 0, lane.length):
                    self._point_of(phase, [], False, "0")

            self._loops(inner[:-1], [lane], whole)

    def _lanes(self, phase: Phase, count: int, spare: bool, additions: int) -> list[Lanes]:
        index = "i32" if math.prod(self.nest.shape) < 2**31 else "i64"
        found = []
        for step in phase.rows:
            blocked = is_summed(step.function, step.operands[0].dtype) and additions > BLOCK
            ordered = True
            if step.output in self.geometry.indices:
                strides = self.geometry.indices[step.output].strides
                visited = [strides[dim.axis] for dim in self.geometry.inner]
                ordered = visited == sorted(visited, reverse=True)
            found.append(Lanes(self.w, step, count, self._piece(), spare, blocked, index, ordered))
        for one in found:
            one.begin()
        return found

    def _phase_along(self, phase: Phase) -> None:
        """Write a phase with reductions whose vectors lie along an inner axis."""
        lane, others = self.geometry.lane, self.geometry.inner[:-1]
        length = lane.length if lane is not None else 1
        count = min(self._vectors(self._weight(phase)), 2 ** (length.bit_length() - 1))
        full, rest = divmod(length, count)
        runs = math.prod(dim.length for dim in others)
        lanes = self._lanes(phase, count, rest > 0, full * runs)
        flushing = self._flushes(others, full) if any(one.blocked for one in lanes) else None

        def strips(start: int | str, end: int | str) -> None:
            with self.w.loop(start, end, count) as first, self.cursor.inside(lane, first, [lane] if lane else []):
                with self._strip(lane, count) as place:
                    self._point_of(phase, lanes, False, place)

        def flush() -> None:
            for one in lanes:
                one.flush()

        def whole() -> None:
            if flushing is not None and flushing[0] is None:
                step = BLOCK * count
                with self.w.loop(0, full * count, step) as start:
                    end = self.w.give(f"add nuw nsw i64 {start}, {step}")
                    if full % BLOCK:
                        end = self.w.intrinsic("llvm.umin.i64", "i64", ("i64", end), ("i64", str(full * count)))
                    strips(start, end)
                    flush()
            elif full > 1:
                strips(0, full * count)
            else:
                with self._strip(lane, count) as place:
                    self._point_of(phase, lanes, False, place)
            if rest:
                with self.cursor.inside(lane, str(full * count), [lane] if lane else []):
                    with self._strip(lane, rest) as place:
                        self._point_of(phase, lanes, True, place)

        self._flushed_loops(others, [lane] if lane else [], whole, flushing, flush)
        if flushing is not None:
            flush()
        for one in lanes:
            self.rows[one.step.output] = one.one()

    def _phase_across(self, phase: Phase) -> None:
        """Write a phase for a tile of an outer lane."""
        lane, inner = self.geometry.lane, self.geometry.inner
        assert lane is not None
        runs = math.prod(dim.length for dim in inner)
        lanes = self._lanes(phase, self.tile, False, runs) if phase.rows else []
        flushing = self._flushes(inner, 1) if any(one.blocked for one in lanes) else None

        def flush() -> None:
            for one in lanes:
                one.flush()

        def whole() -> None:
            with self._strip(lane, self.tile) as place:
                self._point_of(phase, lanes, False, place)

        self._flushed_loops(inner, [lane], whole, flushing, flush)
        if flushing is not None:
            flush()
        if lanes:
            with self._strip(lane, self.tile) as place:
                for one in lanes:
                    self._set_row(one.step.output, one.each(place), place)

    def _flushes(self, dims: Sequence[Dim], additions: int) -> tuple[Dim | None, int]:
        """Return after which loop's iterations sums of blocks are put away, and how many; None: within the lane."""
        if additions > BLOCK:
            return None, 0
        for dim in reversed(dims):
            if additions * dim.length > BLOCK:
                return dim, max(1, BLOCK // additions)
            additions *= dim.length
        raise AssertionError("a sum that is short has no blocks")

    def _flushed_loops(
        self,
        dims: Sequence[Dim],
        deeper: Sequence[Dim],
        body: Callable[[], None],
        flushing: tuple[Dim | None, int] | None,
        flush: Callable[[], None],
    ) -> None:
        if not dims:
            body()
            return
        first, rest = dims[0], dims[1:]
        every = flushing[1] if flushing is not None and flushing[0] is first else 0
        if every > 1:
            # Two loops, so that nothing is asked in the inner one.
            with self.w.loop(0, first.length, every) as start:
                end = self.w.give(f"add nuw nsw i64 {start}, {every}")
                if first.length % every:
                    end = self.w.intrinsic("llvm.umin.i64", "i64", ("i64", end), ("i64", str(first.length)))
                with self.w.loop(start, end) as variable, self.cursor.inside(first, variable, [*rest, *deeper]):
                    self._flushed_loops(rest, deeper, body, flushing, flush)
                flush()
            return
        with self.w.loop(0, first.length) as variable, self.cursor.inside(first, variable, [*rest, *deeper]):
            self._flushed_loops(rest, deeper, body, flushing, flush)
            if every:
                flush()

    # -- one point ---------------------------------------------------------------------------------------------------

    def _point_of(self, phase: Phase, lanes: Sequence[Lanes], spare: bool, place: str) -> None:
        """Write what a phase does at a point: it reads before it writes."""
        values: dict[Array, str] = {}
        for array in phase.reads:
            self.cursor.read(self.geometry.reads[array])
        for array, kept in phase.loads.items():
            access = self.kept[array] if kept else self.geometry.stores[array]
            values[array] = self.w.load(self.cursor.at(access), array.dtype)
        for step in phase.steps:
            values[step.output] = self._computed(step, values, place)
        for one in lanes:
            position = None
            if one.indexed:
                position = self.cursor.at(self.geometry.indices[one.step.output])
                if one.index != "i64":
                    position = self.w.give(f"trunc i64 {position} to {one.index}")
            one.take(spare, place, self._operand(one.step.operands[0], values, place), position)
        for reduction in phase.columns:
            self.columns.take(reduction, self._operand(reduction.operands[0], values, place))
        for array in phase.keeps:
            self.w.store(values[array], self.cursor.at(self.kept[array]), array.dtype)
        for array in phase.stores:
            self.w.store(values[array], self.cursor.at(self.geometry.stores[array]), array.dtype)

    def _computed(self, step: Elementwise | Reduce, values: dict[Array, str], place: str) -> str:
        operands = [self._operand(one, values, place) for one in step.operands]
        if isinstance(step, Reduce):  # along axes of length 1
            return self._alone(step, operands[0])
        return elementwise.write(self.w, step.function, step.operands[-1].dtype, operands, step.output.dtype)

    def _operand(self, array: Array, values: dict[Array, str], place: str) -> str:
        if array.is_number:
            assert array.value is not None
            return literal(array.value[()], array.dtype)
        root = array.root
        if root in values:
            return values[root]
        if root in self.nest.levels:
            return self._row(root, place)
        return self.cursor.read(self.geometry.reads[array])

    def _alone(self, step: Reduce, value: str) -> str:
        """Write what a reduction gives of one element."""
        if step.function.startswith("arg"):
            return "0"
        if not is_summed(step.function, step.output.dtype):
            return value
        return self.w.give(f"fadd {value_type(step.output.dtype)} {value}, 0.0")  # as a sum, no negative zero

    # -- values of outer points --------------------------------------------------------------------------------------

    def _row(self, array: Array, place: str) -> str:
        """Return a value of the outer point."""
        if not self.geometry.across:
            return self.rows[array]
        return self.cursor.cached(
            array, lambda: self.w.load(self.w.offset(self.rows[array], memory_type(array.dtype), place), array.dtype)
        )

    def _set_row(self, array: Array, value: str, place: str) -> None:
        if not self.geometry.across:
            self.rows[array] = value
            return
        element = memory_type(array.dtype)
        if array not in self.rows:
            self.rows[array] = self.w.allocate(self.tile, element)
        self.w.store(value, self.w.offset(self.rows[array], element, place), array.dtype)
        self.cursor.remember(array, value)

    def _row_steps(self) -> None:
        """Write the steps of the outer point that can be done by now and have not been."""
        known = set(self.rows)
        batch: list[Elementwise | Reduce] = []
        for step in self.nest.steps:
            array = step.output
            if array in self.finished:
                continue
            if array in self.geometry.rows:
                ready = array in known
            elif isinstance(step, Elementwise):
                ready = self.nest.levels[array] is Level.ROW and self._are_known(step, known)
            else:
                ready = self.nest.levels.get(step.operands[0].root) is Level.ROW and self._are_known(step, known)
            if ready:
                self.finished.add(array)
                known.add(array)
                batch.append(step)
        if not batch:
            return
        if not self.geometry.across:
            for step in batch:
                self._row_step(step, "0")
            return
        with self._strip(self.geometry.lane, self.tile) as place:
            for step in batch:
                self._row_step(step, place)

    def _are_known(self, step: Elementwise | Reduce, known: set[Array]) -> bool:
        return all(one.root in known for one in step.operands if one.root in self.nest.levels)

    def _row_step(self, step: Elementwise | Reduce, place: str) -> None:
        array = step.output
        if isinstance(step, Elementwise):
            self._set_row(array, self._computed(step, {}, place), place)
        elif array not in self.geometry.rows:
            self.columns.take(step, self._operand(step.operands[0], {}, place))
            return
        elif array in self.geometry.columns:
            self.columns.take(step, self._row(array, place))
            return
        if array in self.geometry.stores:
            self.w.store(self._row(array, place), self.cursor.at(self.geometry.stores[array]), array.dtype)


def _flops(step: Elementwise | Reduce) -> int:
    return elementwise.flops(step.function, step.operands[-1].dtype) if isinstance(step, Elementwise) else 1


_UNSPOKEN = frozenset({"copy", "cast", "where"})
