"""`bind` and `simple_bind`: an executor made of a symbol and arrays, and checks of their arguments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from minpy.context import Context, current_context
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError, describe, nearest
from minpy.graph.ir import Node, Value, variables
from minpy.ndarray.creation import zeros
from minpy.ndarray.ndarray import NDArray
from minpy.ops.inference.partial_shapes import is_known
from minpy.symbol.context_groups import context_groups, place_nodes
from minpy.symbol.symbol import Symbol, method

if TYPE_CHECKING:
    from minpy.graph.compiled import ValueFacts
    from minpy.symbol.executor import Executor

# What runs graphs is large, and is imported by the first symbol that is bound.

__all__ = ["bind", "infer_facts", "simple_bind"]

_REQUESTS = ("write", "add", "null")


def _by_name(arrays: Any, names: Sequence[str], noun: str, optional: bool = False) -> list[Any]:
    """Return arrays in the order of `names`, from a list or a dict of them."""
    if arrays is None and (optional or not names):
        return [None] * len(names)
    if isinstance(arrays, Mapping):
        unknown = [name for name in arrays if name not in names]
        missing = [name for name in names if name not in arrays]
        if missing and not optional:
            raise ArgumentValueError(
                f"bind: {noun}(s) {', '.join(map(repr, missing))} missing; expected {', '.join(names)}."
                + (f" Unknown: {', '.join(map(repr, unknown))}.{nearest(unknown[0], missing)}" if unknown else "")
            )
        return [arrays.get(name) for name in names]
    if arrays is None:
        raise ArgumentError(f"bind: no {noun}s are given; expected {', '.join(names)}.")
    if not isinstance(arrays, (list, tuple)):
        raise ArgumentError(
            f"bind: the {noun}s are {describe(arrays)}; expected a list or dict of NDArrays: {', '.join(names)}."
        )
    if len(arrays) != len(names):
        raise ArgumentValueError(f"bind: {len(arrays)} {noun}s given; expected {len(names)}: {', '.join(names)}.")
    return list(arrays)


def _warn_of_unknown(caller: str, arguments: Mapping[str, Any], names: Sequence[str], level: int) -> None:
    """Warn of names that a symbol does not have; they are not used. The user's call is `level` frames further up."""
    for name in arguments:
        if name not in names:
            warnings.warn(
                f"{caller} names {name!r}, which is no argument and is not used; the symbol has {', '.join(names)}."
                + nearest(name, names),
                UserWarning,
                stacklevel=level + 1,
            )


def _requests(grad_req: Any, names: Sequence[str]) -> list[str]:
    if isinstance(grad_req, str):
        requests = [grad_req] * len(names)
    elif isinstance(grad_req, Mapping):
        _warn_of_unknown("bind: grad_req", grad_req, names, 3)
        requests = [grad_req.get(name, "null") for name in names]
    else:
        if not isinstance(grad_req, (list, tuple)):
            raise ArgumentError(
                f"bind: grad_req is {describe(grad_req)}; expected 'write', 'add' or 'null', or a list or dict of them."
            )
        requests = list(grad_req)
        if len(requests) != len(names):
            raise ArgumentError(f"bind: grad_req has {len(requests)} entries for {len(names)} arguments.")
    for name, request in zip(names, requests, strict=True):
        if request not in _REQUESTS:
            raise ArgumentError(f"bind: grad_req of {name!r} is {request!r}; expected 'write', 'add' or 'null'.")
    return requests


def _require_arrays(arrays: Sequence[Any], names: Sequence[str], noun: str, optional: bool = False) -> None:
    for name, array in zip(names, arrays, strict=True):
        if array is None and not optional:
            raise ArgumentError(f"bind: {noun} {name!r} is None; expected {', '.join(names)}.")
        if array is not None and not isinstance(array, NDArray):
            raise ArgumentError(f"bind: {noun} {name!r} is {describe(array)}; expected an NDArray: mx.nd.array(...).")


