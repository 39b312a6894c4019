"""Kernels compiled alone and called from Python, and schedules run with them: for tests and measurements of kernels."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.native.fusing.loop_nest import Level, Nest, Place, Schedule, aligned_strides, reduced_axes
from minpy.backends.native.kernels.codegen import kernel_of
from minpy.backends.native.kernels.ir_module import module_text
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Array, Assembly, Reduce, Routine, Step, View
from minpy.backends.native.machine import llvm


class Compiled:
    """Kernels in one module, as functions of arrays in memory."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = list(kernels)
        self.text, names = module_text(self.kernels, linkage="")
        self.loaded = llvm.compile(self.text)
        self.functions = []
        for kernel in self.kernels:
            kinds = [ctypes.c_void_p] * (len(kernel.pointers) + 1)
            prototype = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_int64, ctypes.c_int64)
            self.functions.append(prototype(self.loaded.address(names[kernel])))
        self._memory = numpy.zeros(max((kernel.scratch for kernel in self.kernels), default=0) + 64, numpy.uint8)
        self._scratch = self._memory.ctypes.data + -self._memory.ctypes.data % 64

    def bound(self, number: int, memory: Mapping[Array, numpy.ndarray]) -> Callable[[], None]:
        """Return a function without arguments that runs a kernel over its whole range."""
        kernel = self.kernels[number]
        function = self.functions[number]
        arguments = [*(ctypes.c_void_p(address) for address in _addresses(kernel, memory)), self._scratch]
        end = kernel.end
        return lambda: function(*arguments, 0, end)

    def call(self, number: int, memory: Mapping[Array, numpy.ndarray], ranges: Iterable[tuple[int, int]] = ()) -> None:
        """Run a kernel on the memory of its arrays, over its whole range or over parts of it."""
        kernel = self.kernels[number]
        addresses = _addresses(kernel, memory)
        for begin, end in ranges or [(0, kernel.end)]:
            self.functions[number](*addresses, self._scratch, begin, end)


def _addresses(kernel: Kernel, memory: Mapping[Array, numpy.ndarray]) -> list[int]:
    return [
        memory[pointer.array].ctypes.data + pointer.offset * pointer.array.dtype.itemsize for pointer in kernel.pointers
    ]


