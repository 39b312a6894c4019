"""Signs, rounding and limits. All but `clip` are piecewise constant: their gradient is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.inference.rule_parts import booleans_give
from minpy.ops.kernels.selecting import LARGE
from minpy.ops.registry import operator
from minpy.ops.shared_docstrings import unary_doc

__all__ = ["ceil", "clip", "floor", "rint", "round", "sign", "trunc"]

_ZERO = "Its gradient is zero."


def _step(ufunc: np.ufunc, name: str, sentence: str, example: str, result: str, **options: Any) -> Operator:
    op: Operator = operator(ufunc, name=name, doc=unary_doc(name, sentence, example, result, _ZERO), **options)
    return op.def_grad_zero()


sign = _step(np.sign, "sign", "Return -1, 0 or 1: the sign of each element.", "[-3, 0, 2]", "[-1.,  0.,  1.]")
floor = _step(np.floor, "floor", "Return the largest whole number <= data.", "[-1.5, 1.5]", "[-2.,  1.]")
ceil = _step(np.ceil, "ceil", "Return the smallest whole number >= data.", "[-1.5, 1.5]", "[-1.,  2.]")
trunc = _step(
    np.trunc,
    "trunc",
    "Return the whole part of each element: rounded towards zero.",
    "[-1.5, 1.5]",
    "[-1.,  1.]",
    aliases=("fix",),
    implements=(np.fix,),
)


def _round(data: Any) -> Any:
    if data.dtype.kind != "f":
        return data.copy()
    fraction, whole = np.modf(data)
    return whole + np.copysign(np.absolute(fraction) >= 0.5, data)


def _rint(data: Any) -> Any:
    if data.dtype.kind != "f":
        return data.copy()
    fraction, whole = np.modf(data)
    return whole + np.copysign((fraction > 0.5) | (fraction <= -0.5), data)


round = operator(
    _round,
    name="round",
    like_ufunc=True,
    doc=unary_doc(
        "round",
        "Return the nearest whole number; halves are rounded away from zero.",
        "[-0.5, 0.5, 1.5, 2.4]",
        "[-1.,  1.,  2.,  2.]",
        f"`numpy.round` rounds halves to the even number. {_ZERO}",
    ),
).def_grad_zero()

rint = operator(
    _rint,
    name="rint",
    like_ufunc=True,
    doc=unary_doc(
        "rint",
        "Return the nearest whole number; halves are rounded down.",
        "[-1.5, 0.5, 1.5, 2.6]",
        "[-2.,  0.,  1.,  3.]",
        f"`numpy.rint` rounds halves to the even number. {_ZERO}",
    ),
).def_grad_zero()


@operator(name="clip", elementwise=True, shapes=same_shape, dtypes=booleans_give(np.float32))
def clip(data: np.ndarray, *, a_min: float, a_max: float) -> np.ndarray:
    """Return the elements limited to [a_min, a_max].

    {data_parameter}
        Of any shape and dtype.
    a_min, a_max : float
        The limits; for integer arrays truncated to whole numbers.

    {returns_array}
        Of the shape and dtype of `data`; float32 for booleans. The gradient is 1 within the limits (both included), 0
        elsewhere.

    {examples}
    >>> nd.clip(nd.array([-1, 0.5, 3]), 0, 1).asnumpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    if data.dtype.kind == "b":
        data = data.astype(np.float32)
    if data.dtype.kind in "iu":
        limits = np.iinfo(data.dtype)
        a_min, a_max = (int(max(limits.min, min(limits.max, bound))) for bound in (a_min, a_max))
    return np.minimum(np.maximum(data, a_min), a_max)


@clip.def_kernel
def _clip_kernel(data: Any, *, a_min: float, a_max: float) -> Any:
    if data.dtype.kind != "f" or data.size < LARGE:
        return clip.definition(data, a_min=a_min, a_max=a_max)
    return np.clip(data, a_min, a_max)  # one pass over the memory


clip.def_grad(lambda ans, data: lambda g: g * (ans == data))


trunc.saved_aliases = frozenset({"fix"})
