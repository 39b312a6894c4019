"""Runs the steps of a graph one by one, and frees what nobody reads any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minpy.core import dispatch
from minpy.core.default_attributes import with_attributes
from minpy.graph.gradient import VjpNode
from minpy.graph.ir import ANSWER, CONSTANT, Node, Value
from minpy.graph.locating import located
from minpy.graph.schedule import Steps

__all__ = ["ObservedName", "Observer", "Releasing", "interpret", "place_of", "read", "step_call"]

# Sees each step twice: with its inputs and None before it runs, and with its result, too, afterwards.
Observer = Callable[[Node, Sequence[Any], Any], None]


class ObservedName(str):
    """A name as users' callbacks get it: a string that can also be decoded, since what MXNet gives them is bytes.

    Examples
    --------
    >>> name = ObservedName('fc_output')
    >>> name == 'fc_output' == name.decode('utf-8')
    True
    """

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the name as a plain string; the encoding does not matter."""
        return str(self)


def interpret(
    part: Sequence[Node],
    env: dict[Node, Any],
    call_of: Callable[[Node], Callable[..., Any]],
    observers: Sequence[Observer],
    release: Callable[[int, Node], None] | None = None,
) -> None:
    """Run steps, and put their results into `env`; those that are there already are not computed.

    `env`: results by node. `call_of`: gives the function of a step. `release`: `release(number, node)` is called after
    each step.
    """
    for number, node in enumerate(part):
        if node in env:
            continue
        arguments = [read(env, value) for value in node.inputs]
        for observer in observers:
            observer(node, arguments, None)
        try:
            result = env[node] = call_of(node)(*arguments)
        except Exception as error:
            raise located(place_of(node), error)  # noqa: B904 - its traceback goes on to that of `error`
        for observer in observers:
            observer(node, arguments, result)
        if release is not None:
            release(number, node)


class Releasing:
    """Forgets results after the step that reads them last."""

    def __init__(self, steps: Steps, env: dict[Node, Any], start: int) -> None:
        self._steps = steps
        self._env = env
        self._start = start

    def __call__(self, number: int, node: Node) -> None:
        number += self._start
        for source in dict.fromkeys(value.node for value in node.inputs):
            if source.operator is not None:
                self._release(source, number)
        self._release(node, number)

    def _release(self, node: Node, number: int) -> None:
        env, last = self._env, self._steps.last_uses
        result = env.get(node)
        if isinstance(result, tuple):
            ends = [self._steps.part_end(node, index, -1) for index in range(len(result))]
            env[node] = tuple(part if end > number else None for part, end in zip(result, ends, strict=True))
            if not any(end > number for end in ends):
                del env[node]
        elif max(last.get(Value(node, ANSWER), -1), last.get(Value(node), -1)) <= number:
            env.pop(node, None)


def read(env: Mapping[Node, Any], value: Value) -> Any:
    """Return a value from the results by node."""
    result = env[value.node]
    return result[value.index] if isinstance(result, tuple) and value.index != ANSWER else result


def step_call(node: Node) -> Callable[..., Any]:
    """Return the function from the raw inputs of a node to its raw result."""
    operator, attributes = node.operator, node.attributes
    if operator is CONSTANT:
        return lambda: attributes["value"]
    if isinstance(operator, VjpNode):
        return operator.forward
    if not operator.builtin:
        return lambda *buffers: dispatch.run(operator, buffers, attributes)
    if operator.keeps_dtype:
        return lambda *buffers: dispatch.run_keeping_dtype(operator, buffers, attributes)
    if attributes:
        return with_attributes(operator.forward, attributes)
    forward: Callable[..., Any] = operator.forward
    return forward


def place_of(node: Node) -> str:
    """Return which node of the user's graph a step belongs to, for use in a message."""
    if isinstance(node.operator, VjpNode):
        return f"backward of {node.operator.node.described()}"
    return node.described()
