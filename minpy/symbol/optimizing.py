"""`Symbol.optimize_for`: a graph given to a partitioner or a pass, and the symbol that comes back."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.context import Context, current_context, resolve_context
from minpy.core.array import Array
from minpy.core.dtypes import DTYPE_NUMBERS
from minpy.core.errors import ArgumentError, describe, nearest
from minpy.graph.ir import Value
from minpy.graph.partitioning.cutting import apply_strategy
from minpy.graph.partitioning.editable import EditingError, Graph
from minpy.graph.partitioning.python_partitioners import PythonPass
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES, Partitioner, Pass
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.symbol.editing import editable, output_name, relinked, symbol_of
from minpy.symbol.hidden_outputs import hidden_outputs
from minpy.symbol.symbol import Symbol, method

__all__ = ["get_backend_symbol", "optimize_for"]

Arrays = dict[str, Any]
Facts = tuple[Mapping[str, Any], Mapping[str, Any]]  # the shapes and dtypes of variables that are known


@method
def optimize_for(
    self: Symbol,
    backend: str,
    args: Arrays | None = None,
    aux: Arrays | None = None,
    ctx: Context | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    skip_infer: bool = False,
    **kwargs: Any,
) -> Symbol:
    """Return what a partitioner, or a pass, makes of the symbol, which stays as it is.

    Partitioners put one node in the place of a group of nodes, which it holds as a graph inside of it; passes rewrite
    the graph. They come with native libraries (`mx.library.load`), or are written in Python
    (`mx.graph.register_partitioner`, `mx.graph.register_pass`).

    Parameters
    ----------
    backend : str
        The name of a partitioner or a pass. If there is none, a warning is given, and the symbol returned as it is.
    args, aux : dict of str to NDArray, optional
        Values of arguments and auxiliary states; some may be missing. Shapes and dtypes are inferred from them and
        noted at every node, as `__ext_shape__` and `__ext_dtype__`. A pass changes both in place: its new parameters
        are added, and those that are not read any more removed.
    ctx : Context, optional
        Where new parameters lie; by default the current context.
    shape_dict : dict of str to tuple of int, optional
        Shapes of inputs whose values are not given; used where `args` or `aux` are given.
    type_dict : dict of str to dtype, optional
        Dtypes of inputs, in the same way.
    stype_dict : dict of str to str, optional
        Storage types of inputs; 'default' is the only one.
    skip_infer : bool
        Infer nothing.
    **kwargs
        Options of the partitioner or pass; libraries are given them as strings. With `dedup_subgraph=True` each value
        that a group reads is one input of its node, however often the group reads it, and each value that is read of a
        group is one output; otherwise every edge is an input or output of its own.

    Returns
    -------
    Symbol

    Raises
    ------
    ArgumentError
        If an argument is of another kind than described, or for an option that nobody takes.
    EditingError
        If a pass leaves what is no graph: a cycle, an operator that is not there, two variables of one name.
    RuntimeError
        If a pass adds parameters, and there is no dict to add them to.
    ShapeError, DTypeError
        If the given arrays do not fit the graph.

    Examples
    --------
    >>> import minpy as mx
    >>> exps = mx.graph.register_partitioner('exps', ['exp'], replace=True)
    >>> net = mx.sym.tanh(mx.sym.exp(mx.sym.var('x'), name='e'), name='t')
    >>> print(net.optimize_for('exps').debug_str())
    x = variable
    _op0 = exps(x)
    t = tanh(_op0)
    return t
    """
    where = f"optimize_for({backend!r})"
    _check(where, backend, args, aux, ctx, stype_dict)
    partitioner = PARTITIONERS.get(backend)
    if partitioner is None and backend not in PASSES:
        warnings.warn(
            f"{self!r}.optimize_for: there is no backend {backend!r}; the symbol stays as it is."
            f"{nearest(backend, [*PARTITIONERS, *PASSES])} Load the library that has it, with mx.library.load(path), "
            "or register it, with mx.graph.register_partitioner or mx.graph.register_pass.",
            stacklevel=2,
        )
        return type(self)(self.values)
    facts = None
    if (args or aux) and not skip_infer:
        arrays = {**(args or {}), **(aux or {})}
        shapes = {**(shape_dict or {}), **{name: array.shape for name, array in arrays.items()}}
        facts = shapes, {**(type_dict or {}), **{name: array.dtype for name, array in arrays.items()}}
    if partitioner is not None:
        partitioner.check_options(kwargs)
        return _partitioned(self, partitioner, args or {}, aux or {}, facts, kwargs, partitioner.title)
    graph_pass = PASSES[backend]
    graph_pass.check_options(kwargs)
    return _passed(self, graph_pass, args, aux, facts, kwargs, ctx or current_context())


@method
def get_backend_symbol(self: Symbol, backend: str) -> Symbol:
    """Return what a partitioner makes of the symbol, without options and values: see `optimize_for`.

    Parameters
    ----------
    backend : str
        The name of a partitioner.

    Returns
    -------
    Symbol

    Raises
    ------
    ArgumentError
        If there is none of that name.

    Examples
    --------
    >>> from minpy import sym
    >>> sym.var('x').get_backend_symbol('MKLDNN')
    Traceback (most recent call last):
        ...
    minpy.core.errors.ArgumentError: <Symbol x>.get_backend_symbol: there is no backend 'MKLDNN'; symbols are compiled \
