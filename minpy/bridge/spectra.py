"""Fourier transforms of real numbers: with gradients for every length and normalization.

autograd's rules hold for even lengths that are those of the data. Others are written with the complex transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import autograd.numpy as anp
import numpy

__all__ = ["SPECTRA"]


def _has_rule(length: int, count: int, norm: str | None) -> bool:
    """Tell whether autograd's rule holds for a transform of some length, of so many values."""
    return length % 2 == 0 and length == count and norm != "forward"


def _name(norm: str | None) -> str | None:
    return None if norm == "backward" else norm  # which autograd's rules take for no normalization


def _rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    length = anp.shape(a)[axis] if n is None else n
    if _has_rule(length, anp.shape(a)[axis], norm):
        return anp.fft.rfft(a, axis=axis, norm=_name(norm))
    whole = anp.moveaxis(anp.fft.fft(a, length, axis, norm), axis, -1)
    return anp.moveaxis(whole[..., : length // 2 + 1], -1, axis)


def _irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    count = anp.shape(a)[axis]
    length = 2 * (count - 1) if n is None else n
    if _has_rule(length, 2 * (count - 1), norm):
        return anp.fft.irfft(a, axis=axis, norm=_name(norm))
    half = length // 2 + 1
    last = anp.moveaxis(a, axis, -1)[..., :half]
    if count < half:
        zeros = numpy.zeros((*anp.shape(last)[:-1], half - count), anp.result_type(last))
        last = anp.concatenate([last, zeros], axis=-1)
    mirrored = anp.conj(last[..., length - half : 0 : -1])
    whole = anp.fft.ifft(anp.concatenate([last, mirrored], axis=-1), axis=-1, norm=norm)
    return anp.moveaxis(anp.real(whole), -1, axis)


def _axes(a: Any, s: Any, axes: Any) -> tuple[Sequence[Any], Sequence[int]]:
    """Return the lengths of a transform, and its axes."""
    if axes is None:
        axes = range(anp.ndim(a)) if s is None else range(-len(s), 0)
    return ([None] * len(axes) if s is None else s), axes


def _rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    lengths, axes = _axes(a, s, axes)
    spectrum = _rfft(a, lengths[-1], axes[-1], norm)
    for length, axis in zip(lengths[:-1], axes[:-1], strict=True):
        spectrum = anp.fft.fft(spectrum, length, axis, norm)
    return spectrum


def _irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    lengths, axes = _axes(a, s, axes)
    for length, axis in zip(lengths[:-1], axes[:-1], strict=True):
        a = anp.fft.ifft(a, length, axis, norm)
    return _irfft(a, lengths[-1], axes[-1], norm)


def _rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    return _rfftn(a, s, axes, norm)


def _irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    return _irfftn(a, s, axes, norm)


SPECTRA: dict[Any, Any] = {
    numpy.fft.rfft: _rfft,
    numpy.fft.irfft: _irfft,
    numpy.fft.rfft2: _rfft2,
    numpy.fft.irfft2: _irfft2,
    numpy.fft.rfftn: _rfftn,
    numpy.fft.irfftn: _irfftn,
}
