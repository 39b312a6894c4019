"""Blocks whose graphs are rewritten by partitioners and passes: `HybridBlock.optimize_for`, `hybridize(backend=...)`.

A block remembers the steps, that is backends and their options. Each graph that it is traced to, for whichever mode or
shapes, goes through all of them, and what a pass adds to one as a parameter is that of all.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy import ndarray as nd
from minpy import numpy as np
from minpy.autograd import mark_variables, pause
from minpy.context import Context, current_context
from minpy.core.errors import ArgumentError, ContextError, MXNetError, describe
from minpy.core.switches import is_np_array
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.templates import filled, template_of
from minpy.gluon.parameter import Parameter
from minpy.gluon.parameter.shapes import is_complete
from minpy.graph.ir import Value
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES
from minpy.ndarray import NDArray
from minpy.ops.dtypes import DTYPES
from minpy.symbol import Symbol

__all__ = ["LOCK", "Given", "MadeParameter", "Optimizations", "Step", "stand_ins", "taken_options"]

# Held while a graph is rewritten: passes may write to parameters, and are to do so once.
LOCK = threading.RLock()


class Step(NamedTuple):
    """One call of `optimize_for`.

    Parameters
    ----------
    backend : str
        The name of a partitioner or of a pass.
    options : mapping of str
    """

    backend: str
    options: Mapping[str, Any]


class Given(NamedTuple):
    """What a block is optimized for: arrays, and the shapes and dtypes that symbols in their places have.

    Parameters
    ----------
    leaves : sequence of NDArray or None
        The arguments, in a flat list.
    symbols : mapping of int to (shape or None, dtype)
        By the id of the array that stands for it: what is known of a symbol.
    """

    leaves: Sequence[Any]
    symbols: Mapping[int, tuple[Any, Any]]


class MadeParameter(Parameter):
    """A parameter of a graph that a pass has made. It is on every device that it is asked for on.

    Parameters
    ----------
    name : str
    array : NDArray
        Its value, which it takes over.
    is_argument : bool
        Whether it is learned, or else a state.
    """

    def __init__(self, name: str, array: NDArray, is_argument: bool) -> None:
        learns = is_argument and array._data.dtype.kind == "f"
        super().__init__(
            name,
            grad_req="write" if learns else "null",
            shape=tuple(array.shape),
            dtype=array._data.dtype,
            differentiable=learns,
        )
        self._init_impl(array, [array.context], owned=True)

    def data(self, ctx: Context | None = None, *, device: Context | None = None) -> Any:
        """Return its array on a context; see `Parameter.data`."""
        try:
            return super().data(ctx, device=device)
        except ContextError:
            place = device or ctx or current_context()
            return self._placed(place)

    def _placed(self, place: Context) -> Any:
        assert self._data is not None
        array = self._data[0].copyto(place)
        if self._grad is not None:
            gradient = array * 0
            mark_variables([array], [gradient], self._grad_req)
            self._grad.append(gradient)
        self._data.append(array)
        return array


class Optimizations:
    """The steps that the graphs of a block go through, and the parameters that came of them.

    Attributes
    ----------
    steps : list of Step
    made : dict of str to MadeParameter
        By name.
    """

    def __init__(self, steps: Sequence[Step] = (), made: Mapping[str, MadeParameter] | None = None) -> None:
        self.steps = [*steps]
        self.made = dict(made or {})

    def copy(self) -> Optimizations:
        """Return others that are the same, and change on their own."""
        return Optimizations(self.steps, self.made)

    def apply(self, graph: CachedGraph, given: Given, parameters: Mapping[str, Parameter]) -> CachedGraph:
        """Return what a graph becomes by the steps that it has not gone through.

        Parameters
        ----------
        graph : CachedGraph
        given : Given
        parameters : mapping of str to Parameter
            Those of the block and of all inside, by name.

        Raises
        ------
        DeferredInitializationError
            If a parameter has no value yet.
        MXNetError
            If a step fails, or makes something of the graph that cannot be called in its place. Parameters and graph
            are what they were then, unless a pass has written to them.
        """
        made = dict(self.made)
        while graph.applied < len(self.steps):
            graph = _applied(graph, self.steps[graph.applied], given, parameters, made)
        self.made = made
        return graph


def _applied(
    graph: CachedGraph, step: Step, given: Given, parameters: Mapping[str, Parameter], made: dict[str, MadeParameter]
) -> CachedGraph:
    _require_different_names(graph, step)
    context = _context_of(graph, given)
    args, aux, shapes, dtypes = _values(graph, given, context)
    before = {**args, **aux}
    copies = _spread(graph)
    with pause():
        out = graph.out.optimize_for(step.backend, args, aux, context, shapes, dtypes, **step.options)
        for parameter, copy in copies:
            if not numpy.array_equal(copy, parameter.data(context)._data):
                parameter.set_data(parameter.data(context))
    if len(out.values) != len(graph.out.values):
        raise MXNetError(
            f"{graph.name}: {step.backend!r} made a graph of {len(out.values)} output(s) of one of "
            f"{len(graph.out.values)}. A block returns what it did before: let the pass keep the outputs."
        )
    states = set(out.list_auxiliary_states())
    for name, array in [*args.items(), *aux.items()]:
        if before.get(name) is not array:
            there = made.get(name)
            if there is None or (there.shape, numpy.dtype(there.dtype)) != (array.shape, array._data.dtype):
                made[name] = MadeParameter(name, array, name not in states)
    return _rebuilt(graph, out, step, {**parameters, **made}, made)


def _rebuilt(
    graph: CachedGraph,
    out: Symbol,
    step: Step,
    parameters: Mapping[str, Parameter],
    made: Mapping[str, MadeParameter],
) -> CachedGraph:
    """Return the graph with another symbol; arguments, parameters and other arrays are found by their names."""
    variables = {node.name: Symbol([Value(node)]) for node in out.order if node.operator is None}
    inputs = [None if one is None else variables.get(str(one.name), one) for one in graph.inputs]
    captured = [
        (variables[str(one.name)], array)
        for one, array in graph.captured
        if str(one.name) in variables and str(one.name) not in made
    ]
    known = {str(one.name) for one in (*inputs, *(one for one, _ in captured)) if one is not None} | parameters.keys()
    for name in variables:
        if name not in known:
            raise MXNetError(
                f"{graph.name}: {step.backend!r} made a variable {name!r} that has no value. Let the pass allocate it "
                "(alloc_arg or alloc_aux in C++, graph.add_argument in Python)."
            )
    kept = graph.out
    out = out.as_np_ndarray() if type(kept) is type(kept.as_np_ndarray()) else out.as_nd_ndarray()
    rebuilt = CachedGraph(graph.name, inputs, out, graph.rebuild, parameters, captured)
    rebuilt.applied = graph.applied + 1
    return rebuilt


def _require_different_names(graph: CachedGraph, step: Step) -> None:
    seen: set[str] = set()
    for node in graph.compiled.variables:
        if node.name in seen:
            raise MXNetError(
                f"{graph.name}: two variables of its graph are called {node.name!r}, and {step.backend!r} is to tell "
                "them by their names. Give the block or the parameter another name (prefix=...)."
            )
        seen.add(node.name)


def _context_of(graph: CachedGraph, given: Given) -> Context:
    for leaf in given.leaves:
        if leaf is not None and id(leaf) not in given.symbols:
            context: Context = leaf.context
            return context
    for parameter in graph.parameters:
        places = parameter.list_ctx()
        return current_context() if current_context() in places else places[0]
    return current_context()


def _values(graph: CachedGraph, given: Given, context: Context) -> tuple[Any, ...]:
    """Return the arrays of arguments and of states by name, and what is known of those that have none."""
    args: dict[str, Any] = {}
    aux: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    count = len(graph.compiled.arguments)
    for position, (node, source) in enumerate(zip(graph.compiled.variables, graph.sources, strict=True)):
        if type(source) is int:
            leaf = given.leaves[source]
            if id(leaf) in given.symbols:
                shape, dtype = given.symbols[id(leaf)]
                if shape is not None:
                    shapes[node.name], dtypes[node.name] = shape, dtype
                continue
            source = leaf
        elif isinstance(source, Parameter):
            source = source.data(context)
        (args if position < count else aux)[node.name] = source
    return args, aux, shapes or None, dtypes or None


def _spread(graph: CachedGraph) -> list[tuple[Parameter, numpy.ndarray]]:
    """Return copies of parameters that lie on several devices: a pass writes to one of them."""
    several = [one for one in graph.parameters if one._data is not None and len(one._data) > 1]
    return [(one, one.list_data()[0]._data.copy()) for one in several]


def taken_options(backend: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options of a backend before that this one takes, too."""
    there: Any = PARTITIONERS.get(backend) or PASSES.get(backend)
    if there is None:
        return dict(options)
    return {key: value for key, value in options.items() if _takes(there, key, value)}


