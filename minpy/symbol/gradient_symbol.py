"""The gradient of a symbol as a symbol: one node, which runs the graph forward and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.base_operator import DTypes, Shapes
from minpy.core.errors import ArgumentError, describe, nearest
from minpy.core.operator import Operator
from minpy.core.signatures import Signature
from minpy.graph.inference import infer_dtypes, infer_shapes
from minpy.graph.ir import Node, Value
from minpy.symbol.naming import current_names
from minpy.symbol.symbol import Symbol, method

__all__ = ["gradient"]


class _GraphGradient(Operator):
    """Takes what the variables of a graph are, to the gradients of the sum of its outputs."""

    def __init__(self, symbol: Symbol, wrt: Sequence[str]) -> None:
        from minpy.graph.compiled import Compiled  # what runs graphs is large

        self._compiled = compiled = Compiled(symbol.values)
        self.nodes = compiled.variables
        self._count = len(compiled.arguments)
        names = tuple(node.name for node in self.nodes)
        super().__init__(
            self._compute,
            name="_gradient",
            builtin=True,
            signature=Signature(names, {}, {}),
            auxiliary=[node.name for node in compiled.states],
        )
        self.positions = [names.index(name) for name in wrt]
        self.outputs = [f"output{index}" for index in range(len(wrt))] if len(wrt) > 1 else ["output"]
        self._requests = dict.fromkeys((self.nodes[position] for position in self.positions), "write")
        self.random = any(node.operator.random or not node.operator.builtin for node in compiled.order if node.operator)
        self.def_infer_shape(self._infer_shapes)
        self.def_infer_type(self._infer_dtypes)

    def _infer_shapes(self, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        return self._inferred(infer_shapes, inputs)

    def _infer_dtypes(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        return self._inferred(infer_dtypes, inputs)

    def _inferred(self, infer: Callable[..., Any], inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        facts = {Value(node): fact for node, fact in zip(self.nodes, inputs, strict=True) if fact is not None}
        inferred = infer(self._compiled.order, [(facts, "given")]).known
        variables = [inferred.get(Value(node)) for node in self.nodes]
        return variables, [variables[position] for position in self.positions]

    def _compute(self, *arrays: numpy.ndarray) -> Any:
        from minpy.graph.frame import start

        arrays = (*arrays[: self._count], *(state.copy() for state in arrays[self._count :]))
        heads, frame = start(self._compiled.program(arrays, True, self._requests), arrays)
        buffers = {node: numpy.empty_like(arrays[self.nodes.index(node)], order="C") for node in self._requests}
        frame.backward([numpy.ones(numpy.shape(head), head.dtype) for head in heads], buffers)
        gradients = tuple(buffers[self.nodes[position]] for position in self.positions)
        return gradients if len(gradients) > 1 else gradients[0]


@method
def gradient(self: Symbol, wrt: Sequence[str]) -> Symbol:
    """Return the symbol of the gradients of the outputs' sum with respect to some arguments.

    Parameters
    ----------
    wrt : sequence of str
        Names of arguments.

    Returns
    -------
    Symbol
        With one output for each name, and the inputs of this one. It computes as in training, but leaves auxiliary
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
    arguments = self.list_arguments()
    if not names:
        raise ArgumentError(f"{self!r}.gradient: no names are given; its arguments are {', '.join(arguments)}.")
    for name in names:
        if name not in arguments:
            raise ArgumentError(
                f"{self!r}.gradient: there is no argument {describe(name) if not isinstance(name, str) else name!r}; "
                f"its arguments are {', '.join(arguments)}.{nearest(str(name), arguments)}"
            )
    operator = _GraphGradient(self, names)
    node = Node(operator, [Value(node) for node in operator.nodes], {}, current_names().get(None, "gradient"))
    return Symbol([Value(node, index) for index in range(len(names))])
