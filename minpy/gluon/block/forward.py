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
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.library import enter
from minpy.gluon.block.templates import filled, split, template_of
from minpy.graph.ir import Value
from minpy.ndarray import NDArray
from minpy.symbol import Group, Symbol
from minpy.symbol.translation import Translation

__all__ = ["Symbols", "arrays_and_template", "graph_of_forward", "symbols_of"]


def arrays_and_template(args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the arrays among nested arguments, NumPy's as ours, and the template in which they stand."""
    leaves: list[Any] = []
    form = template_of(args, leaves, (NDArray, numpy.ndarray))
    like = next(leaf for leaf in leaves if isinstance(leaf, NDArray))
    return [leaf if isinstance(leaf, NDArray) else like._like(leaf) for leaf in leaves], form


class Symbols(NamedTuple):
    """What a block computes, as symbols.

    Attributes
    ----------
    inputs : list of Symbol
        The variables of the arrays among the arguments.
    out
        What the block returns: a nest with symbols in the place of arrays.
    captured : list of (Symbol, Array)
        The variables of other arrays: those that it refers to, and constants.
    """

    inputs: list[Symbol]
    out: Any
    captured: list[tuple[Symbol, Any]]


def symbols_of(
    block: Any, names: Sequence[str], arrays: Sequence[Any], arguments: Callable[[Sequence[Any]], Any]
) -> Symbols:
    """Return what a block computes, as symbols: it is captured as it is now.

    Parameters
    ----------
    block : HybridBlock
    names : sequence of str
        Of the variables.
    arrays : sequence of NDArray
        Among the arguments.
    arguments : callable
        Gives (arguments, keywords) for what stands in the place of the arrays.

    Raises
    ------
    NotTraceableError
        If it does what cannot be captured, or what graphs of symbols have no operator for.
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
        place = "" if refusal.place is None else f" ({refusal.place})"
        raise NotTraceableError(
            f"{block.name} cannot become a graph: {refusal.reason}{place}. Choose with np.where, draw with "
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
        self._made: list[tuple[Symbol, Any]] = []

    def argument(self, value: Any, name: str | None = None) -> Any:
        """Return what stands for an argument; what does stands for itself."""
        return value if isinstance(value, (ArrayProxy, NDArrayProxy)) else super().argument(value, name)

    def _captured(self, outputs: Any) -> Any:
        in_numpy = self.surroundings is not None and self.surroundings.in_numpy
        translation = Translation(self.recorder, self._variable_of)
        inputs = []
        for name, array, value in zip(self._names, self._arrays, self.inputs, strict=True):
            made = symbol.var(name)
            inputs.append(made.as_np_ndarray() if in_numpy or not array._keeps_dtype else made)
            translation.values[value] = made.values[0]
        for row in self.reads.array_rows:
            translation.arrays[Value(row.node)] = row.source(row.container, row.key)

        def stands(leaf: Any, _: Any) -> Any:
            leaf = pinned(leaf)
            inner = leaf.inner if isinstance(leaf, NDArrayProxy) else leaf
            if not isinstance(inner, ArrayProxy):
                return leaf
            made = Symbol(translation.translate([inner.value]))
            return made.as_np_ndarray() if inner is leaf else made

        return Symbols(inputs, map_tree(stands, outputs), self._made)

    def _variable_of(self, array: Any) -> Value:
        """Return the variable of an array that the block refers to, or that is a constant."""
        array = array if isinstance(array, Array) else self.like._like(numpy.asarray(array))
        made = symbol.var(f"captured{len(self._made)}")
        self._made.append((made, array))
        return made.values[0]


def graph_of_forward(block: Any, leaves: Sequence[Any], form: Any) -> CachedGraph:
    """Return the graph of symbols that a block which defines `forward` is.

    Parameters
    ----------
    block : HybridBlock
    leaves : sequence of NDArray
        The arrays among the arguments.
    form
        The template in which they stand.
    """
    made = symbols_of(block, block._input_variables(leaves), leaves, lambda proxies: split(filled(form, proxies)))
    found: list[Any] = []
    out_form = template_of(made.out, found, Symbol)
    if not found:
        raise ArgumentError(f"{block.name}: forward returned {describe(made.out)}; expected arrays.")
    block._out_format = out_form
    block._graphs.note_asked(shapes=True)
    graph = CachedGraph(
        block.name,
        made.inputs,
        found[0] if len(found) == 1 else Group(found),
        lambda values: filled(out_form, values),
        block._parameters_by_name(),
        made.captured,
    )
    graph.returns_numpy = bool(graph.parameters) and any(one.in_numpy for one in found)
    return graph
