"""Blocks that define `forward`, MXNet 2's way, or hold such: the symbols that a capture of what they compute is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from minpy import symbol
from minpy.capture.capture import Capture, Policy
from minpy.capture.nd_proxy import NDArrayProxy
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.scalars import pinned
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, NotTraceableError, describe
from minpy.differentiation.trees import map_tree
from minpy.gluon.block.argument_specs import flatten, split, unflatten
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.own_functions import enter
from minpy.graph.ir import Value
from minpy.ndarray import NDArray
from minpy.symbol import Group, Symbol
from minpy.symbol.translation import Translation

__all__ = ["Symbols", "arrays_and_spec", "graph_of_forward", "symbols_of"]


def arrays_and_spec(args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the arrays among nested arguments, NumPy's as ours, and the spec of the nest in which they stand."""
    leaves: list[Any] = []
    spec = flatten(args, leaves, (NDArray, numpy.ndarray))
    like = next(leaf for leaf in leaves if isinstance(leaf, NDArray))
    return [leaf if isinstance(leaf, NDArray) else like._like(leaf) for leaf in leaves], spec


class Symbols(NamedTuple):
    """What a block computes, as symbols."""

    inputs: list[Symbol]  # the variables of the arrays among the arguments
    out: Any  # what the block returns: a nest with symbols in the place of arrays
    captured: list[tuple[Symbol, Any]]  # the variables of other arrays: those that it refers to, and constants


def symbols_of(
    block: Any, names: Sequence[str], arrays: Sequence[Any], arguments: Callable[[Sequence[Any]], Any]
) -> Symbols:
    """Return what a block computes, as symbols: it is captured as it is now.

    `names` are to be those of the variables for the arrays among the arguments; `arguments` gives positional arguments
    and keywords, for the proxies of the arrays.
    """
    enter()
    arrays = [array._like(array._data) for array in arrays]  # each an argument of its own
    capture = _SymbolCapture(block, names, arrays)
    try:
        proxies = [capture.argument(array, name) for array, name in zip(arrays, names, strict=True)]
        positional, keywords = arguments(proxies)
        positional = [capture.argument(value) for value in positional]
        keywords = {key: capture.argument(value, key) for key, value in keywords.items()}
        captured: Any = capture.run(block, *positional, **keywords)
        return captured
    except CaptureRefused as refusal:
        location = "" if refusal.place is None else f" ({refusal.place})"
        raise NotTraceableError(
            f"{block.name} cannot become a graph: {refusal.reason}{location}. Choose with np.where, draw with "
            "mx.np.random, give what changes as an argument; or leave the block that does it unhybridized: call "
            "hybridize(False) on it, or derive it from Block."
        ) from None
    finally:
        capture.recorder.gradients.clear()


class _SymbolCapture(Capture):
    """A capture of which nothing is left but symbols."""

    def __init__(self, block: Any, names: Sequence[str], arrays: Sequence[Any]) -> None:
        super().__init__(block.name, writes=False, policy=Policy.FREEZE)
        self.recorder.of_user = False
        self.outermost = block
        self.like = max(arrays, key=lambda array: int(array._precedence))
        self._names = names
        self._arrays = arrays
        self._variables: list[tuple[Symbol, Any]] = []  # of arrays that are no arguments

    def argument(self, value: Any, name: str | None = None) -> Any:
        """Return the proxy of an argument, which may be one."""
        return value if isinstance(value, (ArrayProxy, NDArrayProxy)) else super().argument(value, name)

    def _captured(self, outputs: Any) -> Any:
        in_numpy = self.surroundings is not None and self.surroundings.in_numpy
        translation = Translation(self.recorder, self._variable_of)
        inputs = []
        for name, array, value in zip(self._names, self._arrays, self.inputs, strict=True):
            variable = symbol.var(name)
            inputs.append(variable.as_np_ndarray() if in_numpy or not array._keeps_dtype else variable)
            translation.values[value] = variable.values[0]
        for row in self.reads.array_rows:
            translation.arrays[Value(row.node)] = row.source(row.container, row.key)

        def symbol_of(leaf: Any, _: Any) -> Any:
            leaf = pinned(leaf)
            inner = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
            if not isinstance(inner, ArrayProxy):
                return leaf
            variable = Symbol(translation.translate([inner.value]))
            return variable.as_np_ndarray() if inner is leaf else variable

        return Symbols(inputs, map_tree(symbol_of, outputs), self._variables)

    def _variable_of(self, array: Any) -> Value:
        """Return the variable of an array that the block refers to, or that is a constant."""
        array = array if isinstance(array, Array) else self.like._like(numpy.asarray(array))
        variable = symbol.var(f"captured{len(self._variables)}")
        self._variables.append((variable, array))
        return variable.values[0]


def graph_of_forward(block: Any, leaves: Sequence[Any], spec: Any) -> CachedOp:
    """Return the graph of symbols that a block which defines `forward` is, for arrays in the nest of a spec."""
    captured = symbols_of(
        block, block._input_variables(leaves), leaves, lambda proxies: split(unflatten(spec, proxies))
    )
    outputs: list[Any] = []
    out_spec = flatten(captured.out, outputs, Symbol)
    if not outputs:
        raise ArgumentError(f"{block.name}: forward returned {describe(captured.out)}; expected arrays.")
    block._out_format = out_spec
    block._graphs.note_dependency(shapes=True)
    graph = CachedOp(
        block.name,
        captured.inputs,
        outputs[0] if len(outputs) == 1 else Group(outputs),
        lambda values: unflatten(out_spec, values),
        block._parameters_by_name(),
        captured.captured,
    )
    graph.returns_numpy = bool(graph.parameters) and any(output.in_numpy for output in outputs)
    return graph
