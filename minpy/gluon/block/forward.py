"""Blocks that define `forward`, MXNet 2's way, and compiled functions: what stand-ins for arrays become in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, NotTraceableError, describe
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.changes import Changes, Returned, of_numpy
from minpy.gluon.block.stand_ins.trace import Trace
from minpy.gluon.block.stand_ins.traced import Traced
from minpy.gluon.block.templates import Unkeyed, filled, key_of, split, template_of
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
    is_function = block._is_function
    with Trace.of(block, leaves[0]) as trace:
        trace.is_of_numpy = is_function and all(id(leaf._data) in of_numpy.ids for leaf in leaves)
        given = [trace.argument(name, leaf) for name, leaf in zip(block._input_variables(leaves), leaves, strict=True)]
        inputs = [one.symbol for one in given]
        arguments = filled(form, given)
        out = block._call_as_written(*split(arguments))
        if is_function and not _is_filled(arguments, form, given):
            raise NotTraceableError(
                "it changes a list or dict that it is given, which a graph cannot. Return what is to be in there."
            )
        changes = Changes(given, inputs)
        found: list[Any] = []
        out_form = template_of(trace.unwrapped(changes.marked(out)), found, (Symbol, Returned))
    if not found and not changes:
        raise ArgumentError(f"{block.name}: forward returned {describe(out)}; expected arrays.")
    block._out_format = out_form
    heads = changes.heads(found) if is_function else found
    block._graphs.note_asked(shapes=trace.asked_for_shapes, classes=trace.asked_for_classes)
    graph = CachedGraph(
        block.name,
        inputs,
        heads[0] if len(heads) == 1 and len(heads[0].values) == 1 else Group(heads),
        lambda values: filled(out_form, values),
        block._parameters_by_name(),
        trace.captured,
        changes if changes else None,
        [place for _, place in changes.places] if is_function and not changes else None,
    )
    graph.returns_numpy = trace.in_numpy and not is_function and bool(graph.parameters)
    return graph


def _is_filled(value: Any, template: Any, given: Sequence[Any]) -> bool:
    """Tell whether a value is still what `filled` has made of a template and stand-ins."""
    found: list[Any] = []
    try:
        is_same = key_of(template_of(value, found, Traced)) == key_of(template)
    except Unkeyed:
        return False
    return is_same and all(one is other for one, other in zip(found, given, strict=True))