when they are bound. Bind it as it is, or register a partitioner, with mx.graph.register_partitioner.
    """
    if backend not in PARTITIONERS:
        raise ArgumentError(
            f"{self!r}.get_backend_symbol: there is no backend {backend!r}; symbols are compiled when they are bound. "
            "Bind it as it is, or register a partitioner, with mx.graph.register_partitioner."
        )
    return _partitioned(self, PARTITIONERS[backend], {}, {}, None, {}, f"get_backend_symbol({backend!r})")


def _annotate(symbol: Symbol, graph: Graph, facts: Facts) -> None:
    """Note at every node of a symbol's graph what is inferred of its outputs."""
    names = {node.name for node in symbol.order if node.operator is None}
    shapes, dtypes = ({name: fact for name, fact in table.items() if name in names} for table in facts)
    known_dtypes = symbol._infer_type("optimize_for", (), dtypes, numpy.float32).known
    known_shapes = symbol._infer_shape("optimize_for", (), shapes, known_dtypes).known
    for node, shown in zip(symbol.order, graph.nodes, strict=True):
        values = [Value(node, index) for index in range(len(node.output_names()))]
        outputs = [(known_shapes.get(value), known_dtypes.get(value)) for value in values]
        inputs = [known_shapes.get(value) for value in node.inputs]
        visible = [shape for shape, _ in outputs]
        outputs += hidden_outputs(shown.op, node, shown.origin.saved_outputs, inputs, visible, outputs[0][1])
        texts = ("[None]" if shape is None else f"[{','.join(map(str, shape))}]" for shape, _ in outputs)
        shown.attrs["__ext_shape__"] = f"[{','.join(texts)}]"
        numbers = (-1 if dtype is None else DTYPE_NUMBERS.get(dtype, -1) for _, dtype in outputs)
        shown.attrs["__ext_dtype__"] = f"[{','.join(map(str, numbers))}]"


def _graph_of(symbol: Symbol, args: Arrays, aux: Arrays, facts: Facts | None) -> Graph:
    """Return a symbol's graph to edit, whose variables have their values."""
    graph = editable(symbol)
    if facts is not None:
        _annotate(symbol, graph, facts)
    graph.states = frozenset(symbol.list_auxiliary_states())
    variables = [node for node in graph.nodes if node.is_variable]
    graph.args = {node.name: args[node.name] for node in variables if node.name in args}
    graph.aux = {node.name: aux[node.name] for node in variables if node.name in aux}
    for node in variables:
        node.array = graph.args.get(node.name, graph.aux.get(node.name))
    return graph


def _partitioned(
    symbol: Symbol,
    partitioner: Partitioner,
    args: Arrays,
    aux: Arrays,
    facts: Facts | None,
    options: Mapping[str, Any],
    where: str,
) -> Symbol:
    result = type(symbol)(symbol.values)
    for strategy in partitioner.strategies:
        graph = _graph_of(result, args, aux, facts)
        apply_strategy(graph, partitioner, strategy, options, output_name)
        result = symbol_of(graph, f"{where}: strategy {strategy.name!r}", type(symbol))
    return result


