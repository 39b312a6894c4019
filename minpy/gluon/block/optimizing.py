"""Blocks whose graphs are rewritten by partitioners and passes: `HybridBlock.optimize_for`, `hybridize(backend=...)`.

A block remembers the steps, that is backends and their options. Each graph that it is traced to, for whichever mode or
shapes, goes through all of them, and what a pass adds to one as a parameter is that of all.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy import ndarray as nd
from minpy import numpy as np
from minpy.autograd import mark_variables, pause
from minpy.context import Context, current_context
from minpy.core.dtypes import DTYPES
from minpy.core.errors import ArgumentError, ContextError, DTypeError, MXNetError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.argument_specs import Unhashable, flatten, unflatten
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.hybrid_forward import written_as_forward
from minpy.gluon.block.optimization_steps import Step
from minpy.gluon.parameter import DeferredInitializationError, Parameter
from minpy.gluon.parameter.unknown_shapes import is_complete
from minpy.graph.ir import Value
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["ExampleCall", "MadeParameter", "Optimizations", "optimized"]

# Held while a graph is rewritten: passes may write to parameters, and are to do so once.
_LOCK = threading.RLock()


class ExampleCall(NamedTuple):
    """What a block is optimized for: arrays, and the shapes and dtypes that symbols in their places have."""

    leaves: Sequence[Any]  # the arguments, in a flat list
    symbols: Mapping[int, tuple[Any, Any]]  # (shape or None, dtype), by the id of the array that stands for a symbol


class MadeParameter(Parameter):
    """A parameter of a graph that a pass has made, of an array that it takes over: learned, or else a state.

    It is on every device that it is asked for on.
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
            assert self._data is not None
            array = self._data[0].copyto(device or ctx or current_context())
            if self._grad is not None:
                gradient = array * 0
                mark_variables([array], [gradient], self._grad_req)
                self._grad.append(gradient)
            self._data.append(array)
            return array