def _require_memory_apart(names: Sequence[str], arguments: Sequence[Any], gradients: Sequence[Any]) -> None:
    for name, gradient in zip(names, gradients, strict=True):
        for argument_name, argument in zip(names, arguments, strict=True):
            if gradient is not None and numpy.may_share_memory(gradient._data, argument._data):
                raise ArgumentError(
                    f"bind: the gradient of {name!r} shares memory with the argument {argument_name!r}, which backward "
                    "still reads. Give the gradient an array of its own, such as mx.nd.zeros(shape)."
                )


def _require_different_names(symbol: Symbol) -> None:
    names: dict[str, Node] = {}
    for node in symbol.order:
        if node.operator is None and names.setdefault(node.name, node) is not node:
            raise ArgumentError(
                f"bind: two variables are named {node.name!r}. Use one variable in both places, or two names."
            )


@method
def bind(
    self: Symbol,
    ctx: Any = None,
    args: Any = None,
    args_grad: Any = None,
    grad_req: Any = "write",
    aux_states: Any = None,
    group2ctx: Any = None,
    shared_exec: Any = None,
) -> Executor:
    """Return an executor that runs the graph on given arrays.

    Parameters
    ----------
    ctx : Context, optional
    args : list or dict of NDArray
        For every argument, in the order of `list_arguments` or by name.
    args_grad : list or dict of NDArray, optional
        Where gradients are written; arguments without one get none.
    grad_req : str, or list or dict of str
        'write', 'add' or 'null', for all arguments or for each. Names that the symbol does not have are not used; a
        warning says so.
    aux_states : list or dict of NDArray, optional
        For every auxiliary state.
    group2ctx : dict of str to Context, optional
        Where the groups of `AttrScope(ctx_group=...)` lie: outputs are on their group's context.
    shared_exec
        Accepted for MXNet's sake.

    Raises
    ------
    ArgumentError
        For missing or unknown names, wrong counts, two variables of one name, what is no NDArray, or a group that
        `group2ctx` does not name.
    ShapeError
        If the arrays' shapes do not fit the graph, or each other.
    """
    _require_different_names(self)
    names, state_names = self.list_arguments(), self.list_auxiliary_states()
    arguments = _by_name(args, names, "argument")
    states = _by_name(aux_states, state_names, "auxiliary state")
    requests = _requests(grad_req, names)
    gradients = _by_name(args_grad, names, "gradient", optional=True)
    _require_arrays(arguments, names, "argument")
    _require_arrays(states, state_names, "auxiliary state")
    _require_arrays(gradients, names, "the gradient of", optional=True)
    for name, gradient, argument in zip(names, gradients, arguments, strict=True):
        if gradient is not None and gradient.shape != argument.shape:
            raise ShapeError(
                f"bind: the gradient of {name!r} has shape {gradient.shape}; expected {argument.shape}, the argument's."
            )
        if gradient is not None and gradient.dtype != argument.dtype:
            raise DTypeError(
                f"bind: the gradient of {name!r} has dtype {describe(gradient).split()[0]}; expected "
                f"{describe(argument).split()[0]}, the argument's."
            )
    from minpy.symbol.executor import Executor

    _require_memory_apart(names, arguments, gradients)
    context = Context(ctx) if ctx is not None else current_context()
    groups = context_groups("bind", group2ctx)
    where = place_nodes("bind", self, context, groups)
    places = [where[value.node] for value in self.values] if groups else None
    return Executor(self, context, arguments, gradients, requests, states, places=places)


def _about_zeros(shapes: Mapping[str, Any]) -> str:
    """Return what to do about a length of 0 in a given shape, which MXNet reads as one that is not known."""
    for name, shape in shapes.items():
        if isinstance(shape, (tuple, list)) and 0 in shape:
            return (
                f" The 0 in {name}={tuple(shape)} stands for a length that is not known. For an array that has none, "
                f"give the arrays themselves: symbol.bind(ctx, {{{name!r}: nd.zeros({tuple(shape)}), ...}})."
            )
    return ""


