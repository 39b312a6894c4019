"""Gradients of functions of square matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["RULES"]


def _transposed_inverse(a: Any) -> Any:
    return np.swapaxes(np.linalg.inv(a), -1, -2)


def _inv(ans: Any, g: Any, a: Any) -> Any:
    transposed = np.swapaxes(ans, -1, -2)
    return [-np.matmul(np.matmul(transposed, g), transposed)]


def _det(ans: Any, g: Any, a: Any) -> Any:
    factors = g * ans
    return [np.reshape(factors, (*np.shape(factors), 1, 1)) * _transposed_inverse(a)]


def _slogdet(ans: Any, g: Any, a: Any) -> Any:
    if np.result_type(a).kind == "c":
        return None
    return [np.reshape(g[1], (*np.shape(g[1]), 1, 1)) * _transposed_inverse(a)]


def _solve(ans: Any, g: Any, a: Any, b: Any) -> Any:
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        return None
    of_b = np.linalg.solve(np.transpose(a), g)
    return [-(np.outer(of_b, ans) if np.ndim(b) == 1 else np.matmul(of_b, np.transpose(ans))), of_b]


# By name: see `minpy.numpy_table.gradients`.
RULES: dict[str, Callable[..., Any]] = {
    "linalg.inv": _inv,
    "linalg.det": _det,
    "linalg.slogdet": _slogdet,
    "linalg.solve": _solve,
}
