"""Scopes of `autograd` inside a block that is traced: what they mean for the symbols that are made in them.

While a block is traced, the flags of recording and training are numbers; a scope inside sets booleans, and so is told
from what the block was called in.
"""

from __future__ import annotations

from minpy.core.state import questions, state, tracing
from minpy.graph.ir import Node, Value
from minpy.ops.registry import OPERATORS

__all__ = ["in_modes"]


def in_modes(values: list[Value]) -> list[Value]:
    """Return the outputs of a new node as the scopes have them that it is made in: constants in `autograd.pause()`.

    Raises
    ------
    NotTraceableError
        If its operator depends on the mode, and a scope sets another than the graph is in.
    """
    modes = tracing.modes
    if modes is None:
        return values
    if type(state.training) is bool:
        questions.training = True
        operator = values[0].node.operator
        if getattr(operator, "uses_training", False) and state.training != modes.training:
            modes.refuse(operator.__name__)
    if state.recording is not False:
        return values
    block_grad = OPERATORS["BlockGrad"]
    return [
        Value(Node(block_grad, [value], {}, f"{value.node.name}_paused{index}", "BlockGrad"))
        for index, value in enumerate(values)
    ]
