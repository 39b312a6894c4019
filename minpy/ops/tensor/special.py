"""Special functions of one array: erf, erfinv, gamma, gammaln, and the polygamma functions of their gradients.

They come from SciPy, which is optional; erf works without it: as quickly in float32, more slowly in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.core.errors import MissingDependencyError
from minpy.ops.kernels.error_function import float32_erf
from minpy.ops.registry import operator
from minpy.ops.tensor.mathematics import unary

# Elements from which on a polynomial is faster than SciPy.
_MIN_POLYNOMIAL_SIZE = 256

__all__ = ["erf", "erfinv", "gamma", "gammaln", "polygamma"]


def _scipy_special(name: str) -> Any:
    try:
        import scipy.special
    except ImportError:
        raise MissingDependencyError(
            f"{name} needs SciPy, which is not installed. Install it with: python -m pip install scipy"
        ) from None
    return scipy.special


def _erf(data: Any) -> Any:
    try:
        compute = _scipy_special("erf").erf
    except MissingDependencyError:
        compute = np.vectorize(math.erf, otypes=[np.float64])
    return _in_dtype_of(compute(data), data)


def _from_scipy(name: str) -> Callable[[Any], Any]:
    def forward(data: Any) -> Any:
        return _in_dtype_of(getattr(_scipy_special(name), name)(data), data)

    return forward


def _in_dtype_of(values: Any, data: Any) -> Any:
    """Return SciPy's result in the dtype of floating-point data: SciPy has no float16."""
    return values.astype(data.dtype, copy=False) if data.dtype.kind == "f" else values


_NEEDS_SCIPY = "It needs SciPy: `pip install scipy`."

erf = unary(
    _erf,
    "erf",
    "Return the error function of each element.",
    "[0, 1]",
    "[0.    , 0.8427]",
    "It is 2 / sqrt(pi) times the integral of exp(-t ** 2) from 0 to the element.",
)


erf.def_kernel(
    lambda data: float32_erf(data) if data.dtype.char == "f" and data.size >= _MIN_POLYNOMIAL_SIZE else _erf(data)
)


erf.def_grad(lambda ans, data: lambda g: g * (np.exp(-(data * data)) * (2 / math.sqrt(math.pi))))

erfinv = unary(
    _from_scipy("erfinv"),
    "erfinv",
    "Return the number whose error function is the element, in [-1, 1].",
    "[0, 0.5]",
    "[0.    , 0.4769]",
    _NEEDS_SCIPY,
)
erfinv.def_grad(lambda ans, data: lambda g: g * (np.exp(ans * ans) * (math.sqrt(math.pi) / 2)))

gamma = unary(
    _from_scipy("gamma"),
    "gamma",
    "Return the gamma function of each element: (n - 1)! for a whole number n.",
    "[5, 0.5]",
    "[24.    ,  1.7725]",
    _NEEDS_SCIPY,
)
gamma.def_grad(lambda ans, data: lambda g: g * (ans * polygamma(data, n=0)))

gammaln = unary(
    _from_scipy("gammaln"),
    "gammaln",
    "Return the logarithm of the absolute value of the gamma function.",
    "[1, 5]",
    "[0.    , 3.1781]",
    _NEEDS_SCIPY,
)
gammaln.def_grad(lambda ans, data: lambda g: g * polygamma(data, n=0))


@operator(name="_polygamma", public=False, elementwise=True)
def polygamma(data: np.ndarray, *, n: int) -> np.ndarray:
    """Return the n-th derivative of digamma, which is the derivative of gammaln (n = 0: digamma itself)."""
    special = _scipy_special("polygamma")
    values = special.psi(data) if n == 0 else special.polygamma(n, data)
    return values.astype(data.dtype, copy=False)


polygamma.def_grad(lambda ans, data, *, n: lambda g: g * polygamma(data, n=n + 1))
