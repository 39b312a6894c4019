"""Graphs that nodes hold, bodies of loops and branches, as rows write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.emitter import EmittedGraph, Emitter

__all__ = ["graph_input", "held_graph"]


def graph_input(emitter: Emitter, name: str, shape: Sequence[int], dtype: Any) -> Operand:
    """Return an input of a graph, with a name that nothing else has."""
    return Operand(emitter.fresh(f"{emitter.prefix}{name}"), tuple(shape), numpy.dtype(dtype))


def held_graph(emitter: Emitter, inputs: Sequence[Operand], outputs: Sequence[Operand], name: str) -> EmittedGraph:
    """Return what was written to an emitter as a graph; of what is not computed in it, copies are its outputs."""
    names = [operand.text for operand in inputs]
    results: list[str] = []
    for operand in outputs:
        result = emitter.output(operand.text, [*names, *results])
        results.append(result)
    return EmittedGraph(
        emitter.fresh(f"{emitter.prefix}{name}"),
        emitter.nodes,
        [(operand.text, operand.shape, operand.dtype) for operand in inputs],
        results,
        [(operand.shape, operand.dtype) for operand in outputs],
    )
