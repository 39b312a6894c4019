"""Scopes of `autograd` inside a block that is traced: what they mean for the symbols that are made in them.

While a block is traced, the flags of recording and training are numbers; a scope inside sets booleans, and so is told
from what the block was called in.
"""

from __future__ import annotations

from minpy.core.state import questions, state, tracing
from minpy.graph.ir import Node, Value
from minpy.ops.registry import OPERATORS

__all__ = ["new_outputs"]


def new_outputs(node: Node) -> list[Value]:
    """Return the outputs of a new node as the scopes have them that it is made in: constants in `autograd.pause()`.

    Raises
    ------
    NotTraceableError
        If its operator depends on the mode, and a scope sets another than the graph is in.
    """
    modes = tracing.modes
    values = [Value(node, index) for index in range(len(node.output_names()))]
    if modes is None:
        return values
    if type(state.training) is bool:
        questions.training = True
        if getattr(node.operator, "uses_training", False) and state.training != modes.training:
            modes.refuse(node.operator.__name__)
    if state.recording is not False:
        return values
    block_grad = OPERATORS["BlockGrad"]
    return [
        Value(Node(block_grad, [value], {}, f"{node.name}_paused{index}", "BlockGrad"))
        for index, value in enumerate(values)
    ]
