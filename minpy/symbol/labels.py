"""Networks that end in a loss turned into networks that predict, without the labels that only training needs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from minpy.graph.ir import Node, Value
from minpy.ops.registry import find_operator
from minpy.symbol.symbol import Symbol

__all__ = ["label_names", "without_labels"]


def _softmax_predicted(attributes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if attributes.get("multi_output"):
        return "softmax", {"axis": 1}
    return ("softmax", {"axis": -1}) if attributes.get("preserve_shape") else ("SoftmaxActivation", {})


# Operators whose gradient is that of a loss: the operator, and its attributes, that compute what they predict.
_PREDICTS: dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "SoftmaxOutput": _softmax_predicted,
    "LogisticRegressionOutput": lambda attributes: ("sigmoid", {}),
    **dict.fromkeys(("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput"), lambda attributes: ("_copy", {})),
}


def label_names(symbol: Symbol) -> list[str]:
    """Return the names of the variables that are labels of output layers, and nothing else.

    Examples
    --------
    >>> from minpy import sym
    >>> label_names(sym.SoftmaxOutput(sym.FullyConnected(sym.var('data'), num_hidden=2), name='softmax'))
    ['softmax_label']
    """
    labels: dict[Node, None] = {}
    non_labels = {value.node for value in symbol.values}
    for node in symbol.order:
        for position, value in enumerate(node.inputs):
            if value.node.is_variable and position == 1 and node.operator.__name__ in _PREDICTS:
                labels[value.node] = None
            else:
                non_labels.add(value.node)
    return [node.name for node in labels if node not in non_labels]


def without_labels(symbol: Symbol, labels: Collection[str]) -> Symbol:
    """Return a graph in which output layers with these labels are what they predict: softmax, sigmoid, or the scores.

    Examples
    --------
    >>> from minpy import sym
    >>> net = sym.SoftmaxOutput(sym.FullyConnected(sym.var('data'), num_hidden=2, name='fc'), name='softmax')
    >>> without_labels(net, ['softmax_label']).list_arguments(), without_labels(net, []).list_arguments()
    (['data', 'fc_weight', 'fc_bias'], ['data', 'fc_weight', 'fc_bias', 'softmax_label'])
    """
    copies: dict[Node, Node] = {}
    for node in symbol.order:
        inputs = [Value(copies[value.node], value.index) for value in node.inputs]
        predicted = None if node.is_variable else _PREDICTS.get(node.operator.__name__)
        if predicted is not None and node.inputs[1].node.is_variable and node.inputs[1].node.name in labels:
            kind, attributes = predicted(node.attributes)
            copies[node] = Node(find_operator(kind), inputs[:1], attributes, node.name, kind, node.annotations)
        elif inputs == [*node.inputs]:
            copies[node] = node
        else:
            copies[node] = Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
    return Symbol([Value(copies[value.node], value.index) for value in symbol.values])
