"""Blocks that define `hybrid_forward`: what symbols become in it is their graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minpy import symbol
from minpy.context import Context
from minpy.core.errors import ArgumentError, ContextError, NotTraceableError, NoValueError, describe
from minpy.core.source_lines import place_in_program
from minpy.core.state import tracing
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.forward import symbols_of
from minpy.gluon.block.inferred_facts import Facts
from minpy.gluon.block.nesting import _flatten, _regroup
from minpy.ndarray import NDArray
from minpy.symbol import Group, Symbol

__all__ = ["first_of", "graph_of_hybrid_forward", "written_as_forward"]


def _arrays_in(values: Any) -> Iterator[Any]:
    """Yield the arrays and symbols in nested arguments."""
    if isinstance(values, (NDArray, Symbol)):
        yield values
    elif isinstance(values, (list, tuple, dict)):
        for value in values.values() if isinstance(values, dict) else values:
            yield from _arrays_in(value)


def first_of(name: str, args: Sequence[Any]) -> Any:
    """Return the first array or symbol among the nested arguments of the block of that name."""
    arrays = [*_arrays_in(args)]
    if not arrays:
        _flatten(args, "input")  # which raises the error for other values
        raise ArgumentError(f"{name}: no argument is an NDArray or a Symbol.")
    contexts: list[Context] = list(dict.fromkeys(array.context for array in arrays if isinstance(array, NDArray)))
    if len(contexts) > 1:
        raise ContextError(
            f"{name}: its arguments are on different contexts, {', '.join(map(str, contexts))}. Move them to "
            "one with as_in_context()."
        )
    return arrays[0]


def written_as_forward(block: Any) -> list[Any]:
    """Return the blocks, of one and all inside, that define `forward`, and not `hybrid_forward`."""
    written: list[Any] = []
    block.apply(lambda child: written.append(child) if getattr(child, "_is_written_as_forward", False) else None)
    return written


def graph_of_hybrid_forward(block: Any, leaves: Sequence[Any], form: Any) -> CachedOp:
    """Return the graph that `hybrid_forward` makes of symbols for arguments: leaves, nested as `_flatten` says."""
    names = block._input_variables(leaves)
    captured: Sequence[tuple[Symbol, Any]] = ()
    if written_as_forward(block):
        rows = [(name, leaf) for name, leaf in zip(names, leaves, strict=True) if leaf is not None]

        def in_place_of_arrays(values: Sequence[Any]) -> list[Any]:
            remaining = iter(values)
            return [None if leaf is None else next(remaining) for leaf in leaves]

        captured_call = symbols_of(
            block,
            [name for name, _ in rows],
            [array for _, array in rows],
            lambda proxies: (_regroup(in_place_of_arrays(proxies), form)[0], {}),
        )
        inputs = in_place_of_arrays(captured_call.inputs)
        out, captured = captured_call.out, captured_call.captured
        block._graphs.note_dependency(shapes=True)
    else:
        inputs = _variables(block, leaves, names)
        out = _computed(block, _regroup(inputs, form)[0])
    out_leaves, out_form = _flatten(out, "output")
    block._out_format = out_form
    out_symbols = [leaf for leaf in out_leaves if leaf is not None]
    if not out_symbols:
        raise ArgumentError(f"{block.name}: hybrid_forward returned {describe(out)}; expected symbols.")
    counts = [0 if leaf is None else len(leaf.values) for leaf in out_leaves]

    def regrouped(values: list[Any]) -> Any:
        if 0 in counts:
            remaining = iter(values)
            values = [value for count in counts for value in ([next(remaining) for _ in range(count)] or [None])]
        return _regroup(values, out_form)[0]

    rebuild = None if out_form == 0 else regrouped
    group = out_symbols[0] if len(out_symbols) == 1 else Group(out_symbols)
    graph = CachedOp(block.name, inputs, group, rebuild, block._parameters_by_name(), captured)
    graph.returns_numpy = all(type(leaf) is not Symbol for leaf in out_symbols)
    return graph


def _variables(block: Any, leaves: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the variables that stand for arguments, of which shapes and dtypes are known; None for None."""
    inputs: list[Any] = [None if leaf is None else symbol.var(name) for leaf, name in zip(leaves, names, strict=True)]
    facts = Facts(block.name, block._parameters_by_name())
    for variable, leaf in zip(inputs, leaves, strict=True):
        if leaf is not None:
            facts.know(variable, leaf)
    if tracing.modes is not None:
        tracing.modes.facts = facts
    return [
        variable if leaf is None or leaf._keeps_dtype else variable.as_np_ndarray()
        for variable, leaf in zip(inputs, leaves, strict=True)
    ]


def _computed(block: Any, inputs: Sequence[Any]) -> Any:
    own_params = {name: block._variable(parameter) for name, parameter in block._reg_params.items()}
    try:
        with block.name_scope():
            return block.hybrid_forward(symbol, *inputs, **own_params)
    except NoValueError as error:
        raise NotTraceableError(
            f"{block.name} is hybridized, and at {place_in_program(error)} it asks for what only arrays have: "
            f"{error} Choose with F.where or F.contrib.cond, keep arrays with "
            "self.params.get_constant; or leave the block that does it unhybridized: call "
            "hybridize(False) on it, or derive it from Block."
        ) from error
