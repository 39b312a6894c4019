"""Borders around images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError

__all__ = ["with_border"]

_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")


def with_border(
    image: np.ndarray, top: int, bottom: int, left: int, right: int, kind: int, values: Sequence[float]
) -> np.ndarray:
    """Return an image of shape (height, width, channels) with a border around it.

    Parameters
    ----------
    image : array
    top, bottom, left, right : int
        Its widths.
    kind : {0, 1, 2, 3, 4}
        What it is filled with: numbers, the pixel at the edge, the image mirrored, repeated, or mirrored but for the
        pixels at the edge.
    values : sequence of float
        The numbers of the channels; 0 for those that have none.

    Raises
    ------
    ShapeError, ArgumentError
        For another shape, widths that are negative, or another kind.
    """
    if image.ndim != 3:
        raise ShapeError(f"copyMakeBorder: src has shape {image.shape}; expected (height, width, channels).")
    if min(top, bottom, left, right) < 0:
        raise ArgumentError(f"copyMakeBorder: widths are {(top, bottom, left, right)}; expected 0 or more.")
    if kind not in range(len(_BORDERS)):
        raise ArgumentError(f"copyMakeBorder: type is {kind}; expected 0 to {len(_BORDERS) - 1}.")
    widths = ((top, bottom), (left, right), (0, 0))
    if kind:
        mode: Any = _BORDERS[kind]
        return np.pad(image, widths, mode)
    channels = image.shape[2]
    filling = np.zeros(channels)
    filling[: len(values)] = values[:channels]
    if image.dtype.kind != "f":
        limits = np.iinfo(image.dtype)
        filling = np.clip(np.rint(filling), limits.min, limits.max)
    result = np.empty((image.shape[0] + top + bottom, image.shape[1] + left + right, channels), image.dtype)
    result[...] = filling.astype(image.dtype)
    result[top : top + image.shape[0], left : left + image.shape[1]] = image
    return result
