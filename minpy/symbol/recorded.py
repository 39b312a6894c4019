"""`autograd.get_symbol`: a computation that was recorded on the tape, as a symbol."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.backward import require_recorded
from minpy.core.errors import ArgumentError
from minpy.core.nodes import Leaf, Output
from minpy.core.operator import Operator
from minpy.core.tape_walk import reachable
from minpy.graph.ir import Node, Value, constant, variable
from minpy.graph.recording import GraphOperator
from minpy.ops.registry import find_operator
from minpy.symbol.creation import scalar_kind
from minpy.symbol.naming import NameManager
from minpy.symbol.symbol import Symbol

__all__ = ["number_as_written", "recorded_symbol"]


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
            parent = values[node.parents[0]]
            values[node] = parent[node.index] if isinstance(parent, list) else Value(parent.node, node.index)
        elif isinstance(getattr(node, "operator", None), GraphOperator):
            heads = _inside(node, values, names)
            values[node] = heads if len(heads) > 1 else heads[0]
        else:
            values[node] = Value(_node(node, values, names))
    return Symbol([values[head]])


def _inside(recorded: Any, values: dict[Any, Any], names: NameManager) -> list[Value]:
    """Return the outputs of a graph that was called as one operator, such as that of a hybridized block.

    Its nodes keep their names, with a number if it is called once more; what it was called with are its variables.
    """
    compiled = recorded.operator.compiled
    became: dict[Value, Value] = {}
    for node, parent in zip(compiled.variables, recorded.parents, strict=False):  # the call's frame is the last parent
        became[Value(node)] = variable(names.get(None, "var")) if parent is None else values[parent]
    number = names.get(None, "")
    suffix = "" if number == "0" else f"_{number}"
    for node in compiled.order:
        if node.operator is None:
            continue
        inputs = [became[value] for value in node.inputs]
        copied = Node(node.operator, inputs, node.attributes, f"{node.name}{suffix}", node.kind, node.annotations)
        became |= {Value(node, index): Value(copied, index) for index in range(len(node.output_names()))}
    return [became[head] for head in compiled.outputs]


def _with_number(recorded: Any) -> tuple[str, Any, float] | None:
    """Return (the operator that MXNet has for it, the parent, the number) for a call on an array and a number."""
    if len(recorded.parents) != 2 or None not in recorded.parents:
        return None
    right = recorded.parents[1] is None
    value, kind = recorded.arguments[right], scalar_kind(recorded.operator, right)
    number = number_as_written(value, recorded.dtype)
    return None if number is None or kind is None else (kind, recorded.parents[not right], number)


def number_as_written(value: Any, dtype: Any) -> float | None:
    """Return a number as files hold it: one that was rounded to the array's dtype in as few digits as that has."""
    if isinstance(value, numpy.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, numpy.floating) and value.dtype == dtype:
        return float(str(value))
    return float(value) if isinstance(value, (int, float, numpy.floating, numpy.integer, numpy.bool_)) else None


def _node(recorded: Any, values: dict[Any, Any], names: NameManager) -> Node:
    operator = recorded.operator
    if not isinstance(operator, Operator):
        raise ArgumentError(
            f"autograd.get_symbol: the array depends on {operator.__name__}, which is no operator that a symbol can "
            "hold. Compute it with operators of minpy.nd, or a @customop."
        )
    simpler = _with_number(recorded)
    if simpler is not None:
        kind, parent, number = simpler
        hint = kind.replace("_scalar", "scalar")
        return Node(find_operator(kind), [values[parent]], {"scalar": number}, names.get(None, hint), kind)
    inputs = []
    count = len(recorded.parents)
    names_of_inputs = operator.input_names(recorded.attributes, count)
    for name, parent, value in zip(operator.argument_names(count), recorded.parents, recorded.arguments, strict=True):
        if parent is None and name in operator.signature.defaults and name not in names_of_inputs:
            continue
        if parent is not None:
            inputs.append(values[parent])
        elif isinstance(value, complex) or number_as_written(value, recorded.dtype) is not None:
            inputs.append(constant(value))
        else:
            inputs.append(variable(names.get(None, "var")))
    attributes = {name: value for name, value in recorded.attributes.items() if name != "training"}
    kind = operator.__name__
    return Node(operator, inputs, attributes, names.get(None, kind.lower()), kind)