@method
def simple_bind(
    self: Symbol,
    ctx: Any = None,
    grad_req: Any = "write",
    type_dict: Any = None,
    stype_dict: Any = None,
    group2ctx: Any = None,
    shared_arg_names: Any = None,
    shared_exec: Any = None,
    shared_buffer: Any = None,
    **kwargs: Any,
) -> Executor:
    """Return an executor with new arrays (zeros) of shapes and dtypes inferred from some.

    Parameters
    ----------
    ctx : Context, optional
    grad_req : str, or list or dict of str
        As for `bind`; arrays for gradients are made where they are asked for.
    type_dict : dict of str to dtype, optional
        Dtypes of arguments; float32 where nothing is said or follows.
    group2ctx : dict of str to Context, optional
        Where the groups of `AttrScope(ctx_group=...)` lie: the arrays of their variables, gradients and outputs are
        made there, all others on `ctx`.
    stype_dict, shared_arg_names, shared_exec, shared_buffer
        Accepted for MXNet's sake.
    **kwargs : tuple of int
        Shapes of arguments. Names that the symbol does not have are not used; a warning says so.

    Raises
    ------
    ShapeError
        If the shapes contradict each other, or are not enough: says which are not known.
    ArgumentError
        If a node is of a group that `group2ctx` does not name.

    Examples
    --------
    >>> import minpy as mx
    >>> with mx.AttrScope(ctx_group='first'):
    ...     x = mx.sym.var('x')
    >>> executor = (x * 2).simple_bind(mx.cpu(0), group2ctx={'first': mx.cpu(1)}, x=(2,))
    >>> executor.arg_dict['x'].context, executor.outputs[0].context
    (cpu(1), cpu(1))
    """
    _require_different_names(self)
    argument_nodes, state_nodes = variables(self.order)
    names = [node.name for node in argument_nodes]
    inputs = [*names, *(node.name for node in state_nodes)]
    _warn_of_unknown("simple_bind", kwargs, inputs, 2)
    shapes = {name: shape for name, shape in kwargs.items() if name in inputs}
    facts = infer_facts(self, type_dict or {}, shapes)
    context = Context(ctx) if ctx is not None else current_context()
    where = place_nodes("simple_bind", self, context, context_groups("simple_bind", group2ctx))

    from minpy.symbol.executor import Executor

    def new_arrays(nodes: Sequence[Node]) -> list[NDArray]:
        return [zeros(facts.shapes[Value(node)], where[node], facts.dtypes[Value(node)]) for node in nodes]

    requests = _requests(grad_req, names)
    arguments = new_arrays(argument_nodes)
    gradients = [
        zeros(array.shape, array.context, array.dtype) if request != "null" else None
        for array, request in zip(arguments, requests, strict=True)
    ]
    places = [where[value.node] for value in self.values]
    return Executor(self, context, arguments, gradients, requests, new_arrays(state_nodes), facts, places)


def infer_facts(symbol: Symbol, types: Mapping[str, Any], shapes: Mapping[str, Any]) -> ValueFacts:
    """Return the shapes and dtypes of all values, float32 where nothing else is said or follows."""
    from minpy.graph.compiled import ValueFacts
    from minpy.symbol.executor import missing_text

    dtypes = symbol._infer_type("simple_bind", (), types, default="float32").known
    facts = ValueFacts(symbol._infer_shape("simple_bind", (), shapes, dtypes).known, dtypes)
    for node in symbol.order:
        if node.operator is None and not is_known(facts.shapes.get(Value(node))):
            raise ShapeError(
                f"simple_bind: not all shapes follow from what is given; {missing_text(symbol, shapes)}"
                + _about_zeros(shapes)
            )
    return facts


@method
def eval(self: Symbol, ctx: Any = None, **kwargs: Any) -> list[Any]:
    """Compute the outputs from arrays given by name; return a list of NDArrays.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x')
    >>> (x + 1).eval(x=mx.nd.array([1, 2]))[0].asnumpy()
    array([2., 3.], dtype=float32)
    """
    return bind(self, ctx, kwargs, grad_req="null").forward()
