"""The partitioners and passes of `native/gluon_optimizing.cc`, in Python, under other names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy

import minpy as mx

__all__ = ["OPERATOR", "PREFIX", "register"]

PREFIX = "pyopt_"
OPERATOR = "_pyopt_elementwise"


def note(line: str) -> None:
    """Write a line to the log, if there is one."""
    path = os.environ.get("GLUON_OPTIMIZING_LOG")
    if path is not None:
        with open(path, "a") as file:
            file.write(line + "\n")


def described(options: Mapping[str, Any]) -> str:
    return "".join(f" {key}={options[key]}" for key in sorted(options))


def arrays_of(graph: Any) -> str:
    found = []
    for node in graph.variables:
        shape = "none" if node.array is None else f"({','.join(map(str, node.array.shape))})"
        found.append(f" {node.name}:{shape}")
    return "".join(found)


def layers(graph: Any) -> list[Any]:
    return [node for node in graph.nodes if node.op == "FullyConnected"]


def scale(graph: Any, **options: Any) -> None:
    """Multiply what each fully connected layer computes by a new parameter."""
    note(f"pass {PREFIX}scale{described(options)} |{arrays_of(graph)}")
    for layer in layers(graph):
        factor = graph.add_argument(f"{layer.name}_scale", numpy.full(1, float(options.get("value", 2)), "float32"))
        graph.replace(layer, graph.add_node("broadcast_mul", f"{layer.name}_scaled", [layer, factor]))


def mean(graph: Any, **options: Any) -> None:
    """Give batch normalizations a moving mean of one's own, of ones."""
    note(f"pass {PREFIX}mean{described(options)} |{arrays_of(graph)}")
    for node in graph.nodes:
        if node.op == "BatchNorm":
            shape = node.inputs[3].node.array.shape
            node.inputs[3] = (graph.add_auxiliary(f"{node.name}_new_mean", numpy.ones(shape, "float32")), 0)


def no_bias(graph: Any, **options: Any) -> None:
    """Take the biases of fully connected layers away."""
    note(f"pass {PREFIX}no_bias{described(options)} |{arrays_of(graph)}")
    for layer in layers(graph):
        del layer.inputs[2:]
        layer.attrs["no_bias"] = "True"


def exchange(graph: Any, from_op: str = "exp", to_op: str = "sin", **options: Any) -> None:
    """Exchange an operator."""
    note(f"pass {PREFIX}exchange{described({'from_op': from_op, 'to_op': to_op, **options})} |{arrays_of(graph)}")
    for node in graph.nodes:
        if node.op == from_op:
            node.op = to_op


def double(graph: Any, **options: Any) -> None:
    """Double the weights in place."""
    note(f"pass {PREFIX}double{described(options)} |{arrays_of(graph)}")
    for node in graph.variables:
        if node.array is not None and node.name.endswith("weight"):
            node.array[:] = node.array * 2


def refuse(graph: Any, **options: Any) -> None:
    """Fail."""
    note(f"pass {PREFIX}refuse{described(options)} |{arrays_of(graph)}")
    raise RuntimeError("this graph is refused")


def _register_partitioner(name: str, operators: list[str], operator: str) -> None:
    class Chosen(mx.graph.Selector):
        def __init__(self, graph: Any, **options: Any) -> None:
            note(f"supported {PREFIX}{name}{described(options)}")

        def select(self, node: Any) -> bool:
            return node.op in operators

        def select_input(self, node: Any, input: Any) -> bool:
            return input.op in operators

        def select_output(self, node: Any, output: Any) -> bool:
            return output.op in operators

    partitioner = mx.graph.register_partitioner(PREFIX + name, Chosen, operator=operator, replace=True)

    @partitioner.review
    def review(graph: Any, number: int, **options: Any) -> Any:
        note(f"review {number}{described(options)} |{arrays_of(graph)}")
        return {"reviewed": "yes"} if "reject" not in options else False


def register() -> None:
    """Register all of them."""
    for function in (scale, mean, no_bias, exchange, double, refuse):
        mx.graph.register_pass(PREFIX + function.__name__, function, replace=True)
    _register_partitioner("exp", ["exp", "log"], f"{OPERATOR}_exp")
    _register_partitioner("sin", ["sin", "elemwise_add", "elemwise_mul"], f"{OPERATOR}_sin")
