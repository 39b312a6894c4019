"""`Subgraph`: a graph inside a node, which is run as compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.graph.compiled import Compiled, ValueFacts, infer_from_arrays
from minpy.graph.frame import Frame, start
from minpy.graph.inference import infer_dtypes, infer_shapes
from minpy.graph.ir import Node, Value, topological
from minpy.graph.program import Program
from minpy.symbol.symbol import Symbol

__all__ = ["Subgraph", "is_same"]


class Subgraph:
    """A graph inside a node, and where its inputs come from.

    Parameters
    ----------
    symbol : Symbol
    sources : sequence of int
        For each of its variables, in the order of the graph, the position of the node's input that it is.
    """

    def __init__(self, symbol: Symbol, sources: Sequence[int]) -> None:
        self.symbol = symbol
        self.sources = tuple(sources)
        self.order = topological(symbol.values)
        self.variables = [node for node in self.order if node.operator is None]
        self.compiled = Compiled(symbol.values)
        states = set(self.compiled.states)
        self.states = {position for position, node in enumerate(self.variables) if node in states}
        position = {node: index for index, node in enumerate(self.variables)}
        self._positions = [position[node] for node in self.compiled.variables]
        operators = [node.operator for node in self.order if node.operator is not None]
        # Whether it may give something else when it runs again.
        self.varies = bool(states) or any(operator.random or not operator.builtin for operator in operators)
        self.starts_gradients = any(operator.starts_gradients for operator in operators)

    def inputs_of(self, raws: Sequence[Any]) -> list[Any]:
        """Return its inputs, from those of the node."""
        return [raws[source] for source in self.sources]

    def facts_of(self, arrays: Sequence[Any]) -> ValueFacts:
        """Return the shapes and dtypes of its values, from arrays for its variables, or what has shapes as they do."""
        return infer_from_arrays(self.order, self.variables, arrays, "of the array that is given")

    def program(self, arrays: Sequence[Any], training: bool, requests: Mapping[Node, str] | None) -> Program:
        """Return the program for such arrays."""
        return self.compiled.program(self._in_order(arrays), training, requests)

    def differentiated(self, program: Program, arrays: Sequence[Any], requests: Mapping[Node, str]) -> Program:
        """Return a program of the same forward part that gives other gradients."""
        return self.compiled.with_gradients(program, self._in_order(arrays), requests)

    def start(self, program: Program, arrays: Sequence[Any]) -> tuple[list[numpy.ndarray], Frame]:
        """Run the program; return its heads, and the frame for its backward."""
        heads, frame = start(program, self._in_order(arrays))
        return [*map(_contiguous, heads)], frame

    def move(self, frame: Frame, arrays: Sequence[Any]) -> None:
        """Let a frame go on with arrays of the same values as it was started with; with its own where there is None."""
        frame.move(self._in_order(arrays))

    def _in_order(self, arrays: Sequence[Any]) -> list[Any]:
        return [arrays[position] for position in self._positions]

    # -- inference -------------------------------------------------------------------------------------------------

    def infer_shapes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what is known of its variables' and heads' shapes, from what is known of them."""
        return self._inferred(lambda facts: infer_shapes(self.order, facts).known, inputs, outputs)

    def infer_dtypes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return what is known of its variables' and heads' dtypes, from what is known of them."""
        return self._inferred(lambda facts: infer_dtypes(self.order, facts).known, inputs, outputs)

    def _inferred(
        self, infer: Callable[[Any], Mapping[Value, Any]], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        variables = [*map(Value, self.variables)]
        heads = self.symbol.values
        facts = [
            ({value: fact}, f"{role} {index} of the node")
            for role, values, value_facts in (("input", variables, inputs), ("output", heads, outputs))
            for index, (value, fact) in enumerate(zip(values, value_facts, strict=True))
            if fact is not None
        ]
        inferred = infer(facts)
        return [inferred.get(value) for value in variables], [inferred.get(value) for value in heads]


def is_same(left: Any, right: Any) -> bool:
    """Tell whether two arrays are the same memory, seen in the same way."""
    return left is right or (
        left.shape == right.shape
        and left.dtype == right.dtype
        and left.strides == right.strides
        and left.__array_interface__["data"][0] == right.__array_interface__["data"][0]
    )


def _contiguous(array: Any) -> numpy.ndarray:
    array = numpy.asarray(array)
    return array if array.flags.c_contiguous else array.copy()
