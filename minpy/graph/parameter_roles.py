"""Which variables of a graph are parameters: what layers read as weights, biases, factors and statistics."""

from __future__ import annotations

from collections.abc import Iterable

from minpy.graph.ir import Node

__all__ = ["layer_parameters"]

# What layers call them; statistics are auxiliary inputs, whatever they are called.
_NAMES = frozenset(
    {
        *("weight", "bias", "gamma", "beta", "parameters"),
        *("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias"),
    }
)


def layer_parameters(order: Iterable[Node]) -> set[Node]:
    """Return the variables that are read as parameters of layers, and as nothing else.

    `order`: all nodes of a graph.

    Examples
    --------
    >>> from minpy import sym
    >>> layer = sym.FullyConnected(sym.var('data'), num_hidden=3, name='fc')
    >>> sorted(node.name for node in layer_parameters(layer.order))
    ['fc_bias', 'fc_weight']
    """
    parameters: set[Node] = set()
    data: set[Node] = set()
    for node in order:
        if node.operator is None:
            continue
        auxiliary = {value.node for value in node.auxiliary_inputs()}
        names = node.operator.argument_names(len(node.inputs))
        for value, name in zip(node.inputs, names, strict=False):
            if value.node.operator is None:
                is_parameter = name in _NAMES or value.node in auxiliary
                (parameters if is_parameter else data).add(value.node)
    return parameters - data
