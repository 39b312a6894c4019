"""`Call`, a step that calls a Python function, and `NativeFunction`, one that native code does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy

from minpy.backends.native.language.array_and_step import Array, Origin, Step

if TYPE_CHECKING:
    from minpy.backends.native.kernels.kernel import Kernel
    from minpy.graph.ir import Node

__all__ = ["Call", "NativeFunction", "arrays_of", "filled"]


@runtime_checkable
class NativeFunction(Protocol):
    """A function of a call that native code does: one that has generated kernels of its own."""

    def kernels(self, call: Call) -> Sequence[Kernel]:
        """Return the kernels that do it, one after the other.

        Their pointers are to operands and outputs of the call, or to arrays that it makes itself for what lies between.
        """
        ...

    def label(self) -> str:
        """Return what it is, for reports."""
        ...


@dataclass(eq=False, slots=True)
class Call(Step):
    """A call of a Python function of arrays, which gives an array, or a tuple of them.

    It is called with `arguments`: arrays, which are the operands, tuples of them, or any other objects. Without a
    function it is what `node` runs, in the frame that runs it. `facts` are shapes and dtypes of the outputs, and
    `reason` says why it is a call, for reports.
    """

    kind: ClassVar[str] = "call"

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...]
    facts: tuple[tuple[tuple[int, ...], Any], ...]
    reason: str
    node: Node | None = None

    def __post_init__(self) -> None:
        self._set_outputs(*self.facts)

    @property
    def form(self) -> NativeFunction | None:
        """The function, if native code does it."""
        return self.function if isinstance(self.function, NativeFunction) else None

    @classmethod
    def of(
        cls,
        function: Callable[..., Any] | None,
        arguments: Sequence[Any],
        facts: Sequence[tuple[Sequence[int], Any]],
        reason: str,
        node: Node | None = None,
        *,
        origin: Origin = Origin(),  # noqa: B008
    ) -> tuple[Array, ...]:
        """Return the arrays that a new step gives."""
        output_facts = tuple((tuple(shape), numpy.dtype(dtype)) for shape, dtype in facts)
        operands = tuple(arrays_of(arguments))
        return cls(operands, function, tuple(arguments), output_facts, reason, node, origin=origin).outputs

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return what the function gives, as a tuple of C-contiguous arrays."""
        assert self.function is not None
        values = iter(operands)
        result = self.function(*(filled(argument, values) for argument in self.arguments))
        return tuple(numpy.asarray(array, order="C") for array in (result if isinstance(result, tuple) else (result,)))

    def label(self) -> str:
        """Return the function's name."""
        if self.form is not None:
            return self.form.label()
        if self.node is not None:
            return f"call of {self.node.kind}"
        return f"call of {getattr(self.function, '__name__', type(self.function).__name__)}"


def arrays_of(arguments: Iterable[Any]) -> Iterator[Array]:
    """Yield the arrays in the arguments of a call, in order."""
    for argument in arguments:
        if isinstance(argument, Array):
            yield argument
        elif isinstance(argument, tuple):
            yield from arrays_of(argument)


def filled(argument: Any, operands: Iterator[Any]) -> Any:
    """Return an argument of a call with the next operands in the places of its arrays."""
    if isinstance(argument, Array):
        return next(operands)
    if isinstance(argument, tuple):
        return tuple(filled(element, operands) for element in argument)
    return argument
