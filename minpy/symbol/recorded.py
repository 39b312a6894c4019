"""What was recorded on the tape, as a symbol: `autograd.get_symbol`."""

from __future__ import annotations

from typing import Any

from minpy.core.array import Array
from minpy.core.backward import require_recorded
from minpy.core.errors import ArgumentError
from minpy.core.nodes import Leaf, Output
from minpy.core.operator import Operator
from minpy.core.tape import reachable
from minpy.graph.ir import Node, Value, constant, variable
from minpy.symbol.naming import NameManager
from minpy.symbol.symbol import Symbol

__all__ = ["recorded_symbol"]


def recorded_symbol(array: Array) -> Symbol:
    """Return the computation that led to a recorded array, as a symbol. See `minpy.autograd.get_symbol`."""
    head = require_recorded(array, "autograd.get_symbol")
    names = NameManager()
    values: dict[Any, Any] = {}
    for node in reversed(reachable([head])):
        if type(node) is Leaf:
            values[node] = variable(names.get(None, "var"))
        elif type(node) is Output:
            assert node.parents is not None
            values[node] = Value(values[node.parents[0]].node, node.index)
        else:
            values[node] = Value(_node(node, values, names))
    return Symbol([values[head]])


def _node(recorded: Any, values: dict[Any, Any], names: NameManager) -> Node:
    operator = recorded.operator
    if not isinstance(operator, Operator):
        raise ArgumentError(
            f"autograd.get_symbol: the array depends on {operator.__name__}, which is no operator that a symbol can "
            "hold. Compute it with operators of minpy.nd, or a @customop."
        )
    inputs = []
    count = len(recorded.parents)
    wanted = operator.input_names(recorded.attributes, count)
    for name, parent, value in zip(operator.argument_names(count), recorded.parents, recorded.arguments, strict=True):
        if parent is None and name in operator.signature.defaults and name not in wanted:
            continue
        if parent is not None:
            inputs.append(values[parent])
        elif isinstance(value, (int, float, complex)):
            inputs.append(constant(value))
        else:
            inputs.append(variable(names.get(None, "var")))
    attributes = {name: value for name, value in recorded.attributes.items() if name != "training"}
    kind = operator.__name__
    return Node(operator, inputs, attributes, names.get(None, kind.lower()), kind)
