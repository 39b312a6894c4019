"""Bytes of pictures to numbers: means subtracted, scaled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, FileFormatError
from minpy.io import augmenting
from minpy.ndarray.saving import load

__all__ = ["Normalizer", "saved_mean"]


def saved_mean(function: str, path: str, shape: tuple[int, ...]) -> numpy.ndarray:
    """Return the mean picture in a file, in which it is `mean_img` or the first array."""
    content = load(path)
    arrays: Any = content if isinstance(content, dict) else dict(enumerate(content))
    if not arrays:
        raise FileFormatError(f"{function}: mean_img {path!r} has no array.")
    mean = arrays["mean_img"] if "mean_img" in arrays else next(iter(arrays.values()))
    if mean.shape != shape:
        raise FileFormatError(f"{function}: mean_img {path!r} has the shape {mean.shape}; data_shape is {shape}.")
    picture: numpy.ndarray = mean.asnumpy().astype("float32")
    return picture


class Normalizer:
    """`((pixel - mean) * contrast + illumination) * scale / std`, channel by channel, red first.

    int8 gets the pixel without the mean, cut off at its limits; uint8 the pixel as it is, as in MXNet.
    """

    def __init__(self, options: SimpleNamespace, dtype: Any, is_random: bool = True) -> None:
        channels = options.data_shape[0]
        self.dtype = numpy.dtype(dtype)
        names = "rgba"[:channels]
        self.mean_picture: numpy.ndarray | None = None
        mean = numpy.array([getattr(options, f"mean_{name}") for name in names], "float32").reshape(-1, 1, 1)
        std = numpy.array([getattr(options, f"std_{name}") or 1 for name in names], "float32").reshape(-1, 1, 1)
        if (std <= 0).any():
            raise ArgumentValueError(
                f"std_r, std_g, std_b, std_a are {std.ravel().tolist()}; expected positive numbers."
            )
        self.mean = mean if mean.any() else None
        factor = numpy.float32(options.scale) / std
        self.factor = factor if (factor != 1).any() else None
        self.contrast = options.max_random_contrast if is_random else 0.0
        self.illumination = options.max_random_illumination if is_random else 0.0

    def __call__(self, pixels: numpy.ndarray, u: numpy.ndarray, out: numpy.ndarray) -> None:
        """Write the numbers of pictures."""
        if self.dtype == numpy.uint8:
            out[...] = pixels
            return
        mean = self.mean if self.mean_picture is None else self.mean_picture
        if self.dtype == numpy.int8:
            out[...] = (pixels if mean is None else numpy.trunc(pixels - mean)).clip(-128, 127)
            return
        values = out if self.dtype == numpy.float32 else numpy.empty(out.shape, "float32")
        if mean is None:
            values[...] = pixels
        else:
            numpy.subtract(pixels, mean, out=values)
        if self.contrast:
            factors = 1 + self.contrast * (2 * u[:, augmenting.LAST_CONTRAST] - 1)
            values *= factors.astype("float32").reshape(-1, 1, 1, 1)
        if self.illumination:
            shifts = self.illumination * (2 * u[:, augmenting.ILLUMINATION] - 1)
            values += shifts.astype("float32").reshape(-1, 1, 1, 1)
        if self.factor is not None:
            values *= self.factor
        if values is not out:
            out[...] = values
