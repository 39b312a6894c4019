"""Imperative differentiation: `record`, `backward`, `grad`, with MXNet's semantics.

Examples
--------
>>> import minpy as mx
>>> x = mx.nd.array([1, 2, 3])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad
<BLANKLINE>
[2. 4. 6.]
<NDArray 3 @cpu(0)>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from minpy.core import tape_walk
from minpy.core.array import Array
from minpy.core.backward import backward as backward_from
from minpy.core.backward import head_gradient, require_recorded
from minpy.core.buffers import owned
from minpy.core.errors import ArgumentError, NotRecordedError, describe
from minpy.core.nodes import connect, record_node
from minpy.core.state import Scope, questions, state
from minpy.importing import import_module
from minpy.namespaces import listing, missing
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.variables import mark_variable
from minpy.ops.registry import operator

if TYPE_CHECKING:
    from minpy.custom.function import Function
    from minpy.symbol.symbol import Symbol

__all__ = [
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]
__dir__ = listing(__all__)


def __getattr__(name: str) -> Any:
    if name == "Function":
        return globals().setdefault(name, import_module("minpy.custom.function").Function)
    return missing("minpy.autograd", "name", __all__)(name)


# Scopes keep nothing of those that have entered them: all threads may use the same ones.
_RECORDING, _PAUSED = Scope(True, True), Scope(False, False)


def is_recording() -> bool:
    """Tell whether this thread records operations.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> with autograd.record():
    ...     autograd.is_recording()
    True
    """
    questions.recording = True
    return state.recording == 1  # 2 while a block is traced that is called outside of scopes that record


def is_training() -> bool:
    """Tell whether operators of this thread run as in training (dropout drops, batch norm normalizes by batch).

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> with autograd.record(train_mode=False):
    ...     autograd.is_training()
    False
    """
    questions.training = True
    return bool(state.training)


def set_recording(is_recording: bool) -> bool:
    """Set whether this thread records, and return what it was.

    Parameters
    ----------
    is_recording : bool

    Returns
    -------
    bool

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> autograd.set_recording(True)
    False
    >>> autograd.set_recording(False)
    True
    """
    previous = state.recording == 1
    state.recording = bool(is_recording)
    return previous


def set_training(train_mode: bool) -> bool:
    """Set whether this thread runs operators as in training, and return what it was.

    Parameters
    ----------
    train_mode : bool

    Returns
    -------
    bool

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> autograd.set_training(True)
    False
    >>> autograd.set_training(False)
    True
    """
    previous = bool(state.training)
    state.training = bool(train_mode)
    return previous


def record(train_mode: bool = True) -> Scope:
    """Return a scope inside which operations on variables are recorded.

    Parameters
    ----------
    train_mode : bool
        Whether operators run as in training inside it.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> x = mx.nd.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4.], dtype=float32)
    """
    return _RECORDING if train_mode is True else Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """Return a scope inside which nothing is recorded.

    Parameters
    ----------
    train_mode : bool
        Whether operators run as in training inside it.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> with autograd.record():
    ...     with autograd.pause():
    ...         autograd.is_recording()
    False
    """
    return _PAUSED if train_mode is False else Scope(False, train_mode)


def train_mode() -> Scope:
    """Return a scope inside which operators run as in training; recording is left as it is.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> with autograd.train_mode():
    ...     autograd.is_training(), autograd.is_recording()
    (True, False)
    """
    return Scope(None, True)


def predict_mode() -> Scope:
    """Return a scope inside which operators run as in prediction; recording is left as it is.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> with autograd.record(), autograd.predict_mode():
    ...     autograd.is_training(), autograd.is_recording()
    (False, True)
    """
    return Scope(None, False)


def mark_variables(
    variables: NDArray | Sequence[NDArray],
    gradients: NDArray | Sequence[NDArray],
    grad_reqs: str | Sequence[str] = "write",
) -> None:
    """Make arrays variables whose gradients `backward` writes into the given arrays.

    Parameters
    ----------
    variables, gradients : NDArray or sequence of NDArray
        In pairs of equal shapes.
    grad_reqs : str or sequence of str
        'write', 'add' or 'null', for all or for each.

    Raises
    ------
    ArgumentError, ShapeError, DTypeError
        If the numbers, the shapes, a request or a dtype do not fit.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> x, dx = mx.nd.array([3.0]), mx.nd.zeros(1)
    >>> autograd.mark_variables(x, dx)
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> float(dx)
    6.0
    """
    variables = _as_list(variables, "variables")
    gradients = _as_list(gradients, "gradients")
    grad_req = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(grad_req):
        raise ArgumentError(
            f"mark_variables: got {len(variables)} variables, {len(gradients)} gradients and {len(grad_req)} "
            "grad_reqs; give one of each for every variable."
        )
    for variable, gradient, request in zip(variables, gradients, grad_req, strict=True):
        mark_variable(variable, gradient, request)


def backward(
    heads: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Compute the gradients of the heads with respect to every variable they were recorded from.

    Parameters
    ----------
    heads : NDArray or sequence of NDArray
        Arrays computed under `record`.
    head_grads : NDArray or sequence, optional
        Gradients to start with, of the heads' shapes; ones by default (None for a single one).
    retain_graph : bool
        Keep the graph for another backward.
    train_mode : bool
        Whether the rules run as in training.

    Raises
    ------
    NotRecordedError, GraphFreedError, NoGradientError, MutationError, GradientError
        Before any gradient is written.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> x = mx.nd.array([3.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y, z = 2 * x, x * x
    >>> autograd.backward([y, z])
    >>> float(x.grad)
    8.0
    """
    heads = _as_list(heads, "heads")
    if not heads:
        raise ArgumentError("backward: heads is empty; give the arrays to differentiate.")
    backward_from(heads, _head_gradients(heads, head_grads), retain_graph, train_mode)