def _takes(there: Any, key: str, value: Any) -> bool:
    try:
        there.check_options({key: value})
    except ArgumentError:
        return False
    return True


def stand_ins(name: str, args: Any, contexts: Callable[[], Sequence[Context]]) -> tuple[Any, dict[int, tuple[Any, Any]]]:
    """Return arguments with arrays in the places of symbols, and what is known of these.

    Parameters
    ----------
    name : str
        Of the block.
    args : nested list, tuple or dict of NDArray or Symbol
    contexts : callable
        Returns where the parameters are.

    Returns
    -------
    args
    known : dict of int to (shape or None, dtype)
        By the ids of the arrays.
    """
    symbols: list[Symbol] = []
    template = template_of(args, symbols, Symbol)
    if not symbols:
        return args, {}
    arrays: list[Any] = []
    template_of(args, arrays, NDArray)
    place = arrays[0].context if arrays else next(iter(contexts()), current_context())
    known: dict[int, tuple[Any, Any]] = {}
    made = []
    for one in symbols:
        if len(one.values) != 1:
            raise ArgumentError(f"{name}.optimize_for: an argument is {describe(one)}, of several outputs.")
        shape, dtype = _noted(one, "__shape__"), _noted(one, "__dtype__")
        complete = isinstance(shape, tuple) and is_complete(shape)
        kind = DTYPES.get(dtype, numpy.dtype("float32"))
        array = (np if is_np_array() else nd).zeros(shape if complete else (1,), dtype=kind, ctx=place)
        known[id(array)] = (shape if complete else None, array._data.dtype)
        made.append(array)
    return filled(template, made), known


def _noted(variable: Symbol, key: str) -> Any:
    """Return the shape or the number of the dtype that was given when a variable was made."""
    text = variable.attr(key)
    try:
        return None if text is None else ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
