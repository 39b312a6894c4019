"""What native programs have in common as executables of the protocol: parts, and contexts in which they run.

A part first looks at the arrays that it is given. If one does not fit, as its layout is another, say, it has done
nothing: then it is called again with arrays that do, copies of these, and results are copied back.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from minpy.backends.native.arguments import Argument, coerced_groups
from minpy.backends.native.prepared import Preparation, PreparedForward
from minpy.backends.native.running import ContextMemory
from minpy.backends.native.source import NativePart
from minpy.backends.protocol import ArgumentMismatch, Context, Executable, StepCalls

if TYPE_CHECKING:
    from collections.abc import Collection

    from minpy.backends.explanation import Explanation
    from minpy.graph.ir import Node

__all__ = ["NativeContext", "NativeExecutable"]


class NativeExecutable(Executable):
    """A program as native code.

    Attributes
    ----------
    prepare : NativePart or None
        What is made of parameters alone runs before the forward part when one of these has changed.
    preparation : Preparation or None
        What that has made.
    forward : NativePart
    backward : NativePart or None
        None, if no gradients are asked for.
    arguments : tuple of tuple of Argument
        What is given: the arrays, the cotangents, the arrays into which gradients are asked.
    computes_in_place : bool
        Whether outputs may be computed in variables.
    """

    prepare: NativePart | None
    preparation: Preparation | None
    forward: NativePart
    backward: NativePart | None
    arguments: tuple[tuple[Argument, ...], ...]
    computes_in_place: bool

    @property
    def parts(self) -> list[NativePart]:
        """The parts that there are, in the order in which they run."""
        return [part for part in (self.prepare, self.forward, self.backward) if part is not None]

    @property
    def cannot_fail_backward(self) -> bool:  # type: ignore[override]
        """Whether the backward part is native code from end to end."""
        return self.backward is not None and self.backward.is_native

    def planned(self) -> Any:
        """Return the program with all that is known of it, for reports."""
        raise NotImplementedError

    def new_memory(self) -> ContextMemory:
        """Return memory for one call at a time."""
        raise NotImplementedError

    def read_by_backward(self) -> Collection[Node]:
        """Return the variables that the backward part reads, which it may do in place of views of them."""
        raise NotImplementedError

    def context(self, calls: StepCalls) -> NativeContext:
        """Return memory, and both parts as functions that compute in it, for one call at a time."""
        return NativeContext(self, calls)

    def step_of(self, error: BaseException) -> Node | None:
        """Return the step that raised an error."""
        return next((node for part in self.parts if (node := part.step_of(error)) is not None), None)

    def explain(self, title: str) -> Explanation:
        """Return what became of the program."""
        from minpy.backends.native.explaining import explained  # nobody who only runs programs needs it

        return explained(title, self)


class NativeContext(Context):
    """Memory for one call at a time, and both parts of a program as functions that compute in it.

    Attributes
    ----------
    memory : ContextMemory
    """

    __slots__ = ("backward", "forward", "memory")

    forward: Callable[..., Any]
    backward: Callable[..., Any] | None

    def __init__(self, executable: NativeExecutable, calls: StepCalls) -> None:
        self.memory = memory = executable.new_memory()
        arguments = executable.arguments
        self.backward = None
        if executable.backward is not None:
            self.backward = _Coerced.made(executable.backward, calls, memory, arguments, False)
        in_place = executable.computes_in_place
        if executable.prepare is not None:
            assert executable.preparation is not None
            prepare, forward = (part.made(calls, memory) for part in (executable.prepare, executable.forward))
            self.forward = PreparedForward(executable.preparation, prepare, forward, arguments[0], in_place)
        else:
            self.forward = _Coerced.made(executable.forward, calls, memory, arguments[:1], in_place)


class _Coerced:
    """What a part calls where arrays do not fit: itself, with copies that do; results are copied back.

    It knows the part weakly, as the part knows it.
    """

    __slots__ = ("_arguments", "_function", "_in_place")

    def __init__(self, arguments: Sequence[Sequence[Argument]], in_place: bool) -> None:
        self._arguments = arguments
        self._in_place = in_place
        self._function: Callable[[], Callable[..., Any] | None] = lambda: None

    @classmethod
    def made(
        cls,
        part: NativePart,
        calls: StepCalls,
        memory: ContextMemory,
        arguments: Sequence[Sequence[Argument]],
        in_place: bool,
    ) -> Callable[..., Any]:
        """Return a part as a function."""
        coerced = cls(arguments, in_place)
        function = part.made(calls, memory, coerced)
        coerced._function = weakref.ref(function)
        return function

    def __call__(self, *groups: Any) -> Any:
        if self._in_place:
            raise ArgumentMismatch
        function = self._function()
        assert function is not None
        count = len(self._arguments)
        made, finish = coerced_groups(groups[:count], self._arguments)
        result = function(*made, *groups[count:])
        finish()
        return result
