"""`@customop`: an operator from a function written in NumPy, or with NDArrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from minpy.core.errors import ArgumentError, describe
from minpy.core.operator import Operator
from minpy.core.output_counts import declared_outputs

__all__ = ["USER_OPERATORS", "customop", "user_name"]

# By `module:qualname`, the latest of each name: operators that files of symbols may name.
USER_OPERATORS: WeakValueDictionary[str, Operator] = WeakValueDictionary()


def user_name(operator: Operator) -> str:
    """Return the name under which files hold a `@customop`: `module:qualname`."""
    return f"{operator.__module__}:{operator.__qualname__}"


def customop(
    kind: str = "numpy", *, compile: bool = False, outputs: int | Sequence[str] | None = None
) -> Callable[[Callable[..., Any]], Operator]:
    """Make an operator of a function; its gradient is given with `def_grad`.

    Parameters
    ----------
    kind : {'numpy', 'mxnet'}
        The arrays that the function and its gradient rules get: `numpy.ndarray`s, or `NDArray`s. The body is not
        recorded operation by operation: the registered rule is its gradient.
    compile : bool
        Whether the function and its rules run as native code where that is faster: see `Operator.compile`.
    outputs : int or sequence of str, optional
        How many arrays the function returns, in a tuple or list, or a name for each. Left out, symbols and hybridized
        blocks go by the function's code (`return low, high`), or else by what it has returned on arrays.

    Returns
    -------
    callable
        A decorator that turns a function (or a method of a class) into an `Operator`. The operator is called with any
        mix of NumPy arrays, NDArrays, numbers and autograd's boxes, by position or keyword; it returns NDArrays if an
        input is one, else NumPy arrays.

    Raises
    ------
    ArgumentError
        For another kind or `outputs`, or if the decorator is applied to something that is not a function.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> @minpy.customop('numpy')
    ... def sigmoid(x):
    ...     return 1 / (1 + np.exp(-x))
    >>> sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))
    <Operator sigmoid(x), gradients: x>
    >>> minpy.grad(lambda x: np.sum(sigmoid(x)))(np.array([0.0]))
    array([0.25])
    """
    if callable(kind):
        raise ArgumentError(
            f"customop needs to know what {getattr(kind, '__name__', 'the function')} is given: write "
            "@customop('numpy') for NumPy arrays, or @customop('mxnet') for NDArrays."
        )
    if outputs is not None:
        outputs = declared_outputs(outputs, "customop")
    if kind not in ("numpy", "mxnet"):
        raise ArgumentError(f"customop({kind!r}): expected 'numpy' (NumPy arrays) or 'mxnet' (NDArrays).")

    def decorate(function: Callable[..., Any]) -> Operator:
        if not callable(function):
            raise ArgumentError(f"@customop({kind!r}) decorates a function, got {describe(function)}.")
        operator = Operator(function, kind=kind, outputs=outputs)
        USER_OPERATORS[user_name(operator)] = operator
        return operator.compile() if compile else operator

    return decorate
