"""Parts of programs as Python source: functions made of lines, each of which knows the step that it runs.

The source of a part is a function inside `make`, which takes what the source names: operators, constants, views of
buffers. So `make` is compiled once, and each context has a function with objects of its own (`ContextConstant`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy

from minpy.backends.protocol import StepCalls
from minpy.graph.ir import Node

__all__ = ["ContextConstant", "Line", "NodeCall", "SourcePart", "StridedView", "words"]

# A line, the node whose step it is, and a comment on it.
Line = tuple[str, Node | None, str]


class ContextConstant:
    """A constant of a part that is a different object in each context."""

    __slots__ = ()

    def bind(self, calls: StepCalls, memory: Any) -> Any:
        """Return the object of one context, with the functions of its steps and its memory."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class NodeCall(ContextConstant):
    """The function of a node's step."""

    node: Node

    def bind(self, calls: StepCalls, memory: Any) -> Any:
        """Return the function."""
        return calls(self.node)


@dataclass(frozen=True, slots=True)
class StridedView(ContextConstant):
    """A view of one of a context's buffers, at an offset in bytes."""

    offset: int
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]
    buffer: int = 0

    def bind(self, calls: Any, memory: Any) -> numpy.ndarray:
        """Return the view."""
        return numpy.ndarray(self.shape, self.dtype, memory.buffers[self.buffer], self.offset, self.strides)


class SourcePart:
    """A part of a program as source.

    Parameters
    ----------
    name : str
        Of its function, such as 'forward'.
    parameters : sequence of str
    constants : mapping of str to object
        What its source may name: those that it does name are kept.
    body : sequence of (str, Node or None, str)
        Its lines.
    unpacked : mapping of str to sequence of str, optional
        The names of the elements of parameters: what the body names is unpacked.
    before : sequence of str
        Lines before that.

    Attributes
    ----------
    source : str
    constants : dict of str to object
    lines : list of (str, Node or None, str)
        All lines of the function.

    Examples
    --------
    >>> lines = [('y = x + one', None, 'adds'), ('return y', None, '')]
    >>> part = SourcePart('forward', ['arrays'], {'one': 1, 'two': 2}, lines, {'arrays': ['x']})
    >>> part.function(part.constants.values())([41])
    42
    >>> print(part.described())
    def make(one):
        def forward(arrays):
            x, = arrays
            y = x + one                                          # adds
            return y
        return forward
    """

    title = "minpy program"

    def __init__(
        self,
        name: str,
        parameters: Sequence[str],
        constants: Mapping[str, Any],
        body: Sequence[Line],
        unpacked: Mapping[str, Sequence[str]] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.parameters = list(parameters)
        used = {word for line in (*before, *(line for line, _, _ in body)) for word in words(line)}
        first = [*before]
        for parameter, names in (unpacked or {}).items():
            if names and used.issuperset(names):
                first.append(f"{', '.join(names)}, = {parameter}")
            else:
                first += [f"{element} = {parameter}[{index}]" for index, element in enumerate(names) if element in used]
        self.lines: list[Line] = [*((line, None, "") for line in first), *body] or [("return", None, "")]
        self.constants = {key: value for key, value in constants.items() if key in used}
        lines: list[Line] = [
            (f"def make({', '.join(self.constants)}):", None, ""),
            (f"    def {name}({', '.join(parameters)}):", None, ""),
            *((f"        {line}", node, note) for line, node, note in self.lines),
            (f"    return {name}", None, ""),
        ]
        self.source = "\n".join(line for line, _, _ in lines) + "\n"
        self._nodes = {number: node for number, (_, node, _) in enumerate(lines, 1) if node is not None}
        self._notes = [note for _, _, note in lines]
        scope: dict[str, Any] = {}
        exec(compile(self.source, f"<{self.title}, {name}>", "exec"), scope)
        self._make = scope.pop("make")
        (self._code,) = (constant for constant in self._make.__code__.co_consts if isinstance(constant, CodeType))

    def function(self, values: Iterable[Any]) -> Callable[..., Any]:
        """Return the function that refers to these objects: one for each of `constants`, in their order."""
        function: Callable[..., Any] = self._make(*values)
        return function

    def bind(self, calls: StepCalls, memory: Any) -> Callable[..., Any]:
        """Return the function of one context."""
        return self.function(
            value.bind(calls, memory) if isinstance(value, ContextConstant) else value
            for value in self.constants.values()
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.parameters, self.constants, self.lines)

    def step_of(self, error: BaseException) -> Node | None:
        """Return the node at whose line an error was raised; None if it was raised elsewhere."""
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code is self._code and line in self._nodes:
                return self._nodes[line]
        return None

    def described(self) -> str:
        """Return the source with what each line does."""
        rows = zip(self.source.splitlines(), self._notes, strict=True)
        return "\n".join(f"{line:<60} # {note}" if note else line for line, note in rows)


def words(line: str) -> list[str]:
    """Return the names in a line of source, and what else looks like one.

    >>> words("y = f(x, k1)[0]")
    ['y', 'f', 'x', 'k1', '0']
    """
    return "".join(character if character.isalnum() or character == "_" else " " for character in line).split()
