"""`Facts`: the shapes and dtypes of the values of a graph that is being traced, as far as they follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from minpy.core.array import raw_of
from minpy.core.errors import NotTraceableError
from minpy.core.source_lines import place_in_program
from minpy.gluon.parameter.unknown_shapes import is_complete
from minpy.graph.inference import infer_dtypes, infer_shapes, shapes_returned
from minpy.graph.ir import Node, Value
from minpy.ops.inference.partial_shapes import is_known
from minpy.symbol import Symbol

__all__ = ["Facts"]


class Facts:
    """What is known of values: of variables because it was said, of others because it was inferred."""

    def __init__(self, block_name: str, parameters: Mapping[str, Any]) -> None:
        self._block_name = block_name
        self._parameters = parameters  # of the block and of all inside, by name: what is said of them is known
        self.shapes: dict[Value, Any] = {}
        self.dtypes: dict[Value, Any] = {}

    def know(self, variable: Symbol, array: Any) -> None:
        """Note the shape and dtype of what a variable stands for."""
        buffer = raw_of(array)
        self.shapes[variable.values[0]], self.dtypes[variable.values[0]] = buffer.shape, buffer.dtype

    def of(self, symbol: Symbol) -> tuple[tuple[int, ...], numpy.dtype]:
        """Return the shape and dtype of a value; refuse one of which they cannot be inferred."""
        (value,) = symbol.values
        if value not in self.shapes or value not in self.dtypes:
            self.infer(symbol)
        shape, dtype = self.shapes.get(value), self.dtypes.get(value)
        if shape is None or dtype is None:
            raise NotTraceableError(
                f"{self._block_name}: at {place_in_program()} the shape of {symbol.name} is asked for, and it does not "
                "follow from what is known: it may depend on values, or on a parameter whose shape is not known yet "
                "(give in_units, in_channels)."
            )
        return tuple(shape), numpy.dtype(dtype)

    def run(self, node: Node) -> None:
        """Have the operator of a node trace its function, or run it, if the shapes of its inputs are known.

        It learns how many arrays that returns.
        """
        for value in node.inputs:
            if value not in self.shapes or value not in self.dtypes:
                self.infer(Symbol([value]))
        input_facts = [(self.shapes.get(value), self.dtypes.get(value)) for value in node.inputs]
        if all(shape is not None and dtype is not None for shape, dtype in input_facts):
            shapes_returned(node, input_facts)

    def infer(self, symbol: Symbol) -> None:
        """Find the shapes and dtypes that a symbol, and all that it is made of, has, as far as they are known."""
        for node in symbol.order:
            parameter = self._parameters.get(node.name) if node.operator is None else None
            if parameter is not None and Value(node) not in self.shapes:
                self.dtypes[Value(node)] = numpy.dtype(parameter.dtype)
                if is_complete(parameter._shape):
                    self.shapes[Value(node)] = parameter._shape
        origin = "of the array that is given"
        dtypes = infer_dtypes(symbol.order, [(self.dtypes, origin)]).known
        shapes = infer_shapes(symbol.order, [(self.shapes, origin)], dtypes).known
        self.dtypes.update(dtypes)
        self.shapes.update((value, shape) for value, shape in shapes.items() if is_known(shape))
