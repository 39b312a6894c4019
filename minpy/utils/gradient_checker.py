"""MinPy's check of a gradient: along one random direction. `minpy.grad`'s own is `operator.check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.array import wrap
from minpy.core.array import as_raw
from minpy.legacy import grad
from minpy.namespaces import module_functions

__all__ = ["quick_grad_check"]
__dir__, __getattr__ = module_functions(__name__, __all__)


def quick_grad_check(
    fun: Callable[[Any], Any],
    arg: Any,
    verbose: bool = True,
    eps: float = 1e-2,
    rtol: float = 1e-2,
    atol: float = 1e-2,
    rs: numpy.random.RandomState | None = None,
) -> bool:
    """Tell whether a function's gradient along a random direction is the difference of its values there.

    Parameters
    ----------
    fun : callable
        Takes an array and returns a number.
    arg : array or number
        Where to check.
    verbose : bool
        Whether to print both.
    eps : float
        The distance of the two values.
    rtol, atol : float
        How far the two may be from each other, relatively and absolutely.
    rs : numpy.random.RandomState, optional
        Draws the direction.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy
    >>> import minpy.numpy as np
    >>> quick_grad_check(lambda x: np.sum(x * x), numpy.ones(3), verbose=False)
    True
    """
    point = numpy.asarray(as_raw(arg), numpy.float64)
    direction = (rs or numpy.random.RandomState()).standard_normal(point.shape)
    direction = numpy.asarray(direction / numpy.linalg.norm(direction))

    def value(distance: float) -> float:
        return float(numpy.sum(as_raw(fun(wrap(point + distance * direction)))))

    numeric = (value(eps / 2) - value(-eps / 2)) / eps
    analytic = float(numpy.sum(numpy.asarray(as_raw(grad(fun)(point))) * direction))
    passed = bool(numpy.allclose(numeric, analytic, rtol=rtol, atol=atol))
    if verbose:
        verdict = "The gradient is right" if passed else "The gradient is wrong"
        print(f"{verdict} in this direction: {analytic} by its rule, {numeric} by differences.")
    return passed