class Optimizations:
    """The steps that the graphs of a block go through, and by name the parameters that came of them."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.parameters: dict[str, MadeParameter] = {}
        self._is_busy = False

    def followed(self) -> Optimizations:
        """Return others with the same steps, to which more can be added; what is made is that of both."""
        followed = Optimizations()
        followed.steps, followed.parameters = [*self.steps], self.parameters
        return followed

    def cast(self, dtype: Any) -> None:
        """Convert the parameters that were made to another dtype, as those of the block are."""
        for parameter in self.parameters.values():
            if numpy.dtype(parameter.dtype).kind == "f":
                parameter.cast(dtype)

    def apply(self, graph: CachedOp, call: ExampleCall, parameters: Mapping[str, Parameter]) -> CachedOp:
        """Return what a graph becomes by the steps that it has not gone through.

        If one fails, or what it makes cannot be called in the place of the graph, parameters are what they were.
        """
        if self._is_busy:
            raise MXNetError(
                f"{graph.name} is called by a backend that its graph goes through: there is no graph yet. Compute with "
                "the arrays of the graph's variables."
            )
        self._is_busy = True
        try:
            while graph.applied < len(self.steps):
                graph = self._applied(graph, self.steps[graph.applied], call, parameters)
        finally:
            self._is_busy = False
        return graph

    def _applied(self, graph: CachedOp, step: Step, call: ExampleCall, parameters: Mapping[str, Parameter]) -> CachedOp:
        _require_different_names(graph, step)
        context = _context_of(graph, call)
        values = _Values(graph, call, context)
        before = {**values.args, **values.aux}
        with pause():
            out = graph.out.optimize_for(
                step.backend, values.args, values.aux, context, values.shapes, values.dtypes, **step.options
            )
        if len(out.values) != len(graph.out.values):
            raise MXNetError(
                f"{graph.name}: {step.backend!r} made a graph of {len(out.values)} output(s) of one of "
                f"{len(graph.out.values)}. A block returns what it did before: let the pass keep the outputs."
            )
        states, read = set(out.list_auxiliary_states()), set(out.list_inputs())
        new_parameters: dict[str, MadeParameter] = {}
        for name, array in [*values.args.items(), *values.aux.items()]:
            array_before = before.get(name)
            if array_before is array or name not in read:
                continue
            if array_before is not None and (array_before.shape, array_before.dtype) == (array.shape, array.dtype):
                array_before[:] = array  # another array under a name that is there: a new value
                continue
            new_parameters[name] = MadeParameter(name, array, name not in states)
            made_before = self.parameters.get(name)
            if made_before is not None and made_before.shape == new_parameters[name].shape:
                new_parameters[name] = made_before
        rebuilt = _rebuilt(graph, out, step, {**parameters, **self.parameters, **new_parameters})
        values.require_fit(rebuilt, step)
        if not step.is_done:  # once, however many graphs there are
            values.write_back()
            step.is_done = True
        self.parameters.update(new_parameters)
        return rebuilt


def _rebuilt(graph: CachedOp, out: Symbol, step: Step, parameters: Mapping[str, Parameter]) -> CachedOp:
    """Return the graph with another symbol; arguments, parameters and other arrays are found by their names."""
    variables = {node.name: Symbol([Value(node)]) for node in out.order if node.operator is None}
    inputs = [None if variable is None else variables.get(str(variable.name), variable) for variable in graph.inputs]
    captured = [
        (variables[str(variable.name)], array)
        for variable, array in graph.captured
        if str(variable.name) in variables and str(variable.name) not in parameters
    ]
    captured_variables = [variable for variable, _ in captured]
    names = {str(variable.name) for variable in (*inputs, *captured_variables) if variable is not None}
    for name in variables:
        if name not in names and name not in parameters:
            raise MXNetError(
                f"{graph.name}: {step.backend!r} made a variable {name!r} that has no value. Let the pass allocate it "
                "(alloc_arg or alloc_aux in C++, graph.add_argument in Python)."
            )
    out_before = graph.out
    out = out.as_np_ndarray() if type(out_before) is type(out_before.as_np_ndarray()) else out.as_nd_ndarray()
    rebuilt = CachedOp(graph.name, inputs, out, graph.rebuild, parameters, captured)
    rebuilt.returns_numpy = graph.returns_numpy
    rebuilt.applied = graph.applied + 1
    return rebuilt


def _require_different_names(graph: CachedOp, step: Step) -> None:
    seen: set[str] = set()
    for node in graph.compiled.variables:
        if node.name in seen:
            raise MXNetError(
                f"{graph.name}: two variables of its graph are called {node.name!r}, and {step.backend!r} is to tell "
                "them by their names. Give the block or the parameter another name (prefix=...)."
            )
        seen.add(node.name)


def _context_of(graph: CachedOp, call: ExampleCall) -> Context:
    for leaf in call.leaves:
        if leaf is not None and id(leaf) not in call.symbols:
            context: Context = leaf.context
            return context
    contexts = graph.parameters[0].list_ctx() if graph.parameters else [current_context()]
    return current_context() if current_context() in contexts else contexts[0]


class _Values:
    """What a backend is given: copies of arrays, by name. What it writes to them is taken over when it is through."""

    def __init__(self, graph: CachedOp, call: ExampleCall, context: Context) -> None:
        self.args: dict[str, Any] = {}
        self.aux: dict[str, Any] = {}
        self.shapes: dict[str, Any] = {}
        self.dtypes: dict[str, Any] = {}
        self._copies: list[tuple[Parameter, Any]] = []
        self._all_known = True
        count = len(graph.compiled.arguments)
        for position, (node, source) in enumerate(zip(graph.compiled.variables, graph.sources, strict=True)):
            array = source
            if type(source) is int:
                array = call.leaves[source]
                if id(array) in call.symbols:
                    shape, dtype = call.symbols[id(array)]
                    if shape is None:
                        self._all_known = False
                    else:
                        self.shapes[node.name], self.dtypes[node.name] = shape, dtype
                    continue
            elif isinstance(source, Parameter):
                array = source.data(context)
            copied = array.copy()
            if isinstance(source, Parameter):
                self._copies.append((source, copied))
            (self.args if position < count else self.aux)[node.name] = copied

    def require_fit(self, graph: CachedOp, step: Step) -> None:
        """Raise the error for a graph whose parameters and arguments do not fit each other."""
        if not self._all_known:
            return
        shapes = {**self.shapes, **{name: array.shape for name, array in {**self.args, **self.aux}.items()}}
        names = set(graph.out.list_inputs())
        try:
            graph.out.infer_shape_partial(**{name: shape for name, shape in shapes.items() if name in names})
        except (ShapeError, DTypeError) as error:
            raise type(error)(f"{graph.name}: what {step.backend!r} made of its graph does not fit. {error}") from error

    def write_back(self) -> None:
        """Give parameters what was written to their copies."""
        for parameter, copied in self._copies:
            if not numpy.array_equal(copied._data, parameter.list_data()[0]._data):
                parameter.set_data(copied)


def optimized(block: Any, args: Sequence[Any]) -> CachedOp:
    """Return the graph of a block for arguments, arrays or variables, when it has gone through all steps.

    It takes the place of the graph before.
    """
    args, symbols = _arrays_for_symbols(block, args)
    written = written_as_forward(block) if any(shape is None for shape, _ in symbols.values()) else ()
    if written:
        raise ArgumentError(
            f"{block.name}.optimize_for: a variable has no shape, and {written[0].name} defines forward, which may "
            "ask for it. Give arrays, or variables with shapes: mx.sym.var('x', shape=(2, 3))."
        )
    with _LOCK:
        try:
            graph, leaves = block._graphs.find(block, args)
        except Unhashable as error:
            raise ArgumentError(
                f"{block.name} cannot be optimized for {block._backend!r}: among its arguments there is {error}. "
                "Give it to the block when it is made, or call hybridize() without a backend."
            ) from error
        if graph.is_settled:  # by another thread
            return graph
        steps, call = block._optimizations, ExampleCall(leaves, symbols)
        try:
            rewritten = steps.apply(graph, call, block._parameters_by_name())
        except DeferredInitializationError:
            if any(shape is None for shape, _ in symbols.values()):
                raise
            block._initialize_deferred(args)
            rewritten = steps.apply(graph, call, block._parameters_by_name())
        block._prepare(rewritten)
        block._graphs.replace(graph, rewritten)
        if block._cached_graph and block._cached_graph[1] is graph.out:
            block._show(rewritten)
        return rewritten


def _first_context(block: Any) -> Context:
    """Return a device of the first parameter of a block that is initialized."""
    for parameter in block.collect_params().values():
        if parameter._data is not None or parameter._deferred_init:
            context: Context = parameter.list_ctx()[0]
            return context
    return current_context()


def _arrays_for_symbols(block: Any, args: Any) -> tuple[Any, dict[int, tuple[Any, Any]]]:
    """Return arguments with arrays in the places of symbols, and what is known of these; see `ExampleCall`."""
    symbols: list[Symbol] = []
    spec = flatten(args, symbols, Symbol)
    if not symbols:
        return args, {}
    arrays: list[Any] = []
    flatten(args, arrays, NDArray)
    context = arrays[0].context if arrays else _first_context(block)
    facts: dict[int, tuple[Any, Any]] = {}
    zeros = []
    for argument in symbols:
        if len(argument.values) != 1:
            raise ArgumentError(f"{block.name}.optimize_for: an argument is {describe(argument)}, of several outputs.")
        shape, dtype_number = _attribute(argument, "__shape__"), _attribute(argument, "__dtype__")
        is_known = isinstance(shape, tuple) and is_complete(shape)
        dtype = DTYPES.get(dtype_number, numpy.dtype("float32"))
        front_end = np if is_np_array() or argument.in_numpy else nd
        zeros.append(front_end.zeros(shape if is_known else (1,), dtype=dtype, ctx=context))
        facts[id(zeros[-1])] = (shape if is_known else None, dtype)
    return unflatten(spec, zeros), facts


def _attribute(variable: Symbol, key: str) -> Any:
    """Return the shape or the number of the dtype that was given when a variable was made."""
    text = variable.attr(key)
    try:
        return None if text is None else ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