def ranges_of(kernel: Kernel, parts: int, backwards: bool = False) -> list[tuple[int, int]]:
    """Return ranges that do all of a kernel together; what comes after all pieces comes last."""
    bounds = [kernel.splits * k // parts for k in range(parts + 1)]
    ranges = [(a, b) for a, b in itertools.pairwise(bounds) if a < b]
    if backwards:
        ranges.reverse()
    return ranges if kernel.partials is None else [*ranges, (kernel.splits, kernel.end)]


def steps_of(outputs: Iterable[Array]) -> list[Step]:
    """Return the steps that outputs depend on, in order; views are no steps of nests."""
    found: dict[Step, None] = {}

    def visit(array: Array) -> None:
        step = array.root.step
        if step is not None and step not in found:
            for operand in step.operands:
                visit(operand)
            found[step] = None

    for output in outputs:
        visit(output)
    return list(found)


def nest_of(outputs: Sequence[Array], space: Sequence[int], inner: Iterable[int]) -> Nest:
    """Return one nest that gives some arrays, with levels and phases as they follow from the inner axes."""
    within = frozenset(axis for axis in inner if space[axis] != 1)
    steps: Any = steps_of(outputs)
    levels: dict[Array, Level] = {}
    phases: dict[Array, int] = {}
    known: dict[Array, int] = {}
    for step in steps:
        array = step.output
        ours = [one.root for one in step.operands if one.root in levels]
        phases[array] = known[array] = max((known[one] for one in ours), default=0)
        if isinstance(step, Reduce):
            is_row = levels.get(step.operands[0].root, Level.FULL) is Level.FULL
            if is_row and reduced_axes(step, space) == within:
                levels[array] = Level.ROW
                known[array] += 1
            elif is_row and not reduced_axes(step, space):
                levels[array] = Level.FULL
            else:
                levels[array] = Level.COLUMN
            continue
        full = not within or any(levels[one] is Level.FULL for one in ours)
        for one in step.operands:
            if one.root not in levels and not one.is_number:
                moved = aligned_strides(one.shape, [1] * len(one.shape), space)
                full = full or any(moved[axis] for axis in within)
        levels[array] = Level.FULL if full else Level.ROW
    return Nest(tuple(space), within, steps, levels, phases, {array.root: None for array in outputs})


def run_nest(
    outputs: Sequence[Array],
    space: Sequence[int],
    inner: Iterable[int],
    inputs: Mapping[Array, numpy.ndarray],
    parts: int = 1,
) -> list[numpy.ndarray]:
    """Compile one nest, run it, in several parts if it can be split, and return its outputs."""
    kernel = kernel_of(nest_of(outputs, space, inner))
    memory = dict(inputs)
    for pointer in kernel.pointers:
        if pointer.array not in memory:
            memory[pointer.array] = _garbage(pointer.array)
    Compiled([kernel]).call(0, memory, ranges_of(kernel, parts))
    return [memory[array.root] for array in outputs]


def _garbage(array: Array) -> numpy.ndarray:
    if array.is_constant:
        assert array.value is not None
        return array.value
    return numpy.full(array.shape, 77, array.dtype)


class Runner:
    """Runs schedules, their nests as kernels, in one part or in several, and everything else by NumPy."""

    def __init__(self, schedules: Sequence[Schedule], parts: int = 1, backwards: bool = False) -> None:
        self.schedules = schedules
        self.parts = parts, backwards
        self.places: dict[Array, Place] = {}
        self.numbers: dict[int, int] = {}
        kernels = []
        for schedule in schedules:
            self.places.update(schedule.places)
            for item in schedule.items:
                if isinstance(item, Nest):
                    self.numbers[id(item)] = len(kernels)
                    kernels.append(kernel_of(item, self.places))
        self.compiled = Compiled(kernels)

    def run(self, routine: Routine, inputs: Sequence[Sequence[numpy.ndarray]]) -> list[list[numpy.ndarray]]:
        """Return the outputs of every part; states are updated."""
        self.memory: dict[Array, numpy.ndarray] = {}
        results = []
        for part, schedule, arrays in zip(routine.parts, self.schedules, inputs, strict=True):
            self.memory.update(zip(part.inputs, arrays, strict=True))
            for item in schedule.items:
                if isinstance(item, Nest):
                    self._kernel(self.numbers[id(item)])
                    continue
                values = item.evaluate(*map(self._read, item.operands))
                for array, value in zip(item.outputs, values, strict=True):
                    self._window(array)[...] = value
            results.append([numpy.array(self._read(array)) for array in part.outputs])
            updates = [(target, numpy.array(self._read(source))) for target, source in part.updates]
            for target, value in updates:
                self.memory[target][...] = value
        return results

    def _kernel(self, number: int) -> None:
        for pointer in self.compiled.kernels[number].pointers:
            self._root(pointer.array)
        ranges = ranges_of(self.compiled.kernels[number], *self.parts) if self.parts != (1, False) else []
        self.compiled.call(number, self.memory, ranges)

    def _root(self, array: Array) -> numpy.ndarray:
        if array not in self.memory:
            self.memory[array] = _garbage(array)
            if isinstance(array.step, Assembly) and array.step.fill is not None:
                self.memory[array].fill(array.step.fill)
        return self.memory[array]

    def _window(self, array: Array) -> numpy.ndarray:
        place = self.places.get(array)
        if place is None:
            return self._root(array)
        flat = self._root(place.root).reshape(-1)[place.layout.offset :]
        strides = tuple(stride * flat.itemsize for stride in place.layout.strides)
        return numpy.lib.stride_tricks.as_strided(flat, array.shape, strides)

    def _read(self, array: Array) -> Any:
        if array.is_constant:
            return array.value
        values = self._window(array.root)
        return array.step.evaluate(values)[0] if isinstance(array.step, View) else values
