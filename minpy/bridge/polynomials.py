"""Functions of polynomials, whose coefficients are arrays: with gradients, as `minpy.bridge.numpy_gradients`."""

from __future__ import annotations

import operator
from typing import Any

import autograd.numpy as anp
import numpy

__all__ = ["POLYNOMIALS"]


def _of_one_length(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Return the coefficients of two polynomials padded in front with zeros to one length."""
    parts = [anp.ravel(part) for part in (a1, a2)]
    count = max(map(anp.size, parts))
    first, second = (
        anp.concatenate([numpy.zeros(count - anp.size(part), anp.result_type(part)), part]) for part in parts
    )
    return first, second


def _polyder(p: Any, m: int = 1) -> Any:
    for _ in range(m):
        p = p[:-1] * numpy.arange(anp.size(p) - 1, 0, -1)
    return p


def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    constants = anp.ravel(numpy.zeros(m) if k is None else k)
    if anp.size(constants) == 1:
        constants = constants * numpy.ones(m)
    if anp.size(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for turn in range(m):
        p = anp.concatenate([p / numpy.arange(anp.size(p), 0, -1), constants[turn : turn + 1]])
    return p


POLYNOMIALS: dict[Any, Any] = {
    numpy.polyadd: lambda a1, a2: operator.add(*_of_one_length(a1, a2)),
    numpy.polyder: _polyder,
    numpy.polyint: _polyint,
    numpy.polysub: lambda a1, a2: operator.sub(*_of_one_length(a1, a2)),
}
