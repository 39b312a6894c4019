"""Blocks that define `forward`, MXNet 2's way: the symbol that stand-ins for arrays become in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, describe
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.stand_ins.trace import Trace
from minpy.gluon.block.templates import filled, split, template_of
from minpy.ndarray import NDArray
from minpy.symbol import Group, Symbol

__all__ = ["arrays_and_template", "graph_of_forward"]


def arrays_and_template(args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the arrays among nested arguments, NumPy's as ours, and the template in which they stand."""
    leaves: list[Any] = []
    form = template_of(args, leaves, (NDArray, numpy.ndarray))
    like = next(leaf for leaf in leaves if isinstance(leaf, NDArray))
    return [leaf if isinstance(leaf, NDArray) else like._like(leaf) for leaf in leaves], form


def graph_of_forward(block: Any, leaves: Sequence[Any], form: Any) -> CachedGraph:
    """Return the graph that `forward` makes of stand-ins for arrays.

    Parameters
    ----------
    block : HybridBlock
    leaves : sequence of NDArray
        The arrays among the arguments.
    form
        The template in which they stand.
    """
    with Trace.of(block, leaves[0]) as trace:
        given = [trace.argument(name, leaf) for name, leaf in zip(block._input_variables(leaves), leaves, strict=True)]
        inputs = [one.symbol for one in given]
        out = block._call_as_written(*split(filled(form, given)))
        found: list[Any] = []
        out_form = template_of(trace.unwrapped(out), found, Symbol)
    if not found:
        raise ArgumentError(f"{block.name}: forward returned {describe(out)}; expected arrays.")
    block._out_format = out_form
    block._graphs.note_asked(shapes=trace.asked_for_shapes)
    graph = CachedGraph(
        block.name,
        inputs,
        found[0] if len(found) == 1 and len(found[0].values) == 1 else Group(found),
        lambda values: filled(out_form, values),
        block._parameters_by_name(),
        trace.captured,
    )
    graph.returns_numpy = trace.in_numpy and bool(graph.parameters)
    return graph
