"""Functions of PyTorch's that are NumPy's, for those that take more than one line: what translated steps call."""

from __future__ import annotations

import math
from typing import Any

from minpy.frameworks.libraries import require

torch: Any = require("torch")

__all__ = [
    "cbrt",
    "convolve",
    "correlate",
    "floor_divide",
    "interp",
    "modf",
    "nan_extreme",
    "nanstd",
    "nanvar",
    "sign",
    "spacing",
    "std",
    "var",
    "without_nan",
]


def sign(x: Any) -> Any:
    """Return `numpy.sign`: nan of nan."""
    if x.is_complex():
        return torch.sgn(x)
    return torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else torch.sign(x)


def floor_divide(a: Any, b: Any) -> Any:
    """Return `numpy.floor_divide`, which has no gradient; PyTorch would raise where one is asked for."""
    return torch.floor_divide(a.detach(), b.detach())


def modf(x: Any) -> Any:
    """Return `numpy.modf`: fractional and integral parts, which have the sign of `x`."""
    whole = torch.trunc(x)
    return torch.copysign(torch.where(torch.isinf(x), torch.zeros_like(x), x - whole), x), whole


def cbrt(x: Any) -> Any:
    """Return `numpy.cbrt`, by one step of Newton's from a power."""
    size = torch.abs(x)
    root = torch.pow(size, 1.0 / 3.0)
    better = root - (root * root * root - size) / (3.0 * root * root)
    ordinary = (size > 0) & torch.isfinite(size)
    return torch.copysign(torch.where(ordinary, better, root), x)


def spacing(x: Any) -> Any:
    """Return `numpy.spacing`: the distance to the next number away from zero."""
    size = torch.abs(x)
    return torch.copysign(torch.nextafter(size, torch.full_like(size, math.inf)) - size, x)


def without_nan(x: Any, value: float) -> Any:
    """Return an array with a value in the place of every nan."""
    return torch.where(torch.isnan(x), torch.full_like(x, value), x) if x.is_floating_point() else x


def nan_extreme(x: Any, axes: Any, keepdims: bool, name: str) -> Any:
    """Return `numpy.nanmax` or `numpy.nanmin`: nan where there is nothing else."""
    if not x.is_floating_point():
        return getattr(torch, f"a{name}")(x, axes, keepdim=keepdims)
    missing = torch.isnan(x)
    filled = torch.where(missing, torch.full_like(x, -math.inf if name == "max" else math.inf), x)
    best = getattr(torch, f"a{name}")(filled, axes, keepdim=keepdims)
    return torch.where(torch.all(missing, axes, keepdim=keepdims), torch.full_like(best, math.nan), best)


def var(x: Any, axes: Any, ddof: float, keepdims: bool) -> Any:
    """Return `numpy.var`; its gradient at a constant array is zero, as the formula's is."""
    centred = x - torch.mean(x, axes, keepdim=True)
    squares = torch.abs(centred) ** 2 if x.is_complex() else centred * centred
    count = math.prod([x.shape[axis] for axis in axes])
    return torch.sum(squares, axes, keepdim=keepdims) / (count - ddof)


def std(x: Any, axes: Any, ddof: float, keepdims: bool) -> Any:
    """Return `numpy.std`."""
    return torch.sqrt(var(x, axes, ddof, keepdims))


def nanvar(x: Any, axes: Any, ddof: float, keepdims: bool) -> Any:
    """Return `numpy.nanvar`."""
    present = torch.logical_not(torch.isnan(x))
    centred = without_nan(x - torch.nanmean(x, axes, keepdim=True), 0.0)
    count = torch.sum(present, axes, keepdim=keepdims) - ddof
    total = torch.sum(centred * centred, axes, keepdim=keepdims)
    return torch.where(count > 0, total / count, torch.full_like(total, math.nan))


def nanstd(x: Any, axes: Any, ddof: float, keepdims: bool) -> Any:
    """Return `numpy.nanstd`."""
    return torch.sqrt(nanvar(x, axes, ddof, keepdims))


def interp(x: Any, xp: Any, fp: Any, left: float | None, right: float | None) -> Any:
    """Return `numpy.interp`."""
    where = torch.clamp(
        torch.searchsorted(xp.detach().contiguous(), x.detach().contiguous(), side="right"), 1, xp.shape[0] - 1
    )
    x0, x1, y0, y1 = xp[where - 1], xp[where], fp[where - 1], fp[where]
    inside = y0 + (y1 - y0) / (x1 - x0) * (x - x0)
    below = fp[0] if left is None else torch.full_like(fp[0], left)
    above = fp[-1] if right is None else torch.full_like(fp[-1], right)
    return torch.where(x < xp[0], below, torch.where(x > xp[-1], above, inside))


def convolve(a: Any, v: Any, a_length: int, v_length: int, mode: str) -> Any:
    """Return `numpy.convolve`, by products of all pairs of parts."""
    if v_length > a_length:
        a, v, a_length, v_length = v, a, v_length, a_length
    padded = torch.nn.functional.pad(a, [v_length - 1, v_length - 1])
    full = torch.matmul(padded.unfold(0, v_length, 1), torch.flip(v, (0,)))
    if mode == "full":
        return full
    if mode == "valid":
        return full[v_length - 1 : a_length]
    return full[(v_length - 1) // 2 : (v_length - 1) // 2 + a_length]


def correlate(a: Any, v: Any, a_length: int, v_length: int, mode: str) -> Any:
    """Return `numpy.correlate`."""
    if v_length > a_length:
        full = convolve(a, torch.flip(v, (0,)), a_length, v_length, "full")
        if mode == "full":
            return full
        short, long = a_length, v_length
        start = short - 1 if mode == "valid" else short // 2
        return full[start : start + (long - short + 1 if mode == "valid" else long)]
    return convolve(a, torch.flip(v, (0,)), a_length, v_length, mode)
