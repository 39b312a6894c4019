"""Native programs as executables of the protocol: what runs them, and the contexts in which they run.

A part first checks its arguments. If one does not fit, because of its layout, say, nothing has been done: the part is
called again with copies that fit, and results are copied back.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from minpy.backends.memory_planner import new_block
from minpy.backends.native.machine import numpy_blas, python_builtins
from minpy.backends.native.runtime.argument_coercion import Argument, coerced_groups
from minpy.backends.native.runtime.prepared_parameters import Preparation, preparing
from minpy.backends.native.runtime.program_plan import NativePart, Plan
from minpy.backends.protocol import ArgumentMismatch, Context, Executable, StepCalls

if TYPE_CHECKING:
    from minpy.backends.explanation import Explanation
    from minpy.backends.native.codegen.program_builder import Build
    from minpy.backends.native.machine.llvm import Loaded
    from minpy.graph.ir import Node
    from minpy.graph.schedule import Steps

__all__ = ["NativeContext", "NativeExecutable"]


class NativeExecutable(Executable):
    """A program as native code, built in this process, or in an earlier one that has left its plan.

    `build` returns all that is known of it, in the second case by building it again; `seconds`, how long each stage
    took, are given then.
    """

    # Takes the name of a launch function, or the node of a call, and a function; returns what contexts call in its
    # place, to time it, say.
    watch: Callable[[str | Node, Callable[..., Any]], Callable[..., Any]] | None = None

    def __init__(
        self,
        plan: Plan,
        steps: Steps,
        loaded: Loaded | None,
        build: Callable[[], Build],
        seconds: dict[str, float] | None = None,
    ) -> None:
        self.plan = plan
        self.loaded = loaded
        self.computes_in_place = bool(steps.stored)
        self.preparation = None if plan.preparation is None else Preparation(*plan.preparation)
        self._steps = steps
        self._build = build
        self._seconds = seconds

    @cached_property
    def build(self) -> Build:
        """All that is known of the program, for reports."""
        return self._build()

    @property
    def is_cached(self) -> bool:
        """Whether the machine code came from the cache."""
        return self._seconds is not None or (self.loaded is not None and self.loaded.cached)

    @property
    def seconds(self) -> dict[str, float]:
        """How long each stage took."""
        return self.build.seconds if self._seconds is None else self._seconds

    @property
    def cannot_fail_backward(self) -> bool:  # type: ignore[override]
        """Whether the backward part is native code from end to end."""
        return "backward" in self.plan.parts and self.plan.parts["backward"].is_native

    def context(self, calls: StepCalls) -> NativeContext:
        """Return memory, and both parts as functions that compute in it, for one call at a time."""
        watch = self.watch
        return NativeContext(self, calls if watch is None else lambda node: watch(node, calls(node)))

    def functions(self, block: Any) -> Mapping[str, Callable[..., Any]]:
        """Return the functions of native code, as they compute in a block of memory, by their names."""
        loaded, table = self.loaded, self.plan.table
        if loaded is None:
            return {}
        filled = table.filled(block.ctypes.data, numpy_blas.find())
        functions = {
            name: python_builtins.builtin(loaded.address(name), name, filled, loaded, block, table)
            for name in self.plan.functions
        }
        watch = self.watch
        return functions if watch is None else {name: watch(name, function) for name, function in functions.items()}

    def read_by_backward(self) -> frozenset[Node]:
        """Return the variables that the backward part reads, which it may do in place of views of them."""
        return frozenset(self._steps.variables[position] for position in self.plan.reads)

    def step_of(self, error: BaseException) -> Node | None:
        """Return the step that raised an error."""
        return next((node for part in self.plan.parts.values() if (node := part.step_of(error)) is not None), None)

    def text(self) -> str:
        """Return the source of all parts, and what memory they take."""
        return self.build.text()

    def explain(self, title: str) -> Explanation:
        """Return what became of the program."""
        from minpy.backends.native.reports.explain_program import explained  # nobody who only runs programs needs it

        return explained(title, self.build, self.seconds, self.is_cached)


class NativeContext(Context):
    """A block of memory for one call at a time, and functions of native code, and the parts, that compute in it."""

    __slots__ = ("backward", "block", "forward", "functions")

    forward: Callable[..., Any]
    backward: Callable[..., Any] | None

    def __init__(self, executable: NativeExecutable, calls: StepCalls) -> None:
        plan, in_place = executable.plan, executable.computes_in_place
        self.block = block = new_block(plan.nbytes)
        self.functions = functions = executable.functions(block)

        def bound_part(name: str, arguments: Sequence[Sequence[Argument]], in_place: bool) -> Callable[..., Any]:
            return _PartMemory((block,), functions, arguments, in_place).bind(plan.parts[name], calls)

        self.backward = bound_part("backward", plan.arguments, False) if "backward" in plan.parts else None
        self.forward = bound_part("forward", plan.arguments[:1], in_place)
        if executable.preparation is not None:
            read_only = [replace(argument, written=False) for argument in plan.arguments[0]]
            self.forward = preparing(executable.preparation, bound_part("prepare", [read_only], in_place), self.forward)


@dataclass(eq=False)
class _PartMemory:
    """What a part is bound to in a context: its block, functions of native code, and what coerces arguments."""

    buffers: tuple[Any]
    functions: Mapping[str, Callable[..., Any]]
    arguments: Sequence[Sequence[Argument]]
    in_place: bool

    def bind(self, part: NativePart, calls: StepCalls) -> Callable[..., Any]:
        """Return a part as a function, to which this has a weak reference, as that refers to this."""
        function = part.bind(calls, self)
        self._function = weakref.ref(function)
        return function

    def coerced(self, *groups: Any) -> Any:
        """Call the part with copies of arrays that do not fit, and copy results back."""
        if self.in_place:
            raise ArgumentMismatch
        function = self._function()
        assert function is not None
        count = len(self.arguments)
        copies, finish = coerced_groups(groups[:count], self.arguments)
        result = function(*copies, *groups[count:])
        finish()
        return result
