"""Calls in a graph replaced by others that compute the same in less time, when the graph is lowered.

What users see of the graph, its names and its files, is as it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from minpy.graph.ir import Value
from minpy.ops.nn.class_log_probability import class_log_probability
from minpy.ops.registry import OPERATORS

__all__ = ["CANONICAL", "Call", "canonicalized"]


class Call(NamedTuple):
    """A node that is being lowered."""

    operator: Any
    inputs: list[Value]  # Lowered
    attributes: dict[str, Any]
    shapes: list[Any]  # of the inputs
    only_reader: bool  # whether nobody else reads the first input
    unchanged: bool  # whether the output has the dtype of the first input
    shape: Any  # of the output

    def attribute(self, name: str) -> Any:
        """Return an attribute, given or not."""
        return self.attributes.get(name, self.operator.signature.attributes[name].default)


def _class_log_probability(call: Call) -> Call | None:
    """`pick(log_softmax(x), labels)`: of the logarithms of all probabilities one is read."""
    node, last = call.inputs[0].node, len(call.shapes[0]) - 1
    if node.operator is not OPERATORS["log_softmax"] or not call.only_reader or last < 1 or len(node.inputs) != 1:
        return None
    inner = call._replace(operator=node.operator, attributes=node.attributes)
    if (
        not {call.attribute("axis"), inner.attribute("axis")} <= {-1, last}
        or call.attribute("mode") not in ("clip", "raise")
        or inner.attribute("temperature") not in (None, 1)
        or inner.attribute("dtype") is not None
        or inner.attribute("use_length")
    ):
        return None
    return call._replace(
        operator=class_log_probability,
        inputs=[node.inputs[0], call.inputs[1]],
        attributes={"keepdims": call.attribute("keepdims"), "mode": call.attribute("mode")},
    )


def _reduction_of_nothing(call: Call) -> Call | None:
    """A sum or a mean along axes of one element each."""
    if not call.unchanged or not call.shape or 0 in call.shape or prod(call.shapes[0]) != prod(call.shape):
        return None
    return call._replace(operator=OPERATORS["reshape"], attributes={"shape": call.shape})


# By operator, what may replace a call of it.
CANONICAL: dict[Any, Callable[[Call], Call | None]] = {
    OPERATORS["pick"]: _class_log_probability,
    OPERATORS["mean"]: _reduction_of_nothing,
    OPERATORS["sum"]: _reduction_of_nothing,
}


def canonicalized(call: Call) -> Call:
    """Return a call that computes the same, or the call itself."""
    return CANONICAL[call.operator](call) or call
