"""Rows of PyTorch for sorting, searching, interpolation, convolutions and spectra."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand
from minpy.frameworks.row_parts import Rows, only

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


@_row("sort argsort")
def _sort(call: Call, a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> str:
    text = call.array(a) if axis is not None else f"torch.reshape({call.array(a)}, (-1,))"
    return f"torch.sort({text}, dim={-1 if axis is None else axis!r}, stable=True)[{int(call.key == 'argsort')}]"


@_row("searchsorted")
def _searchsorted(call: Call, a: Any, v: Any, side: str = "left") -> str:
    dtype = numpy.result_type(a.dtype, call.spec(v).dtype)
    return (
        f"torch.searchsorted({call.array(a, dtype)}.contiguous(), {call.array(v, dtype)}.contiguous(), side={side!r})"
    )


@_row("digitize")
def _digitize(call: Call, x: Any, bins: Any, right: bool = False) -> str:
    edges = bins.value if isinstance(bins, Operand) else numpy.asarray(bins)
    if edges is None or not (numpy.diff(edges) > 0).all():
        raise call.refuse("bins= that are not constant, or do not rise")
    dtype = numpy.result_type(call.spec(x).dtype, edges.dtype)
    side = "left" if right else "right"
    return f"torch.searchsorted({call.array(edges, dtype)}, {call.array(x, dtype)}.contiguous(), side={side!r})"


@_row("isin in1d")
def _isin(
    call: Call,
    element: Any = None,
    test_elements: Any = None,
    invert: bool = False,
    ar1: Any = None,
    ar2: Any = None,
    **_: Any,
) -> str:
    values = (element, test_elements) if ar1 is None else (ar1, ar2)
    dtype = numpy.result_type(*(call.spec(value).dtype for value in values))
    first, second = (call.array(value, dtype) for value in values)
    return f"torch.isin({first}, {second}, invert={invert!r})"


@_row("interp")
def _interp(call: Call, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> str:
    only(call, "period", period, (None,))
    values = ", ".join(call.array(value, call.result_dtype) for value in (x, xp, fp))
    return f"functions.interp({values}, {call.text(left)}, {call.text(right)})"


@_row("trapezoid trapz")
def _trapezoid(call: Call, y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> str:
    text = call.array(y, call.result_dtype)
    if x is None:
        return f"torch.trapezoid({text}, dx={call.text(dx)}, dim={axis!r})"
    return f"torch.trapezoid({text}, {call.array(x, call.result_dtype)}, dim={axis!r})"


@_row("polyval")
def _polyval(call: Call, p: Any, x: Any) -> str:
    if isinstance(p, (list, tuple)) and not isinstance(p, Operand):
        coefficients = [call.array(each, call.result_dtype) for each in p]
    else:
        name = call.operand(call.array(p, call.result_dtype), call.spec(p).shape, call.result_dtype).text
        coefficients = [f"{name}[{at}]" for at in range(call.spec(p).shape[0])]
    variable = call.array(x, call.result_dtype)
    text = f"torch.zeros_like({variable})"
    for each in coefficients:
        text = f"({text} * {variable} + {each})"
    return text


@_row("convolve correlate")
def _convolve(call: Call, a: Any, v: Any, mode: Any = None) -> str:
    chosen = mode or ("full" if call.key == "convolve" else "valid")
    first, second = call.array(a, call.result_dtype), call.array(v, call.result_dtype)
    if call.result_dtype.kind == "c":
        raise call.refuse("complex numbers")
    lengths = call.spec(a).shape[0], call.spec(v).shape[0]
    return f"functions.{call.key}({first}, {second}, {lengths[0]}, {lengths[1]}, {chosen!r})"


_FFT = "fft ifft rfft irfft hfft ihfft"


@_row(" ".join(f"fft.{name}" for name in _FFT.split()))
def _fft(call: Call, a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> str:
    return f"torch.{call.key}({_spectral(call, a)}, {n!r}, {axis!r}, {norm!r})"


@_row("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn")
def _fftn(call: Call, a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> str:
    axes = (-2, -1) if axes is None and call.key.endswith("2") else axes
    return f"torch.{call.key}({_spectral(call, a)}, {call.text(s)}, {call.text(axes)}, {norm!r})"


def _spectral(call: Call, a: Any) -> str:
    return call.array(a, a.dtype if a.dtype.kind in "fc" else numpy.float64)


@_row("fft.fftshift fft.ifftshift")
def _fftshift(call: Call, x: Any, axes: Any = None) -> str:
    return f"torch.{call.key}({call.array(x)}, {call.text(axes)})"
