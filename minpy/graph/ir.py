"""The intermediate representation of graphs: nodes, which are calls of operators or variables, and their values.

Symbols, hybridized blocks and staged gradient rules are all made of these. A graph is named by the values at its end:
whatever they do not depend on is not part of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minpy.core.operator import Operator
from minpy.core.output_counts import LearnedOutputs, returns_tuple_of_one

__all__ = ["ANSWER", "CONSTANT", "Node", "Value", "constant", "consumers", "topological", "variable", "variables"]


ANSWER = -1


class Node:
    """A call of an operator, or a variable.

    `operator`: None: a variable. `attributes`: the operator's attributes, as Python values. `kind`: the name under
    which the operator was called; by default its own. `annotations`: what users note at a node, such as `__lr_mult__`.
    """

    __slots__ = ("__weakref__", "annotations", "attributes", "inputs", "kind", "name", "operator", "outputs_expected")

    def __init__(
        self,
        operator: Any,
        inputs: Sequence[Value] = (),
        attributes: Mapping[str, Any] | None = None,
        name: str = "",
        kind: str | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.operator = operator
        self.inputs = tuple(inputs)
        self.attributes = dict(attributes or {})
        self.name = name
        self.kind = kind if kind is not None else "null" if operator is None else operator.__name__
        self.annotations = dict(annotations or {})
        # What the node was said to have when it was made, of a function whose outputs are learned: it does not change.
        self.outputs_expected: list[str] | None = None

    def __repr__(self) -> str:
        if self.operator is None:
            return f"<variable {self.name}>"
        return f"<{self.name} = {self.kind}({', '.join(map(repr, self.inputs))})>"

    @property
    def is_variable(self) -> bool:
        """Whether the node is a variable: its value is given from outside."""
        return self.operator is None

    def input_names(self) -> list[str]:
        """Return what the operator calls its inputs."""
        names: list[str] = self.operator.input_names(self.attributes, len(self.inputs))
        names += self.operator.argument_names(len(self.inputs))[len(names) :]
        return names

    def output_names(self) -> list[str]:
        """Return what the operator calls its outputs, those that callers see."""
        if self.operator is None:
            return ["output"]
        if self.outputs_expected is not None:
            return self.outputs_expected
        names: list[str] = self.operator.output_names(self.attributes)
        if type(self.operator.outputs) is LearnedOutputs:
            self.outputs_expected = names
        return names

    @property
    def returns_tuple(self) -> bool:
        """Whether the operator returns a tuple of what callers see: a user's function may do so for one output."""
        return len(self.output_names()) > 1 or returns_tuple_of_one(self.operator, self.attributes)

    def auxiliary_inputs(self) -> Iterator[Value]:
        """Yield the inputs that are states of the operator."""
        if self.operator is not None and self.operator.auxiliary:
            for name, value in zip(self.input_names(), self.inputs, strict=False):  # inference says where it differs
                if name in self.operator.auxiliary:
                    yield value

    def shown_attributes(self) -> dict[str, Any]:
        """Return the attributes that say what the node does: those of a custom operator are its prop's parameters."""
        parameters: dict[str, Any] | None = getattr(self.operator, "parameters", None)
        return self.attributes if parameters is None else parameters

    def described(self) -> str:
        """Return name, operator and attributes, for use in a message."""
        if self.operator is None:
            return f"variable {self.name!r}"
        attributes = "".join(f", {name}={value}" for name, value in self.attributes.items() if name != "training")
        return f"node {self.name!r} ({self.kind}{attributes})"


class Value(NamedTuple):
    """One output of a node; or, with the index `ANSWER`, all that its operator's forward function returned."""

    node: Node
    index: int = 0  # type: ignore[assignment]  # hides the method of tuples, which has no use here

    def __repr__(self) -> str:
        return self.node.name if self.index == 0 else f"{self.node.name}[{self.index}]"


def _value_of_constant(*, value: Any) -> Any:
    """Return a value that was known when the graph was made."""
    return value


CONSTANT = Operator(_value_of_constant, name="_constant", builtin=True)
_counter = itertools.count()


def constant(value: Any) -> Value:
    """Return a value that is known when the graph is made: a number or an array."""
    return Value(Node(CONSTANT, (), {"value": value}, f"constant{next(_counter)}"))


def variable(name: str, **annotations: str) -> Value:
    """Return the value of a new variable."""
    return Value(Node(None, (), {}, name, annotations=annotations))


def topological(outputs: Iterable[Value]) -> list[Node]:
    """Return the nodes that the outputs depend on, each after its inputs, in the order of a depth-first walk.

    Examples
    --------
    >>> from minpy.ops.registry import OPERATORS
    >>> x = variable('x')
    >>> y = Value(Node(OPERATORS['tanh'], [x], name='y'))
    >>> topological([y])
    [<variable x>, <y = tanh(x)>]
    """
    order: list[Node] = []
    seen: set[Node] = set()
    for output in outputs:
        if output.node in seen:
            continue
        seen.add(output.node)
        stack = [(output.node, iter(output.node.inputs))]
        while stack:
            node, inputs = stack[-1]
            for value in inputs:
                if value.node not in seen:
                    seen.add(value.node)
                    stack.append((value.node, iter(value.node.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def variables(order: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    """Return (arguments, auxiliary states) among the variables of a graph in topological order."""
    order = list(order)
    states = {value.node for node in order for value in node.auxiliary_inputs()}
    every = [node for node in order if node.operator is None]
    return [node for node in every if node not in states], [node for node in every if node in states]


def consumers(order: Iterable[Node]) -> dict[Value, list[Node]]:
    """Return which nodes read each value."""
    readers: dict[Value, list[Node]] = {}
    for node in order:
        for value in node.inputs:
            readers.setdefault(value, []).append(node)
    return readers