def grad(
    heads: NDArray | Sequence[NDArray],
    variables: NDArray | Sequence[NDArray],
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[Any]:
    """Return the gradients of the heads with respect to the variables, and write nothing.

    Parameters
    ----------
    heads, head_grads, train_mode
        As for `backward`.
    variables : NDArray or sequence of NDArray
        Arrays that the heads were computed from: variables or intermediate results.
    retain_graph : bool, optional
        Keep the graph; by default as `create_graph` says.
    create_graph : bool
        Record the gradients' own computation, so that they can be differentiated again.

    Returns
    -------
    list of NDArray
        One for each variable, also if `variables` is a single array. Zeros where the heads do not depend on it.

    Raises
    ------
    NotRecordedError
        If a head or a variable is not on the tape.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy import autograd
    >>> x = mx.nd.array([3.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * x * x
    ...     [dx] = autograd.grad(y, x, create_graph=True)
    >>> float(dx)
    27.0
    """
    heads = _as_list(heads, "heads")
    variables = _as_list(variables, "variables")
    if not variables:
        raise ArgumentError("grad: variables is empty; give the arrays to differentiate with respect to.")
    nodes = [require_recorded(head, "grad") for head in heads]
    for position, variable in enumerate(variables):
        if variable._node is None:
            raise NotRecordedError(
                f"grad: variable {position} ({describe(variable._data)}) is not on the tape. Call attach_grad() on it "
                "before the computation is recorded."
            )
    seeds = _head_gradients(heads, head_grads)
    starts: list[Any] = list(map(head_gradient, heads, seeds))
    if create_graph:
        starts = list(map(connect, starts, [seed._node if isinstance(seed, Array) else None for seed in seeds]))
    del seeds
    with Scope(create_graph, train_mode):
        gradient_of = tape_walk.gradients(
            nodes,
            starts,
            [variable._node for variable in variables],
            retain_graph=create_graph if retain_graph is None else retain_graph,
            create_graph=create_graph,
        )
    del starts
    results = [_result(gradient_of, variable) for variable in variables]
    return [_on_tape(*pair) for pair in zip(results, variables, strict=True)] if create_graph else results


def _result(gradient_of: dict[Any, Any], variable: NDArray) -> Any:
    """Return the gradient of a variable in memory of its own: rules may return what they were given."""
    gradient = gradient_of.get(variable._node)
    if gradient is None:
        return variable._like(numpy.zeros_like(variable._data))
    if isinstance(gradient, Array):
        return variable._like(gradient._data.copy(), gradient._node)
    del gradient
    return variable._like(owned(gradient_of, variable._node))


@operator(name="_constant", public=False)
def _constant(value: numpy.ndarray, variable: numpy.ndarray) -> numpy.ndarray:
    """Return `value`, which does not depend on `variable`."""
    return value


_constant.def_grad_zero()


def _on_tape(result: NDArray, variable: NDArray) -> NDArray:
    """Return a gradient such that it can be differentiated: also one that is constant, as that of a linear function."""
    if result._node is not None:
        return result
    node = record_node(_constant, (None, None), None, {}, (None, variable._node))
    node.shape, node.dtype = result.shape, result._data.dtype
    return result._like(result._data, node)


def _as_list(arrays: Any, subject: str) -> list[Any]:
    values = [arrays] if isinstance(arrays, NDArray) else list(arrays) if isinstance(arrays, (list, tuple)) else None
    if values is None or not all(isinstance(value, NDArray) for value in values):
        raise ArgumentError(f"{subject} must be an NDArray or a list of NDArrays, got {describe(arrays)}.")
    return values


def _head_gradients(heads: list[Any], head_grads: Any) -> list[Any]:
    if head_grads is None:
        return [None] * len(heads)
    gradients = [head_grads] if isinstance(head_grads, (Array, numpy.ndarray)) else list(head_grads)
    if len(gradients) != len(heads):
        raise ArgumentError(f"got {len(heads)} heads and {len(gradients)} head gradients; give one (or None) for each.")
    return gradients


def get_symbol(x: NDArray) -> Symbol:
    """Return the computation that led to a recorded array, as a symbol.

    Parameters
    ----------
    x : NDArray
        Computed under `record()`.

    Returns
    -------
    Symbol
        Variables are named `var0`, `var1`, ... in the order of their use. Inputs that needed no gradient are variables,
        too: recording does not keep their values where no gradient reads them. A hybridized block is the operators in
        it, under their names.

    Raises
    ------
    NotRecordedError, GraphFreedError
        If the array was not recorded, or its graph has been freed by `backward`.
    ArgumentError
        If it depends on something that is no operator, such as an `autograd.Function`.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.tanh(x * x)
    >>> mx.autograd.get_symbol(y).list_arguments()
    ['var0']
    """
    from minpy.symbol.recorded import recorded_symbol  # few programs ask for it

    return recorded_symbol(x)
