"""Graphs that end in losses, as what they predict: without the labels that only training needs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minpy.graph.ir import Node, Value
from minpy.ops.registry import find_operator
from minpy.symbol.symbol import Symbol

__all__ = ["label_names", "without_labels"]

# Operators whose gradient is that of a loss, and what they compute before that.
_PREDICTS = {
    "SoftmaxOutput": "softmax",
    "LinearRegressionOutput": "_copy",
    "MAERegressionOutput": "_copy",
    "LogisticRegressionOutput": "sigmoid",
    "SVMOutput": "_copy",
}


def label_names(symbol: Symbol) -> list[str]:
    """Return the names of the variables that are labels of output layers, and nothing else.

    Examples
    --------
    >>> from minpy import sym
    >>> label_names(sym.SoftmaxOutput(sym.FullyConnected(sym.var('data'), num_hidden=2), name='softmax'))
    ['softmax_label']
    """
    labels: dict[int, str] = {}
    others = {id(value.node) for value in symbol.values}
    for node in symbol.order:
        for position, value in enumerate(node.inputs):
            if value.node.is_variable and position == 1 and node.operator.__name__ in _PREDICTS:
                labels[id(value.node)] = value.node.name
            else:
                others.add(id(value.node))
    return [name for number, name in labels.items() if number not in others]


def without_labels(symbol: Symbol, labels: Collection[str]) -> Symbol:
    """Return a graph in which output layers with these labels are what they predict: softmax, sigmoid, or the scores.

    Examples
    --------
    >>> from minpy import sym
    >>> net = sym.SoftmaxOutput(sym.FullyConnected(sym.var('data'), num_hidden=2, name='fc'), name='softmax')
    >>> without_labels(net, ['softmax_label']).list_arguments(), without_labels(net, []).list_arguments()
    (['data', 'fc_weight', 'fc_bias'], ['data', 'fc_weight', 'fc_bias', 'softmax_label'])
    """
    made: dict[int, Node] = {}
    for node in symbol.order:
        if node.is_variable:
            made[id(node)] = node
            continue
        inputs = [Value(made[id(value.node)], value.index) for value in node.inputs]
        predicted = _PREDICTS.get(node.operator.__name__)
        if predicted is not None and node.inputs[1].node.is_variable and node.inputs[1].node.name in labels:
            kind, attributes = _prediction(predicted, node.attributes)
            made[id(node)] = Node(find_operator(kind), inputs[:1], attributes, node.name, kind, node.annotations)
        elif all(value.node is one.node for value, one in zip(inputs, node.inputs, strict=True)):
            made[id(node)] = node
        else:
            made[id(node)] = Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
    return Symbol([Value(made[id(value.node)], value.index) for value in symbol.values])


def _prediction(kind: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return (operator, attributes) of what an output layer with these attributes predicts."""
    if kind != "softmax":
        return kind, {}
    if given.get("multi_output"):
        return "softmax", {"axis": 1}
    if given.get("preserve_shape"):
        return "softmax", {"axis": -1}
    return "SoftmaxActivation", {}
