"""Fourier transforms of real numbers, with complex ones as pairs of real ones: fft and ifft, each other's gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.errors import ShapeError
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes, same_dtype
from minpy.ops.registry import operator

__all__ = ["fft", "ifft"]


@operator(name="_contrib_fft", dtypes=same_dtype, grad=lambda ans, data: lambda g: ifft(g))
def fft(data: np.ndarray, *, compute_size: int = 128) -> np.ndarray:
    """Return the discrete Fourier transform along the last axis, as pairs of real and imaginary parts.

    {data_parameter}
        Floating point, with one axis or more: (..., n).
    compute_size : int
        Accepted and not used: how much MXNet computes at a time.

    {returns_array}
        Of shape (..., 2 n) and the dtype of `data`: real part 0, imaginary part 0, real part 1, and so on.

    {raises_shape_error}
        If `data` has no axis.
    DTypeError
        If it does not hold floating-point numbers.

    {examples}
    >>> nd.contrib.fft(nd.array([[1, 2, 3, 4]])).asnumpy()
    array([[10.,  0., -2.,  2., -2.,  0., -2., -2.]], dtype=float32)
    """
    _require_rows("contrib.fft", data)
    wide = data.astype(np.promote_types(data.dtype, np.float32), copy=False)
    transformed = np.fft.fft(wide) if data.size else wide
    pairs = np.stack([transformed.real, transformed.imag], -1)
    return pairs.reshape(*data.shape[:-1], 2 * data.shape[-1]).astype(data.dtype, copy=False)


@operator(name="_contrib_ifft", dtypes=same_dtype, grad=lambda ans, data: lambda g: fft(g))
def ifft(data: np.ndarray, *, compute_size: int = 128) -> np.ndarray:
    """Return n times the real part of the inverse Fourier transform of n complex numbers along the last axis.

    {data_parameter}
        Floating point, (..., 2 n): pairs of real and imaginary parts, as `fft` returns them.
    compute_size : int
        Accepted and not used: how much MXNet computes at a time.

    {returns_array}
        Of shape (..., n) and the dtype of `data`. Like MXNet's it is not divided by n: `ifft(fft(x)) / n` is x.

    {raises_shape_error}
        If the last axis has an odd length, or `data` has no axis.
    DTypeError
        If it does not hold floating-point numbers.

    {examples}
    >>> nd.contrib.ifft(nd.array([[10, 0, -2, 2, -2, 0, -2, -2]])).asnumpy() / 4
    array([[1., 2., 3., 4.]], dtype=float32)
    """
    _require_rows("contrib.ifft", data)
    if data.shape[-1] % 2:
        raise ShapeError(f"contrib.ifft: data has shape {data.shape}; expected an even last axis: pairs of numbers.")
    wide = data.astype(np.promote_types(data.dtype, np.float32), copy=False)
    transformed = np.fft.ifft(wide[..., ::2] + 1j * wide[..., 1::2], norm="forward") if data.size else wide[..., ::2]
    return transformed.real.astype(data.dtype, copy=False)


def _require_rows(name: str, data: Any) -> None:
    require_floats(name, data)
    if not data.ndim:
        raise ShapeError(f"{name}: data has shape (); expected at least one axis.")


def _paired(shape: Any) -> Any:
    """Return the shape of pairs that stand for complex numbers."""
    return None if shape is None else (*shape[:-1], UNKNOWN if shape[-1] == UNKNOWN else 2 * shape[-1])


def _unpaired(shape: Any) -> Any:
    if shape is None:
        return None
    if not shape or (shape[-1] != UNKNOWN and shape[-1] % 2):
        raise ShapeError("expected a last axis of even length: pairs of real and imaginary parts.")
    return (*shape[:-1], UNKNOWN if shape[-1] == UNKNOWN else shape[-1] // 2)


@fft.def_infer_shape
def _fft_shapes(inputs: Any, outputs: Any) -> Any:
    if inputs[0] == ():
        raise ShapeError("expected at least one axis.")
    data = merge_shapes(inputs[0], _unpaired(outputs[0]))
    return [data], [_paired(data)]


@ifft.def_infer_shape
def _ifft_shapes(inputs: Any, outputs: Any) -> Any:
    result = merge_shapes(outputs[0], _unpaired(inputs[0]))
    return [_paired(result)], [result]
