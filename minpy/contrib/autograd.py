"""`mx.contrib.autograd`: the first interface of MXNet's autograd, which recorded wherever a program trained.

What it does is `minpy.autograd`'s; new programs use that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from minpy import autograd as _autograd
from minpy.core.errors import ArgumentError, describe
from minpy.namespaces import listing
from minpy.ndarray import NDArray, zeros_like

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]
__dir__ = listing(__all__)

mark_variables = _autograd.mark_variables


def set_is_training(is_train: bool) -> bool:
    """Switch recording and training mode of this thread on or off, both together.

    Parameters
    ----------
    is_train : bool

    Returns
    -------
    bool
        The training mode before.

    Examples
    --------
    >>> from minpy.contrib import autograd
    >>> before = autograd.set_is_training(True)
    >>> autograd.set_is_training(before)
    True
    """
    before = _autograd.set_training(is_train)
    _autograd.set_recording(is_train)
    return bool(before)


class TrainingStateScope:
    """A scope that records in training mode, or does neither; afterwards both are as before.

    Parameters
    ----------
    enter_state : bool

    Examples
    --------
    >>> from minpy.contrib import autograd
    >>> with autograd.TrainingStateScope(True), autograd.TrainingStateScope(False):
    ...     autograd.set_is_training(False)
    False
    """

    def __init__(self, enter_state: bool) -> None:
        self._scope = _autograd.record() if enter_state else _autograd.pause()

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._scope.__exit__(*error)


def train_section() -> Any:
    """Return a scope that records, in training mode.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.contrib import autograd
    >>> x, gradient = nd.array([1, 2, 3]), nd.zeros(3)
    >>> autograd.mark_variables([x], [gradient])
    >>> with autograd.train_section():
    ...     y = x * x
    >>> autograd.compute_gradient([y])
    >>> gradient.asnumpy()
    array([2., 4., 6.], dtype=float32)
    """
    return _autograd.record(train_mode=True)


def test_section() -> Any:
    """Return a scope that does not record, in prediction mode: for what runs between training steps.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.contrib import autograd
    >>> with autograd.train_section(), autograd.test_section():
    ...     y = nd.Dropout(nd.ones(2))
    >>> y.asnumpy()
    array([1., 1.], dtype=float32)
    """
    return _autograd.pause(train_mode=False)


test_section.__test__ = False  # type: ignore[attr-defined]  # pytest would run it


def backward(outputs: Sequence[NDArray], out_grads: Any = None, retain_graph: bool = False) -> None:
    """Compute the gradients of outputs into the arrays that belong to variables.

    Parameters
    ----------
    outputs : list or tuple of NDArray
    out_grads : list of NDArray, optional
        The gradients of the outputs; ones if left out.
    retain_graph : bool
        Whether to keep the graph, for another backward.

    Raises
    ------
    ArgumentError
        If `outputs` is no list or tuple.
    """
    if not isinstance(outputs, (list, tuple)):
        raise ArgumentError(
            f"contrib.autograd.backward: outputs must be a list or tuple of NDArrays, got {describe(outputs)}. Write "
            "[y], or y.backward()."
        )
    _autograd.backward(list(outputs), out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Compute the gradients of outputs, whose own gradients are ones, into the arrays that belong to variables.

    Parameters
    ----------
    outputs : list or tuple of NDArray
    """
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., Any]:
    """Return a function that computes the gradients of `func` and what it returns.

    Parameters
    ----------
    func : callable
        Of NDArrays; it returns one, or several, whose sum is differentiated.
    argnum : int or sequence of int, optional
        The arguments to differentiate by; all if left out.

    Returns
    -------
    callable
        Returns (list of gradients, what `func` returns).

    Raises
    ------
    ArgumentError
        By the function returned, if an argument to differentiate by is no NDArray.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.contrib import autograd
    >>> gradients, product = autograd.grad_and_loss(lambda x, y: x * y)(nd.array([2]), nd.array([3]))
    >>> [float(one.asscalar()) for one in gradients], float(product.asscalar())
    ([3.0, 2.0], 6.0)
    """

    @wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        numbers = range(len(args)) if argnum is None else [argnum] if isinstance(argnum, int) else argnum
        variables = [args[number] for number in numbers]
        for number, variable in zip(numbers, variables, strict=True):
            if not isinstance(variable, NDArray):
                raise ArgumentError(
                    f"grad_and_loss: argument {number} is {describe(variable)}, and is differentiated by; expected an "
                    "NDArray. Say with argnum which arguments are."
                )
        gradients = [zeros_like(variable) for variable in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., list[NDArray]]:
    """Return a function that computes the gradients of `func`.

    Parameters
    ----------
    func : callable
        Of NDArrays; it returns one, or several, whose sum is differentiated.
    argnum : int or sequence of int, optional
        The arguments to differentiate by; all if left out.

    Returns
    -------
    callable
        Returns the list of gradients.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.contrib import autograd
    >>> autograd.grad(lambda x, y: x * y, argnum=1)(nd.array([2]), nd.array([3]))[0].asscalar().item()
    2.0
    """
    both = grad_and_loss(func, argnum)

    @wraps(func)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
