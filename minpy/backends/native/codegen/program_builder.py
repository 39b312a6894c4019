"""Programs built as native code: translated, fused, laid out in memory, written as LLVM IR, compiled."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from minpy.backends.native.codegen.caller_interface import Interface, adding
from minpy.backends.native.codegen.launch_sequences import LaunchSequence, task_text
from minpy.backends.native.codegen.launches import Launch, copied, launch_of
from minpy.backends.native.codegen.memory_layout import Memory, Uses, owner_of
from minpy.backends.native.codegen.parameter_hoisting import PREPARED, SMALLEST, prepared
from minpy.backends.native.codegen.part_writer import PartWriter
from minpy.backends.native.fusing.fuser import scheduled
from minpy.backends.native.fusing.loop_nest import Nest, Place, Schedule
from minpy.backends.native.kernels.codegen import kernel_of
from minpy.backends.native.kernels.ir_module import declaration, module_text
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Array, Call, Part, Routine
from minpy.backends.native.machine import helper_thread, llvm
from minpy.backends.native.machine import numpy_blas as blas
from minpy.backends.native.passes import optimized
from minpy.backends.native.runtime.argument_coercion import Argument, usual
from minpy.backends.native.runtime.program_plan import Plan
from minpy.backends.native.translating import Translation, translate
from minpy.backends.protocol import ArrayFact
from minpy.graph.ir import Node
from minpy.graph.schedule import Steps

__all__ = ["Build", "build"]


@dataclass(eq=False, repr=False)
class Build:
    """A built program: what runs it, and, for reports, the results of all stages."""

    plan: Plan
    translation: Translation
    routine: Routine  # after all passes
    launches: list[list[Launch]]  # for each part, what runs, in order
    memory: Memory
    sequences: list[LaunchSequence]  # the functions of native code
    ir: str  # their text
    loaded: llvm.Loaded | None  # and their code
    seconds: dict[str, float]  # how long each stage took

    def text(self) -> str:
        """Return the source of all parts, and what memory they take."""
        memory = self.memory
        memory_text = f"{memory.nbytes} bytes of memory hold {memory.unshared_bytes} bytes of answers"
        if memory.prepared:
            count = sum(map(len, self.launches))
            memory_text = (
                f"{len(self.translation.report)} steps as {count} of native code and calls; {memory_text}, and "
                f"{memory.prepared_bytes} bytes what is made of parameters"
            )
        return "\n".join([*(part.described() for part in self.plan.parts.values()), f"# {memory_text}."])


def build(
    steps: Steps,
    facts: Mapping[Node, ArrayFact],
    *,
    fast_math: bool = False,
    separate: bool = False,
    translation: Translation | None = None,
    parameters: Collection[int] = (),
) -> Build:
    """Build a program, given the facts about its steps from running it.

    With `fast_math` a product and the sum that it goes into may be rounded once; with `separate` each launch is a
    function of its own for Python, which can be timed, and is slower. `parameters` are positions of variables that
    seldom change from call to call: what is made of them alone is kept, if there are no gradients.

    Raises
    ------
    Untranslatable
        If it does what the step language cannot say.
    MissingDependencyError
        If llvmlite is not installed.
    BuildError
        If LLVM refuses what is generated.
    """
    return _Builder(steps, fast_math, separate, parameters).build(facts, translation)


@dataclass(eq=False)
class _Builder:
    steps: Steps
    fast_math: bool
    separate: bool
    parameters: Collection[int]
    seconds: dict[str, float] = field(default_factory=dict)
    interface: Interface = field(default_factory=Interface)
    forward_index: int = 0  # the number of the forward part

    def build(self, facts: Mapping[Node, ArrayFact], translation: Translation | None) -> Build:
        if translation is None:
            with self._stage("translating"):
                translation = translate(self.steps, facts)
        routine = self._with_interface(translation.routine)
        with self._stage("passes"):
            routine = self._optimized(routine)
        self.forward_index = int(routine.parts[0].name == PREPARED)
        with self._stage("fusing"):
            schedules = scheduled(routine)
        numpy_blas = blas.find()
        kernels: dict[Nest, Kernel] = {}

        def cached_kernel_of(nest: Nest) -> Kernel:
            if nest not in kernels:
                kernels[nest] = kernel_of(nest)
            return kernels[nest]

        places: dict[Array, Place] = {}
        for schedule in schedules:
            places.update(schedule.places)
        with self._stage("kernels"):
            launches = [
                [
                    launch_of(item, places, cached_kernel_of, numpy_blas is not None)
                    for item in self._items(part, schedule)
                ]
                for part, schedule in zip(routine.parts, schedules, strict=True)
            ]
        with self._stage("memory"):
            memory = self._memory(routine, launches, places)
        writer = PartWriter(
            self.interface, memory, "i64" if numpy_blas is None else numpy_blas.integer, helper_thread.count(),
            self.separate, bool(self.interface.no_alias) or any(launch.runs for part in launches for launch in part),
        )  # fmt: skip
        with self._stage("parts"):
            self._write_parts(writer, routine, launches, translation)
        ir, loaded = self._compiled(writer.sequences)
        plan = Plan(
            None if loaded is None else loaded.key,
            tuple(sequence.name for sequence in writer.sequences),
            writer.table,
            memory.nbytes,
            self._arguments(routine),
            self._read_by_backward(routine, launches, memory),
            writer.parts,
            self._preparation(routine, launches, memory),
        )
        return Build(plan, translation, routine, launches, memory, writer.sequences, ir, loaded, self.seconds)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Record how long a stage takes."""
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began

    def _optimized(self, routine: Routine) -> Routine:
        """Return a routine after all passes, with a part for what depends on parameters alone, if that is worth it."""
        if self.steps.grad_req:
            return optimized(routine, self.fast_math)
        (forward,) = routine.parts
        states = {forward.inputs[position] for position in self.steps.states}
        written = {target for target, _ in forward.updates}
        for step in forward.steps:
            if isinstance(step, Call) and step.node is not None:  # it may change its states itself
                written.update(operand.root for operand in step.operands if operand.root in states)
        parameters = [forward.inputs[position] for position in sorted(self.parameters)]
        parameters = [array for array in parameters if array not in written]
        if sum(array.nbytes for array in parameters) < SMALLEST:
            return optimized(routine, self.fast_math)
        for array in parameters:
            array.is_parameter = True
        return prepared(optimized(routine, self.fast_math))

    def _preparation(
        self, routine: Routine, launches: list[list[Launch]], memory: Memory
    ) -> tuple[tuple[int, ...], int] | None:
        if not self.forward_index:
            return None
        read = {memory.owner(array) for launch in launches[0] for array in launch.uses.reads}
        inputs = routine.parts[1].inputs
        return tuple(position for position, array in enumerate(inputs) if array in read), memory.prepared_bytes

    def _arguments(self, routine: Routine) -> tuple[tuple[Argument, ...], ...]:
        forward, *backwards = routine.parts[self.forward_index :]
        groups = [forward.inputs]
        for backward in backwards:
            groups += [backward.inputs[: len(self.steps.cotangents)], self.interface.targets]
        return tuple(tuple(self.interface.arguments[array] for array in group) for group in groups)

    def _read_by_backward(self, routine: Routine, launches: list[list[Launch]], memory: Memory) -> tuple[int, ...]:
        if not self.steps.grad_req:
            return ()
        arrays = [array for launch in launches[1] for array in (*launch.uses.reads, *launch.uses.writes)]
        owners = {memory.owner(array) for array in (*arrays, *routine.parts[1].outputs)}
        return tuple(position for position, array in enumerate(routine.parts[0].inputs) if array in owners)

    def _with_interface(self, routine: Routine) -> Routine:
        """Note the arguments, and return the routine that adds to gradients where `grad_req` says so."""
        steps, interface = self.steps, self.interface
        forward = routine.parts[0]

        def note(array: Array, name: str, written: bool = False) -> None:
            interface.arguments[array] = Argument(name, array.shape, usual(array.dtype), written)

        for position, array in enumerate(forward.inputs):
            note(array, f"variable {array.name!r}", position in steps.states)
        if len(routine.parts) == 1:
            return routine
        for position, array in enumerate(routine.parts[1].inputs):
            note(array, f"the gradient of head {position}")
        variables = dict(zip(steps.variables, forward.inputs, strict=True))
        for node in steps.gradients:
            variable = variables[node]
            target = Array(variable.shape, variable.dtype, name=f"gradient of {node.name}")
            note(target, f"the array for the gradient of {node.name!r}", True)
            interface.targets.append(target)
        grad_req = [steps.grad_req[node] for node in steps.gradients]
        routine, interface.grad_req = adding(routine, grad_req, interface.targets)
        return routine

    @staticmethod
    def _items(part: Part, schedule: Schedule) -> list[Any]:
        """Return the items of a part, with copies at the end that update its states."""
        items: list[Any] = list(schedule.items)
        states = {target for target, _ in part.updates}
        sources = []
        for target, source in part.updates:
            if source.root in states and source.root is not target:  # all have their old values while any is read
                nest, source = copied(source)
                items.append(nest)
            sources.append((target, source))
        return items + [copied(source, target)[0] for target, source in sources if source is not target]

    def _memory(self, routine: Routine, launches: list[list[Launch]], places: Mapping[Array, Place]) -> Memory:
        interface = self.interface
        native_owners = [
            {owner_of(array, places) for launch in part if not _is_python(launch) for array in launch.uses.writes}
            for part in launches
        ]
        outputs = routine.parts[self.forward_index].outputs
        if self.steps.stored:
            interface.settle_stores(
                routine.parts[self.forward_index], self.steps.stored, places, launches[self.forward_index]
            )
        interface.settle_outputs(outputs[: len(self.steps.outputs)], places, native_owners[self.forward_index])
        if self.steps.grad_req:
            interface.settle_gradients(routine.parts[1].outputs, places, native_owners[1])
        elsewhere = {*interface.arguments, *interface.new, *interface.direct}
        uses = []
        for part, launches_of_part in zip(routine.parts, launches, strict=True):
            for launch in launches_of_part:
                uses.append(launch.uses)
                if _is_python(launch):
                    elsewhere.update(launch.uses.writes)
            uses.append(Uses([array for array in part.outputs if not array.is_constant], ()))  # copied at the end
        lasting = dict.fromkeys(array.root for array in routine.parts[0].outputs) if self.forward_index else ()
        return Memory(uses, places, elsewhere, (), interface.preferred, lasting)

    def _write_parts(
        self, writer: PartWriter, routine: Routine, launches: list[list[Launch]], translation: Translation
    ) -> None:
        forward = routine.parts[self.forward_index]
        count = len(self.steps.outputs)
        saved_for_replay, position = [], count
        for node, width in translation.saved_for_replay:
            saved_for_replay.append((node, width, forward.outputs[position : position + max(width, 1)]))
            position += max(width, 1)
        read_later: list[Array] = []
        if self.steps.grad_req:
            for launch in launches[1]:
                read_later += [*launch.uses.reads, *launch.uses.writes]
            read_later += routine.parts[1].outputs
        numbered, begin = [], 0
        for part in launches:
            numbered.append(list(enumerate(part, begin)))
            begin += len(part) + 1
        if self.forward_index:
            writer.prepare(forward.inputs, numbered[0])
        targets = {target for target, _ in forward.updates}
        updated = [position for position, array in enumerate(forward.inputs) if array in targets]
        writer.forward(
            forward.inputs, numbered[self.forward_index], forward.outputs[:count], saved_for_replay, read_later, updated
        )
        if self.steps.grad_req:
            backward = routine.parts[1]
            cotangents = backward.inputs[: len(self.steps.cotangents)]
            writer.backward(forward.inputs, cotangents, numbered[1], backward.outputs)

    def _compiled(self, sequences: list[LaunchSequence]) -> tuple[str, llvm.Loaded | None]:
        if not sequences:
            return "", None
        with self._stage("printing"):
            modules = self._modules(sequences)
        with self._stage("compiling"):
            loaded = llvm.compile(*modules, fast_math=self.fast_math)
        return "\n".join(modules), loaded

    @staticmethod
    def _modules(sequences: list[LaunchSequence]) -> tuple[str, str]:
        """Return two modules: one of loops for LLVM to vectorise, and one of functions written as they are to run."""
        kernels = list(dict.fromkeys(kernel for sequence in sequences for kernel in sequence.kernels))
        loops = [kernel for kernel in kernels if not kernel.is_written]
        first, names = module_text(loops, linkage="hidden")
        declared = "\n".join({names[kernel]: declaration(kernel, names[kernel]) for kernel in loops}.values())
        written, names_of_written = module_text([kernel for kernel in kernels if kernel.is_written], first=len(loops))
        names.update(names_of_written)
        shared = [kernel for sequence in sequences for kernel in sequence.kernels if sequence.is_shared(kernel)]
        tasks = {names[kernel]: task_text(kernel, names[kernel]) for kernel in shared}
        functions = [*tasks.values(), *(sequence.text(names) for sequence in sequences)]
        return first, "\n".join([declared, written, *functions])


def _is_python(launch: Launch) -> bool:
    """Tell whether Python allocates the results of a launch."""
    return isinstance(launch.item, Call) and not launch.is_native
