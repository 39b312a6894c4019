"""Nests as functions of LLVM IR: loops over scalars, written so that LLVM makes vectors of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy

from minpy.backends.native.fusing.loop_nest import Level, Nest, Place
from minpy.backends.native.kernels import element_functions
from minpy.backends.native.kernels.body import Body
from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer
from minpy.backends.native.kernels.kernel import Kernel, Pointer, is_long, seconds
from minpy.backends.native.kernels.nest_geometry import Dim, Geometry, geometry_of, normalised
from minpy.backends.native.kernels.phases import Phase, phases_of
from minpy.backends.native.kernels.split_reductions import Partials, Pieces
from minpy.backends.native.kernels.strips import Strips
from minpy.backends.native.language import Array, Elementwise, Reduce

__all__ = ["kernel_of"]

# Nests with fewer points are not cut in two, and their loops have lengths that LLVM knows.
_WORTH_SPLITTING = 16384
# Nor are reductions of fewer points cut in pieces: one thread takes less time for them than another to come.
_WORTH_CUTTING = 32768
# A single loop is cut at multiples of so many elements.
_UNIT = 1024


def kernel_of(nest: Nest, places: Mapping[Array, Place] = MappingProxyType({})) -> Kernel:
    """Return the kernel of a nest.

    Nests that differ in nothing but their buffers have kernels with equal bodies.

    `places`: what of that which it reads lies in the memory of other arrays.

    Raises ValueError if a step has no native form (see `element_functions.covers`), or a view of an array that lies in
    another's memory cannot be read there.

    Examples
    --------
    >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
    >>> y = Elementwise.of("square", x)
    >>> kernel = kernel_of(Nest((2, 3), frozenset(), [y.step], {y: Level.FULL}, {y: 0}, {y: None}))
    >>> [pointer.written for pointer in kernel.pointers], kernel.flops, kernel.bytes_moved
    ([False, True], 6, 48)
    """
    return _KernelWriter(nest, places).kernel()


class _KernelWriter:
    def __init__(self, nest: Nest, places: Mapping[Array, Place]) -> None:
        self.nest = nest = normalised(nest)
        self.geometry: Geometry = geometry_of(nest, places)
        self.phases: list[Phase] = phases_of(nest, self.geometry)
        self.w = Writer()
        self.pointers: list[Pointer] = []
        self.scratch = 0
        self.cursor = Cursor(self.w, list(dict.fromkeys(self.geometry.reads.values())))
        self.in_place: set[tuple[int, int]] = set()

    # -- the function ------------------------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        geometry = self.geometry
        self._number_pointers()
        strips = Strips(self.w, self.cursor, self.nest.steps)
        flops, nbytes = self._estimates()
        points = math.prod(self.nest.shape)
        self.is_large = points >= _WORTH_SPLITTING
        partials = Partials(self.w, self.cursor, f"%p{len(self.pointers)}")
        is_cut = points >= _WORTH_CUTTING and not geometry.free and is_long(seconds(flops, nbytes))
        self.body = Body(self.w, self.cursor, strips, self.nest, geometry, self.phases, self._reserve, partials, is_cut)
        splits = self._write()
        memory = None
        if self.body.pieces is not None:
            memory = Array((partials.nbytes,), numpy.dtype("uint8"), name="partial results")
            self.pointers.append(Pointer(memory, 0, True))
        parameters = [f"ptr {'noalias ' if self._is_noalias(k) else ''}%p{k}" for k in range(len(self.pointers))]
        body = self.w.function(", ".join([*parameters, "ptr noalias %scratch", "i64 %begin", "i64 %end"]))
        return Kernel(
            body,
            tuple(self.pointers),
            frozenset(self.w.uses),
            frozenset(self.w.required.values()),
            tuple(self.w.metadata),
            frozenset(self.in_place),
            splits,
            memory,
            self.scratch,
            flops,
            nbytes,
            self._name(),
        )

    def _number_pointers(self) -> None:
        """Number the pointers, and note which may be to the same memory."""
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
        result: dict[Array, tuple[int, object]] = {}
        refused: set[Array] = set()
        for array, access in self.geometry.reads.items():
            root = access.root
            assert root is not None
            phase = max((phase.number for phase in self.phases if array in phase.reads), default=0)
            if access.offset or root.is_constant or (root in result and result[root][1] != access.strides):
                refused.add(root)
            result[root] = (max(phase, result.get(root, (0, None))[0]), access.strides)
        return {root: strides for root, strides in result.items() if root not in refused}

    def _is_noalias(self, number: int) -> bool:
        """Tell whether no other pointer of the kernel is to memory that is written, or to which it writes."""
        array = self.pointers[number].array
        pointers = [pointer for pointer in self.pointers if pointer.array is array]
        if any(number in pair for pair in self.in_place):
            return False
        return len(pointers) == 1 or not any(pointer.written for pointer in pointers)

    def _reserve(self, count: int, dtype: numpy.dtype) -> str:
        """Return a pointer to scratch memory."""
        offset = self.scratch
        self.scratch += -(-count * dtype.itemsize // 64) * 64
        return self.w.offset("%scratch", "i8", str(offset))

    def _estimates(self) -> tuple[int, int]:
        points = math.prod(self.nest.shape)
        inner = math.prod(dim.length for dim in self.geometry.inner) if self.geometry.rows else 1
        flops = 0
        for phase in self.phases:
            flops += points * sum(_flops(step) for step in phase.steps)
            flops += points * (len(phase.rows) + len(phase.columns))
        for step in self.nest.steps:
            if self.nest.levels[step.output] is Level.ROW and isinstance(step, Elementwise):
                flops += points // max(1, inner) * _flops(step)
        nbytes = 0
        for access in (*dict.fromkeys(self.geometry.reads.values()), *self.geometry.stores.values()):
            reached = [length for axis, length in enumerate(self.nest.shape) if access.strides[axis]]
            nbytes += math.prod(reached) * access.dtype.itemsize
        return flops, nbytes

    def _name(self) -> str:
        kinds = dict.fromkeys(
            step.function for step in self.nest.steps if isinstance(step, Reduce) or step.function not in _UNNAMED
        )
        return "_".join([*kinds][:4]) or "copy"

    # -- loops -------------------------------------------------------------------------------------------------------

    def _write(self) -> int:
        """Write everything, and return the length of the range that threads can share."""
        geometry = self.geometry
        self.cursor.read_constants([*geometry.outer, *geometry.inner, *([geometry.lane] if geometry.lane else [])])
        self.w.is_rolled = True
        large = self.is_large
        flat = not geometry.free and not geometry.scope and not geometry.rows and geometry.inner == [geometry.lane]
        tiles = geometry.across and not geometry.free
        if large and geometry.free:
            self._loops(geometry.free, self._deeper(geometry.free), self._outer_point, split=True)
            return geometry.free[0].length
        if large and flat:
            assert geometry.lane is not None
            return self._flat(geometry.lane)
        if self.body.pieces is not None:
            return self._pieces(self.body.pieces)
        if large and tiles:
            return self._tiles(split=True)
        self._loops(geometry.free, self._deeper(geometry.free), self._outer_point)
        return 1

    def _deeper(self, dims: Sequence[Dim]) -> list[Dim]:
        geometry = self.geometry
        dims_inside = [*geometry.free, *([geometry.lane] if geometry.across and geometry.lane else []), *geometry.scope]
        return [dim for dim in (*dims_inside, *geometry.inner) if dim not in dims]

    def _loops(self, dims: Sequence[Dim], deeper: Sequence[Dim], body: Callable[[], None], split: bool = False) -> None:
        """Write loops around a body; the outermost over the function's range, if that is split."""
        if not dims:
            body()
            return
        first, inner_dims = dims[0], dims[1:]
        bounds: tuple[int | str, int | str] = ("%begin", "%end") if split else (0, first.length)
        with self.w.loop(*bounds) as variable, self.cursor.inside(first, variable, [*inner_dims, *deeper]):
            self._loops(inner_dims, deeper, body)

    def _flat(self, lane: Dim) -> int:
        """Write a single loop, over units of a range."""
        units = -(-lane.length // _UNIT)
        start = self.w.put(f"mul nuw nsw i64 %begin, {_UNIT}")
        end = self.w.put(f"mul nuw nsw i64 %end, {_UNIT}")
        if lane.length % _UNIT:
            end = self.w.intrinsic("llvm.umin.i64", "i64", ("i64", end), ("i64", str(lane.length)))
        self.body.along(start, end)
        return units

    def _pieces(self, pieces: Pieces) -> int:
        """Write a loop over pieces and, for the thread that comes last, the results of their partial results."""
        deeper = self._deeper(())
        last = self.w.intrinsic("llvm.smin.i64", "i64", ("i64", "%end"), ("i64", str(pieces.count)))
        with self.w.loop("%begin", last) as number, self.cursor.inside(pieces.dim, number, deeper):
            self._first_tile(lambda: self.body.write_piece(number))
        is_last = self.w.put(f"icmp sgt i64 %end, {pieces.count}")
        with self.w.when(is_last), self.cursor.inside(None, "0", []):
            self._first_tile(self.body.finish)
        return pieces.count

    def _first_tile(self, body: Callable[[], None]) -> None:
        """Write something for the only tile, if the lane is an outer one."""
        if not self.geometry.across:
            body()
            return
        with self._tile_at("0"):
            body()

    def _outer_point(self) -> None:
        """Write what is done for each point of the free loops."""
        if self.geometry.across:
            self._tiles(split=False)
        else:
            self.body.write()

    def _tiles(self, split: bool) -> int:
        """Write the tiles of an outer lane, the rest of it last, and return how many there are."""
        lane = self.geometry.lane
        assert lane is not None
        length = self.body.tile
        full, tail = divmod(lane.length, length)
        total = full + bool(tail)
        end: int | str = full * length
        if split:
            last = self.w.intrinsic("llvm.smin.i64", "i64", ("i64", "%end"), ("i64", str(full))) if tail else "%end"
            start: int | str = self.w.put(f"mul nuw nsw i64 %begin, {length}")
            end = self.w.put(f"mul nuw nsw i64 {last}, {length}")
        else:
            start = 0
        with self.w.loop(start, end, length) as variable, self._tile_at(variable):
            self.body.write()
        if tail:
            self.body.tile = tail
            if split:
                inside = self.w.put(f"icmp eq i64 %end, {total}")
                with self.w.when(inside), self._tile_at(str(full * length)):
                    self.body.write()
            else:
                with self._tile_at(str(full * length)):
                    self.body.write()
        return total

    @contextmanager
    def _tile_at(self, position: str) -> Iterator[None]:
        lane = self.geometry.lane
        assert lane is not None
        with self.cursor.inside(lane, position, self._deeper(self.geometry.free), tile=True):
            yield


def _flops(step: Elementwise | Reduce) -> int:
    return element_functions.flops(step.function, step.operands[-1].dtype) if isinstance(step, Elementwise) else 1


_UNNAMED = frozenset({"copy", "cast", "where"})
