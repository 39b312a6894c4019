"""A block run once on symbols, or on stand-ins for arrays, and the graph that this makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy import symbol
from minpy.core.array import now, raw_of, written_since
from minpy.core.errors import ArgumentError, NotTraceableError, NoValueError, describe
from minpy.core.nodes import Leaf
from minpy.core.switches import is_np_array
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.nesting import _flatten, _regroup
from minpy.gluon.block.templates import filled, template_of
from minpy.gluon.block.traced import Trace, place_in_program
from minpy.symbol import Group, Symbol

__all__ = ["trace_arrays", "trace_symbols"]


def _has_written_inside(block: Any) -> bool:
    """Tell whether a block inside defines `forward`."""
    return any(child._is_written_as_forward or _has_written_inside(child) for child in block._children.values())


def _input_variables(leaves: Sequence[Any]) -> list[str]:
    return ["data"] if len(leaves) == 1 else [f"data{index}" for index in range(len(leaves))]


def trace_symbols(block: Any, leaves: Sequence[Any], form: Any) -> CachedGraph:
    """Return the graph that `hybrid_forward` makes of symbols."""
    inputs: list[Any] = [
        None if leaf is None else symbol.var(name) for leaf, name in zip(leaves, _input_variables(leaves), strict=True)
    ]
    if is_np_array():
        inputs = [None if one is None else one.as_np_ndarray() for one in inputs]
    grouped = _regroup(inputs, form)[0]
    own = {name: block._variable(parameter) for name, parameter in block._reg_params.items()}

    def compute() -> Any:
        with block.name_scope():
            return block.hybrid_forward(symbol, *grouped, **own)

    trace = None
    if _has_written_inside(block):
        first = next(leaf for leaf in leaves if leaf is not None)
        trace = Trace(block.name, is_np_array() or not _is_of_mxnet(first), first.context)
        for variable, leaf in zip(inputs, leaves, strict=True):
            if leaf is not None:
                trace.know(variable, leaf)
        trace.parameters += [(own[name], parameter) for name, parameter in block._reg_params.items()]
    started = now()
    try:
        out = compute() if trace is None else trace.run(compute)
    except NoValueError as error:
        raise NotTraceableError(
            f"{block.name} is hybridized, and at {place_in_program(error)} it asks for what only arrays have: "
            f"{error} Choose with F.where or F.contrib.cond; or leave the block that does it unhybridized: call "
            "hybridize(False) on it, or derive it from Block."
        ) from error
    found, out_form = _flatten(out, "output")
    block._out_format = out_form
    out_symbols = [one for one in found if one is not None]
    if not out_symbols:
        raise ArgumentError(f"{block.name}: hybrid_forward returned {describe(out)}; expected symbols.")
    rebuild = None if out_form == 0 else _Regrouping(out_form, found)
    group = out_symbols[0] if len(out_symbols) == 1 else Group(out_symbols)
    if trace is None:
        return CachedGraph(block.name, inputs, group, rebuild, block._parameters_by_name())
    return _traced(block, trace, started, inputs, group, rebuild)


def trace_arrays(block: Any, leaves: Sequence[Any], form: Any) -> CachedGraph:
    """Return the graph that `forward` makes of stand-ins for arrays."""
    trace = Trace(block.name, is_np_array() or not _is_of_mxnet(leaves[0]), leaves[0].context)
    given = [trace.argument(name, leaf) for name, leaf in zip(_input_variables(leaves), leaves, strict=True)]
    started = now()
    out = trace.run(lambda: block._call_as_written(filled(form, given), {}))
    found: list[Any] = []
    out_form = template_of(trace.unwrapped(out), found, Symbol)
    if not found:
        raise ArgumentError(f"{block.name}: forward returned {describe(out)}; expected arrays.")
    block._out_format = out_form
    rebuild = lambda values: filled(out_form, values)
    group = found[0] if len(found) == 1 and len(found[0].values) == 1 else Group(found)
    return _traced(block, trace, started, [one.symbol for one in given], group, rebuild)


def _traced(block: Any, trace: Trace, started: int, inputs: Sequence[Any], out: Symbol, rebuild: Any) -> CachedGraph:
    """Return the graph of a trace that began at some time."""
    known = block._guarded().arrays()
    if any(written_since(raw_of(array), started) for array in known):
        raise NotTraceableError(
            f"{block.name} is hybridized, and its forward changes an array in place that it refers to, which would "
            "happen once only, when it is traced. Return the new values; or leave the block unhybridized: call "
            "hybridize(False) on it."
        )
    there = {id(array) for array in known}
    made = [array for _, array in trace.captured if id(array) not in there]
    if any(array._node is not None and not isinstance(array._node, Leaf) for array in made):
        raise NotTraceableError(
            f"{block.name} is hybridized, and its forward computes something of arrays that need gradients (they "
            "have been given attach_grad()), and of no argument: a graph begins at what a block is given. Make "
            "them parameters (gluon.Parameter, read with data()), give them as arguments, or leave the block "
            "unhybridized: call hybridize(False) on it."
        )
    if trace.asked_for_shapes and not block._asks_for_shapes:
        block._asks_for_shapes = True
        block._graphs.clear()
    named = block._parameters_by_name()
    captured = [*trace.captured, *trace.parameters]
    return CachedGraph(block.name, inputs, out, rebuild, named, captured, known if made else ())


def _is_of_mxnet(array: Any) -> bool:
    return bool(array._keeps_dtype)


class _Regrouping:
    """Puts the outputs of a graph together as `hybrid_forward` returned them."""

    def __init__(self, form: Any, leaves: Sequence[Any]) -> None:
        self._form = form
        self._counts = [0 if leaf is None else len(leaf.values) for leaf in leaves]

    def __call__(self, values: list[Any]) -> Any:
        if 0 in self._counts:
            left = iter(values)
            values = [value for count in self._counts for value in ([next(left) for _ in range(count)] or [None])]
        return _regroup(values, self._form)[0]