def _passed(
    symbol: Symbol,
    graph_pass: Pass,
    args: Arrays | None,
    aux: Arrays | None,
    facts: Facts | None,
    options: Mapping[str, Any],
    ctx: Context,
) -> Symbol:
    where = graph_pass.title
    before = _graph_of(symbol, args or {}, aux or {}, facts)
    names_before = Counter(node.name for node in before.nodes)
    new: tuple[Arrays, Arrays] = ({}, {})

    def allocate(name: str, shape: Sequence[int], dtype: Any, is_argument: bool) -> numpy.ndarray:
        array = place(NDArray, numpy.zeros(tuple(shape), dtype), resolve_context(ctx))
        new[not is_argument][name] = array
        return array._data

    graph = graph_pass.run(before, options, before.args, before.aux, allocate)
    if graph is not before:
        relinked(graph, editable(symbol))
    result = symbol_of(graph, where, type(symbol))
    if isinstance(graph_pass, PythonPass):  # libraries may name nodes as they like
        _require_different_names(where, graph, names_before)
    names = result.list_arguments(), result.list_auxiliary_states()
    _require_kinds(where, graph, names)
    for own, added_arrays in zip(new, (graph.new_args, graph.new_aux), strict=True):
        own.update({name: _on(array, ctx) for name, array in added_arrays.items()})
    lost = {*symbol.list_arguments()} - {*names[0]}, {*symbol.list_auxiliary_states()} - {*names[1]}
    tables = ("args", args), ("aux", aux)
    for (argument, table), added in zip(tables, new, strict=True):
        if added and table is None:
            raise RuntimeError(
                f"Cannot add new {argument} in optimize_for since {argument} is None\n"
                f"Provide a dictionary to the {argument} argument to optimize_for; {', '.join(added)} would be added."
            )
    for (argument, table), added, gone in zip(tables, new, lost, strict=True):
        if table is not None:
            table.update(added)
            for name in gone:
                table.pop(name, None)
        elif gone:
            warnings.warn(
                f"{where}: {', '.join(sorted(gone))} is not read any more, and there is no dictionary {argument}=... "
                "to remove it from. Leave it out of the arrays that the new symbol is bound with.",
                stacklevel=3,
            )
    return result


def _on(array: Any, ctx: Context) -> Any:
    return array if isinstance(array, Array) else place(NDArray, numpy.array(array), resolve_context(ctx))


def _require_different_names(where: str, graph: Graph, before: Mapping[str, int]) -> None:
    """Raise `EditingError` for nodes of one name, unless there were as many before."""
    for name, count in Counter(node.name for node in graph.nodes).items():
        if count > max(1, before.get(name, 0)):
            raise EditingError(f"{where}: {count} nodes are named {name!r}; give each a name of its own.")


def _require_kinds(where: str, graph: Graph, names: tuple[list[str], list[str]]) -> None:
    """Raise `EditingError` for a new argument that is a state, or the other way round."""
    for name in graph.new_args:
        if name in names[1]:
            raise EditingError(
                f"{where}: {name!r} was added as an argument, and is an auxiliary state: an operator changes it. Add "
                "it with Graph.add_auxiliary."
            )
    for name in graph.new_aux:
        if name in names[0]:
            raise EditingError(
                f"{where}: {name!r} was added as an auxiliary state, and is an argument: no operator changes it. Add "
                "it with Graph.add_argument."
            )
    for table, there in zip((graph.new_args, graph.new_aux), names, strict=True):
        for name in [name for name in table if name not in there]:
            del table[name]  # nobody reads it


def _check(where: str, backend: Any, args: Any, aux: Any, ctx: Any, stype_dict: Any) -> None:
    if not isinstance(backend, str):
        raise ArgumentError(f"optimize_for: the backend is {describe(backend)}; expected the name of one, a string.")
    for argument, table in (("args", args), ("aux", aux)):
        if table is None:
            continue
        if not isinstance(table, dict):
            raise ArgumentError(f"{where}: {argument} is {describe(table)}; expected a dict of names to NDArrays.")
        for name, array in table.items():
            if not isinstance(array, (Array, numpy.ndarray)):
                raise ArgumentError(f"{where}: {argument}[{name!r}] is {describe(array)}; expected an NDArray.")
    if ctx is not None and not isinstance(ctx, Context):
        raise ArgumentError(f"{where}: ctx is {describe(ctx)}; expected a Context, such as mx.cpu().")
    for name, kind in (stype_dict or {}).items():
        if kind != "default":
            raise ArgumentError(f"{where}: stype_dict[{name!r}] is {kind!r}; arrays are dense: 'default'.")
