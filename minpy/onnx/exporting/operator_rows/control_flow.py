"""Loops and branches: `_foreach` is a Scan, `_while_loop` a Loop, `_cond` an If, which hold their graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.array import Shaped
from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.onnx.exporting.emitter import Emitter
from minpy.onnx.exporting.inner_graphs import graph_input, held_graph

__all__ = ["ROWS"]

ROWS = Rows()


def _written(call: NodeCall, graph: Any, operands: Sequence[Operand], emitter: Emitter) -> list[Operand]:
    """Write a graph of the node, by operands for its variables, and return its outputs."""
    specs = graph.facts_of([Shaped(operand.shape, operand.dtype) for operand in operands])
    outputs: list[Operand] = call.source.written_graph(graph.symbol, operands, specs, emitter)
    return outputs


def _condition(call: NodeCall, graph: Any, operands: Sequence[Operand], emitter: Emitter) -> str:
    """Write a condition; return the name of a boolean without axes."""
    holds = _written(call, graph, operands, emitter)[0]
    name = holds.text if holds.dtype == numpy.bool_ else emitter.cast(holds.text, numpy.bool_)
    if holds.ndim:
        (name,) = emitter.add("Reshape", [name, emitter.stored(numpy.zeros(0, numpy.int64))], 1, {})
    return name


@ROWS.enter("_foreach")
def _foreach(call: NodeCall, *inputs: Operand) -> Any:
    loop = call.nested
    body = loop.body
    emitter = call.emitter.of_graph()
    operands = [inputs[source] for source in body.sources]
    states, slices = [], []
    for position in loop.state_positions:
        first = operands[position]
        operands[position] = graph_input(emitter, "state", first.shape, first.dtype)
        states.append((first, operands[position]))
    for position in loop.data_positions:
        whole = operands[position]
        part = graph_input(emitter, "slice", whole.shape[1:], whole.dtype)
        slices.append((whole, part))
        if whole.ndim == 1:  # a slice is an array of one element
            (text,) = emitter.add("Unsqueeze", [part.text, emitter.stored(numpy.array([0]))], 1, {})
            part = Operand(text, (1,), whole.dtype)
        operands[position] = part
    heads = _written(call, body, operands, emitter)
    stacked, last = heads[: loop.stacked], heads[loop.stacked :]
    graph = held_graph(emitter, [part for _, part in (*states, *slices)], [*last, *stacked], "body")
    results = call.node(
        "Scan",
        *(first for first, _ in states),
        *(whole for whole, _ in slices),
        outputs=len(heads),
        body=graph,
        num_scan_inputs=len(slices),
    )
    results = (results,) if isinstance(results, str) else results
    return (*results[len(last) :], *results[: len(last)])


@ROWS.enter("_while_loop")
def _while_loop(call: NodeCall, *inputs: Operand) -> Any:
    """What iterations stack is shorter than ours where the loop ends early: zeros are joined on."""
    loop = call.nested
    condition, body = loop.graphs
    operands = [inputs[source] for source in body.sources]
    state_sources = [body.sources[position] for position in loop.state_positions]
    first_states = [inputs[source] for source in state_sources]
    holds = _condition(call, condition, [inputs[source] for source in condition.sources], call.emitter)

    emitter = call.emitter.of_graph()
    number = graph_input(emitter, "iteration", (), numpy.int64)
    held = graph_input(emitter, "holds", (), numpy.bool_)
    states = [graph_input(emitter, "state", first.shape, first.dtype) for first in first_states]
    for position, state in zip(loop.state_positions, states, strict=True):
        operands[position] = state
    heads = _written(call, body, operands, emitter)
    stacked, last = heads[: loop.stacked], heads[loop.stacked :]
    moved = dict(zip(state_sources, last, strict=True))
    still = _condition(call, condition, [moved.get(source, inputs[source]) for source in condition.sources], emitter)
    graph = held_graph(
        emitter, [number, held, *states], [Operand(still, (), numpy.dtype(bool)), *last, *stacked], "body"
    )
    results = call.node("Loop", call.ints(loop.most), holds, *first_states, outputs=len(heads), body=graph)
    results = (results,) if isinstance(results, str) else results
    padded = [_padded(call, name, loop.most, head) for name, head in zip(results[len(last) :], stacked, strict=True)]
    return (*padded, *results[: len(last)])


def _padded(call: NodeCall, stacked: str, most: int, head: Operand) -> str:
    """Return the name of what iterations stacked, with zeros for those that there were not."""
    if call.emitter.open_lengths:  # of no iterations, runtimes know no lengths
        lengths = call.node("Concat", _count(call, stacked), call.ints(list(head.shape)), axis=0)
        stacked = call.node("Reshape", stacked, lengths, allowzero=1) if call.opset >= 14 else stacked
    missing = call.node("Sub", call.ints([most]), _count(call, stacked))
    shape = call.node("Concat", missing, call.ints(list(head.shape)), axis=0) if head.ndim else missing
    zeros = call.node("ConstantOfShape", shape, value=numpy.zeros(1, head.dtype))
    name: str = call.node("Concat", stacked, zeros, axis=0)
    return name


def _count(call: NodeCall, stacked: str) -> str:
    """Return the name of the length of the first axis, as an array of one number."""
    shape = call.node("Shape", stacked)
    name: str = call.node("Slice", shape, call.ints([0]), call.ints([1]))
    return name


@ROWS.enter("_cond")
def _cond(call: NodeCall, *inputs: Operand) -> Any:
    condition, *branches = call.nested.graphs
    holds = _condition(call, condition, [inputs[source] for source in condition.sources], call.emitter)
    graphs = []
    for graph, name in zip(branches, ("then", "otherwise"), strict=True):
        emitter = call.emitter.of_graph()
        outputs = _written(call, graph, [inputs[source] for source in graph.sources], emitter)
        outputs = [
            output
            if output.dtype == spec.dtype
            else Operand(emitter.cast(output.text, spec.dtype), output.shape, spec.dtype)
            for output, spec in zip(outputs, call.results, strict=True)
        ]
        graphs.append(held_graph(emitter, [], outputs, name))
    return call.node("If", holds, outputs=len(call.results), then_branch=graphs[0], else_branch=graphs[1])
