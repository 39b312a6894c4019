"""The gradient of a symbol as a symbol: one node, which runs the graph forward and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.attributes import Signature
from minpy.core.base import DTypes, Shapes
from minpy.core.errors import ArgumentError, describe, nearest
from minpy.core.operator import Operator
from minpy.graph.inference import infer_dtypes, infer_shapes
from minpy.graph.ir import Node, Value, variables
from minpy.graph.program import Program, build_program
from minpy.ops.inference.partial_shapes import complete
from minpy.symbol.naming import current_names
from minpy.symbol.symbol import Symbol

__all__ = ["gradient_symbol"]


class _GraphGradient(Operator):
    """Takes what the variables of a graph are, to the gradients of the sum of its outputs."""

    def __init__(self, symbol: Symbol, wrt: Sequence[str]) -> None:
        self.symbol = symbol
        self.wrt = list(wrt)
        arguments, states = variables(symbol.order)
        self.nodes = [*arguments, *states]
        self._count = len(arguments)
        names = tuple(node.name for node in self.nodes)
        super().__init__(
            self._compute,
            name="_gradient",
            builtin=True,
            signature=Signature(names, {}, {}),
            auxiliary=[node.name for node in states],
        )
        self.positions = [names.index(name) for name in wrt]
        self.outputs = [f"output{index}" for index in range(len(wrt))] if len(wrt) > 1 else ["output"]
        self._programs: dict[Any, Program] = {}
        self.def_infer_shape(self._infer_shapes)
        self.def_infer_type(self._infer_dtypes)

    def fresh(self) -> _GraphGradient:
        """Return the same operator with programs of its own: what runs at the same time must not share them."""
        return _GraphGradient(self.symbol, self.wrt)

    def _infer_shapes(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        given = {Value(node): shape for node, shape in zip(self.nodes, inputs, strict=True) if shape is not None}
        known = infer_shapes(self.symbol.order, [(given, "given")]).known
        found = [known.get(Value(node)) for node in self.nodes]
        return found, [found[position] for position in self.positions]

    def _infer_dtypes(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        given = {Value(node): dtype for node, dtype in zip(self.nodes, inputs, strict=True) if dtype is not None}
        known = infer_dtypes(self.symbol.order, [(given, "given")]).known
        found = [known.get(Value(node)) for node in self.nodes]
        return found, [found[position] for position in self.positions]

    def _compute(self, *arrays: numpy.ndarray) -> Any:
        arrays = (*arrays[: self._count], *(state.copy() for state in arrays[self._count :]))
        program = self._program(arrays)
        heads = program.run_forward(arrays)
        wanted = [self.nodes[position] for position in self.positions]
        buffers = {node: numpy.empty_like(arrays[self.nodes.index(node)], order="C") for node in wanted}
        program.run_backward(arrays, [numpy.ones(numpy.shape(head), head.dtype) for head in heads], buffers)
        found = tuple(buffers[node] for node in wanted)
        return found if len(found) > 1 else found[0]

    def _program(self, arrays: Sequence[numpy.ndarray]) -> Program:
        key = tuple((array.shape, array.dtype) for array in arrays)
        known = self._programs.get(key)
        if known is None or not known.is_current():
            order = self.symbol.order
            values = [Value(node) for node in self.nodes]
            given = {value: array.dtype for value, array in zip(values, arrays, strict=True)}
            dtypes = infer_dtypes(order, [(given, "given")]).known
            lengths = {value: array.shape for value, array in zip(values, arrays, strict=True)}
            shapes = infer_shapes(order, [(lengths, "given")], dtypes).known
            assert complete([shapes.get(value) for value in self.symbol.values])
            requests = dict.fromkeys((self.nodes[position] for position in self.positions), "write")
            self._programs[key] = build_program(self.symbol.values, self.nodes, shapes, dtypes, True, requests)
        return self._programs[key]


def gradient_symbol(symbol: Symbol, wrt: Sequence[str]) -> Symbol:
    """Return the symbol of the gradients of the outputs' sum with respect to some arguments.

    Parameters
    ----------
    symbol : Symbol
    wrt : sequence of str
        Names of arguments.

    Returns
    -------
    Symbol
        With one output for each name, and the inputs of `symbol`. It computes as in training, but leaves auxiliary
        states as they are; it cannot be saved.

    Raises
    ------
    ArgumentError
        For names that are no arguments.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x')
    >>> (x * x).gradient(['x']).eval(x=mx.nd.array([1, 2]))[0].asnumpy()
    array([2., 4.], dtype=float32)
    """
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    known = symbol.list_arguments()
    if not names:
        raise ArgumentError(f"{symbol!r}.gradient: no names are given; its arguments are {', '.join(known)}.")
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"{symbol!r}.gradient: there is no argument {describe(name) if not isinstance(name, str) else name!r}; "
                f"its arguments are {', '.join(known)}.{nearest(str(name), known)}"
            )
    operator = _GraphGradient(symbol, names)
    node = Node(operator, [Value(one) for one in operator.nodes], {}, current_names().get(None, "gradient"))
    return Symbol([Value(node, index) for index in range(len(names))])
