"""Programs built as native code: translated, fused, laid out in memory, printed as LLVM IR, compiled."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from minpy.backends.native.arguments import Argument, usual
from minpy.backends.native.boundary import Boundary, adding
from minpy.backends.native.executable import NativeContext, NativeExecutable
from minpy.backends.native.fusing.grouping import scheduled
from minpy.backends.native.fusing.nest import Nest, Place, Schedule
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.kernels.module import declaration, module_text
from minpy.backends.native.kernels.printing import kernel_of
from minpy.backends.native.language import Array, Call, Part, Routine
from minpy.backends.native.machine import blas, llvm, threads
from minpy.backends.native.memory import Memory, Uses, owner_of
from minpy.backends.native.parts import PartWriter
from minpy.backends.native.passes import Notes, optimized
from minpy.backends.native.prepared import Preparation
from minpy.backends.native.preparing import PREPARED, SMALLEST, prepared
from minpy.backends.native.running import ContextMemory
from minpy.backends.native.segments import Segment, task_text
from minpy.backends.native.source import NativePart
from minpy.backends.native.table import Table
from minpy.backends.native.translating import Translation, translate
from minpy.backends.native.works import Work, copied, work_of
from minpy.backends.protocol import ArrayFact, StepCalls
from minpy.graph.ir import Node
from minpy.graph.steps import Steps

__all__ = ["NativeProgram", "build"]


@dataclass(eq=False, repr=False)
class NativeProgram(NativeExecutable):
    """A program as native code.

    Attributes
    ----------
    forward : NativePart
    backward : NativePart or None
        None, if no gradients are asked for.
    prepare : NativePart or None
        What is made of parameters alone, see `preparing`, runs before the forward part when one of these has changed.
    preparation : Preparation or None
        What that has made.
    translation : Translation
        What became of each node of the graph.
    routine : Routine
        What is computed, after all passes.
    works : list of list of Work
        For each part, what runs, in order.
    memory : Memory
        Where it is computed.
    segments : list of Segment
        The functions of native code.
    ir : str
        Their text.
    arguments : tuple of tuple of Argument
        What is given: the arrays, the cotangents, the arrays into which gradients are asked.
    reads : set of Node
        The variables that the backward part reads.
    seconds : dict of str to float
        How long each stage took.
    is_cached : bool
        Whether the machine code came from the cache.
    works_of_segments : dict of str to Work
        By the name of a segment, the first work in it.
    watch : callable, optional
        `watch(name of a segment, or node of a call, function)` returns what contexts call in its place: what takes its
        time, say.
    """

    forward: NativePart
    backward: NativePart | None
    translation: Translation
    routine: Routine
    works: list[list[Work]]
    memory: Memory
    segments: list[Segment]
    ir: str
    table: Table
    loaded: Any
    arguments: tuple[tuple[Argument, ...], ...]
    reads: set[Node]
    seconds: dict[str, float] = field(default_factory=dict)
    is_cached: bool = False
    works_of_segments: dict[str, Work] = field(default_factory=dict)
    prepare: NativePart | None = None
    preparation: Preparation | None = None
    computes_in_place: bool = False
    watch: Callable[[str | Node, Callable[..., Any]], Callable[..., Any]] | None = None

    def text(self) -> str:
        """Return the source of all parts, and what memory they take."""
        parts = [part.described() for part in self.parts]
        count = sum(len(part) for part in self.works)
        return "\n".join(
            [
                *parts,
                (
                    f"# {len(self.translation.report)} steps as {count} of native code and calls; "
                    f"{self.memory.nbytes} bytes of memory hold {self.memory.unshared_bytes} bytes of answers, and "
                    f"{self.memory.prepared_bytes} bytes what is made of parameters."
                    if self.memory.prepared
                    else f"{self.memory.nbytes} bytes of memory hold {self.memory.unshared_bytes} bytes of answers."
                ),
            ]
        )

    def planned(self) -> NativeProgram:
        """Return the program with all that is known of it: itself."""
        return self

    def read_by_backward(self) -> set[Node]:
        """Return the variables that the backward part reads."""
        return self.reads

    def context(self, calls: StepCalls) -> NativeContext:
        """Return memory, and both parts as functions that compute in it; `watch` may put others in their places."""
        watch = self.watch
        if watch is None:
            return super().context(calls)
        return super().context(lambda node: watch(node, calls(node)))

    def new_memory(self) -> ContextMemory:
        """Return memory for one call at a time."""
        names = [one.name for one in self.segments]
        memory = ContextMemory.made(self.memory.nbytes, self.table, self.loaded, names)
        if self.watch is not None:
            memory.segments = {name: self.watch(name, segment) for name, segment in memory.segments.items()}
        return memory


def build(
    steps: Steps,
    facts: Mapping[Node, ArrayFact],
    *,
    fast_math: bool = False,
    apart: bool = False,
    translation: Translation | None = None,
    parameters: Collection[int] = (),
) -> NativeProgram:
    """Return a program as native code.

    Parameters
    ----------
    steps : Steps
    facts : mapping of Node
        What running it has told about its steps.
    fast_math : bool
        Whether a product and the sum that it goes into may be rounded once.
    apart : bool
        Whether each kernel is a function of its own for Python, which can be timed; slower.
    translation : Translation, optional
        What they are in the step language, if that is known.
    parameters : collection of int
        Positions of variables that seldom change from call to call: what is made of them alone is kept, if there are
        no gradients.

    Raises
    ------
    Untranslatable
        If it does what the step language cannot say.
    MissingDependencyError
        If llvmlite is not installed.
    BuildError
        If LLVM refuses what is generated.
    """
    return _Builder(steps, facts, fast_math, apart, parameters, translation).build()


class _Builder:
    def __init__(
        self,
        steps: Steps,
        facts: Mapping[Node, ArrayFact],
        fast_math: bool,
        apart: bool,
        parameters: Collection[int] = (),
        translation: Translation | None = None,
    ) -> None:
        self.steps = steps
        self.translation = translation
        self.parameters = parameters
        self.fast_math = fast_math
        self.apart = apart
        self.facts = facts
        self.seconds: dict[str, float] = {}
        self.boundary = Boundary()
        self.first = 0  # the number of the forward part

    def build(self) -> NativeProgram:
        # Planning makes many small things, hardly any of them garbage: looking for it would take a third of the time.
        if not gc.isenabled():
            return self._program()
        gc.disable()
        try:
            return self._program()
        finally:
            gc.enable()

    def _program(self) -> NativeProgram:
        translation = self.translation
        if translation is None:
            translation = self._timed("translating", lambda: translate(self.steps, self.facts))
        routine = self._bound(translation.routine)
        notes = Notes()
        routine = self._timed("passes", lambda: self._optimized(routine, notes))
        self.first = int(routine.parts[0].name == PREPARED)
        schedules = self._timed("fusing", lambda: scheduled(routine))
        blas_found = blas.find()
        printed: dict[Nest, Kernel] = {}

        def printing(nest: Nest) -> Kernel:
            if nest not in printed:
                printed[nest] = kernel_of(nest)
            return printed[nest]

        places: dict[Array, Place] = {}
        for schedule in schedules:
            places.update(schedule.places)
        works = self._timed(
            "kernels",
            lambda: [
                [work_of(item, places, printing, blas_found is not None) for item in self._items(part, schedule)]
                for part, schedule in zip(routine.parts, schedules, strict=True)
            ],
        )
        memory = self._timed("memory", lambda: self._memory(routine, works, places))
        table = Table()
        integer = blas_found.integer if blas_found is not None else "i64"
        computes = bool(self.boundary.apart) or any(work.runs for part in works for work in part)
        writer = PartWriter(self.boundary, memory, table, integer, threads.count(), self.apart, computes)
        prepare, forward, backward = self._timed("parts", lambda: self._parts(writer, routine, works, translation))
        ir, loaded = self._compiled(writer.segments)
        return NativeProgram(
            forward, backward, translation, routine, works, memory, writer.segments, ir, table, loaded,
            self._arguments(routine), self._read_by_backward(routine, works, memory), self.seconds,
            loaded is not None and loaded.cached, writer.works, prepare, self._preparation(routine, works, memory),
            bool(self.boundary.apart),
        )  # fmt: skip

    def _optimized(self, routine: Routine, notes: Notes) -> Routine:
        """Return what the passes make of a routine, with a part for what is made of parameters, if that is worth it."""
        if self.steps.grad_req:
            return optimized(routine, self.fast_math, notes)
        (forward,) = routine.parts
        states = {forward.inputs[position] for position in self.steps.states}
        written = {target for target, _ in forward.updates}
        for step in forward.steps:
            if isinstance(step, Call) and step.node is not None:  # it may change its states itself
                written.update(operand.root for operand in step.operands if operand.root in states)
        chosen = [forward.inputs[position] for position in sorted(self.parameters)]
        chosen = [array for array in chosen if array not in written]
        if sum(array.nbytes for array in chosen) < SMALLEST:
            return optimized(routine, self.fast_math, notes)
        for array in chosen:
            array.is_parameter = True
        return prepared(optimized(routine, self.fast_math, notes))

    def _preparation(self, routine: Routine, works: list[list[Work]], memory: Memory) -> Preparation | None:
        if not self.first:
            return None
        read = {memory.owner(array) for work in works[0] for array in work.uses.reads}
        inputs = routine.parts[1].inputs
        positions = [position for position, array in enumerate(inputs) if array in read]
        return Preparation(positions, memory.prepared_bytes)

    def _arguments(self, routine: Routine) -> tuple[tuple[Argument, ...], ...]:
        forward, *rest = routine.parts[self.first :]
        groups = [forward.inputs]
        for backward in rest:
            groups += [backward.inputs[: len(self.steps.cotangents)], self.boundary.targets]
        return tuple(tuple(self.boundary.arguments[array] for array in group) for group in groups)

    def _read_by_backward(self, routine: Routine, works: list[list[Work]], memory: Memory) -> set[Node]:
        if not self.steps.grad_req:
            return set()
        uses = [work.uses for work in works[1]]
        owners = {memory.owner(array) for one in uses for array in (*one.reads, *one.writes)}
        owners |= {memory.owner(array) for array in routine.parts[1].outputs}
        inputs = routine.parts[0].inputs
        return {node for node, array in zip(self.steps.variables, inputs, strict=True) if array in owners}

    def _timed(self, stage: str, function: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        found = function()
        self.seconds[stage] = time.perf_counter() - begun
        return found

    # -- the boundary ------------------------------------------------------------------------------------------------

    def _bound(self, routine: Routine) -> Routine:
        """Note what is given and asked for, and return the routine that adds to gradients where that is asked for."""
        steps, boundary = self.steps, self.boundary
        forward = routine.parts[0]
        for position, array in enumerate(forward.inputs):
            written = position in steps.states
            name = f"variable {array.name!r}"
            boundary.arguments[array] = Argument(name, array.shape, usual(array.dtype), written)
        if len(routine.parts) == 1:
            return routine
        backward = routine.parts[1]
        for position, array in enumerate(backward.inputs):
            name = f"the gradient of head {position}"
            boundary.arguments[array] = Argument(name, array.shape, usual(array.dtype))
        variables = dict(zip(steps.variables, forward.inputs, strict=True))
        for node in steps.gradients:
            like = variables[node]
            target = Array(like.shape, like.dtype, name=f"gradient of {node.name}")
            name = f"the array for the gradient of {node.name!r}"
            boundary.arguments[target] = Argument(name, like.shape, usual(like.dtype), True)
            boundary.targets.append(target)
        grad_req = [steps.grad_req[node] for node in steps.gradients]
        routine, boundary.grad_req = adding(routine, grad_req, boundary.targets)
        return routine

    @staticmethod
    def _items(part: Part, schedule: Schedule) -> list[Any]:
        """Return the items of a part, and what updates its states when they are done."""
        items: list[Any] = list(schedule.items)
        states = {target for target, _ in part.updates}
        sources = []
        for target, source in part.updates:
            if source.root in states and source.root is not target:  # all have their old values while any is read
                nest, source = copied(source)
                items.append(nest)
            sources.append((target, source))
        return items + [copied(source, target)[0] for target, source in sources if source is not target]

    # -- memory ------------------------------------------------------------------------------------------------------

    def _memory(self, routine: Routine, works: list[list[Work]], places: Mapping[Array, Place]) -> Memory:
        boundary = self.boundary
        native = [
            {owner_of(array, places) for work in part if not _is_python(work) for array in work.uses.writes}
            for part in works
        ]
        outputs = routine.parts[self.first].outputs
        if self.steps.stored:
            boundary.settle_stores(routine.parts[self.first], self.steps.stored, places, works[self.first])
        boundary.settle_outputs(outputs[: len(self.steps.outputs)], places, native[self.first])
        if self.steps.grad_req:
            boundary.settle_gradients(routine.parts[1].outputs, places, native[1])
        elsewhere = {*boundary.arguments, *boundary.fresh, *boundary.direct}
        for work in (work for part in works for work in part):
            if isinstance(work.item, Call) and _is_python(work):
                elsewhere.update(work.item.outputs)
        uses = []
        for part, found in zip(routine.parts, works, strict=True):
            uses += [work.uses for work in found]
            uses.append(Uses([array for array in part.outputs if not array.is_constant], ()))  # copied at the end
        kept = dict.fromkeys(array.root for array in routine.parts[0].outputs) if self.first else ()
        return Memory(uses, places, elsewhere, (), boundary.wanted, kept)

    # -- source and code ---------------------------------------------------------------------------------------------

    def _parts(
        self, writer: PartWriter, routine: Routine, works: list[list[Work]], translation: Translation
    ) -> tuple[NativePart | None, NativePart, NativePart | None]:
        first = routine.parts[self.first]
        count = len(self.steps.outputs)
        saved_for_replay, position = [], count
        for node, width in translation.saved_for_replay:
            saved_for_replay.append((node, width, first.outputs[position : position + max(width, 1)]))
            position += max(width, 1)
        later: list[Array] = []
        if self.steps.grad_req:
            for work in works[1]:
                later += [*work.uses.reads, *work.uses.writes]
            later += routine.parts[1].outputs
        numbered, begin = [], 0
        for part in works:
            numbered.append(list(enumerate(part, begin)))
            begin += len(part) + 1
        prepare = writer.prepare(first.inputs, numbered[0]) if self.first else None
        forward = writer.forward(
            first.inputs, numbered[self.first], first.outputs[:count], saved_for_replay, later, self._updated(first)
        )
        if not self.steps.grad_req:
            return prepare, forward, None
        second = routine.parts[1]
        cotangents = second.inputs[: len(self.steps.cotangents)]
        return None, forward, writer.backward(first.inputs, cotangents, numbered[1], second.outputs)

    @staticmethod
    def _updated(forward: Part) -> list[int]:
        """Return the positions of the states that native code writes to."""
        targets = {target for target, _ in forward.updates}
        return [position for position, array in enumerate(forward.inputs) if array in targets]

    def _compiled(self, segments: list[Segment]) -> tuple[str, Any]:
        if not segments:
            return "", None
        begun = time.perf_counter()
        kernels = list(dict.fromkeys(kernel for segment in segments for kernel in segment.kernels))
        modules = self._modules(kernels, segments)
        self.seconds["printing"] = time.perf_counter() - begun
        begun = time.perf_counter()
        loaded = llvm.compile(*modules, fast_math=self.fast_math)
        self.seconds["compiling"] = time.perf_counter() - begun
        return "\n".join(modules), loaded

    @staticmethod
    def _modules(kernels: list[Kernel], segments: list[Segment]) -> tuple[str, str]:
        """Return two modules: one of loops that LLVM is to work on, and one of all that is written as it is to run."""
        loops = [kernel for kernel in kernels if not kernel.is_written]
        first, names = module_text(loops, linkage="hidden")
        declared = "\n".join({names[kernel]: declaration(kernel, names[kernel]) for kernel in loops}.values())
        written = [kernel for kernel in kernels if kernel.is_written]
        second, others = module_text(written, first=len(loops))
        names.update(others)
        shared = [kernel for segment in segments for kernel in segment.kernels if segment.is_shared(kernel)]
        tasks = {names[kernel]: task_text(kernel, names[kernel]) for kernel in shared}
        functions = [*tasks.values(), *(segment.text(names) for segment in segments)]
        return first, "\n".join([declared, second, *functions])


def _is_python(work: Work) -> bool:
    """Tell whether Python chooses the memory of what a work gives."""
    return isinstance(work.item, Call) and not work.is_native
