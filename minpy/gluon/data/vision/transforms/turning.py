"""Images turned and flipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, describe
from minpy.gluon.block import Block
from minpy.gluon.data.vision.transforms.tensors import ByOperator
from minpy.image.rotation import imrotate, random_rotate

__all__ = ["RandomFlipLeftRight", "RandomFlipTopBottom", "RandomRotation", "Rotate"]


def _require_float32(name: str, x: Any) -> None:
    if np.dtype(x.dtype) != np.float32:
        raise DTypeError(
            f"{name}: the image is {describe(x)}; expected float32, of shape (channels, height, width). Let it come "
            "after ToTensor."
        )


class Rotate(Block):
    """Turns images, or batches of them, clockwise about their middle.

    Parameters
    ----------
    rotation_degrees : float
    zoom_in : bool
        Whether the image is enlarged until nothing comes from outside.
    zoom_out : bool
        Whether it is reduced until all of it is seen.

    Examples
    --------
    >>> import minpy as mx
    >>> tensor = mx.nd.array([[[1, 2], [3, 4]]])
    >>> mx.gluon.data.vision.transforms.Rotate(90)(tensor).asnumpy().round(3).tolist()
    [[[2.0, 4.0], [1.0, 3.0]]]
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        if not isinstance(rotation_degrees, numeric_types):
            raise ArgumentError(f"Rotate: rotation_degrees must be a number, got {describe(rotation_degrees)}.")
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return an image of float32 and shape (channels, height, width), or a batch of them, turned."""
        _require_float32("Rotate", x)
        return imrotate(x, *self._args)


class RandomRotation(Block):
    """Turns images, or batches of them, by angles that are drawn from `numpy.random`, as in MXNet.

    Parameters
    ----------
    angle_limits : tuple of two floats
        Between which the angle is drawn, in degrees.
    zoom_in, zoom_out : bool
        As for `Rotate`.
    rotate_with_proba : float
        How probable it is that an image is turned at all.

    Raises
    ------
    ArgumentValueError
        If the limits are in the wrong order, or the probability is none.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomRotation((-20, 20))(mx.nd.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        if not isinstance(angle_limits, (tuple, list)) or len(angle_limits) != 2:
            raise ArgumentError(f"RandomRotation: angle_limits must be two numbers, got {describe(angle_limits)}.")
        if angle_limits[0] >= angle_limits[1]:
            raise ArgumentValueError(
                f"RandomRotation: angle_limits must be two numbers, the smaller one first, got {tuple(angle_limits)}."
            )
        if not 0 <= rotate_with_proba <= 1:
            raise ArgumentValueError(
                f"RandomRotation: rotate_with_proba must be between 0 and 1, got {rotate_with_proba}."
            )
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x: Any, *args: Any) -> Any:
        """Return an image of float32 and shape (channels, height, width), or a batch of them, turned or not."""
        if np.random.random() > self._rotate_with_proba:
            return x
        _require_float32("RandomRotation", x)
        return random_rotate(x, *self._args)


class RandomFlipLeftRight(ByOperator):
    """Exchanges left and right by chance, in every second case.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomFlipLeftRight()(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    _operator = "random_flip_left_right"

    def __init__(self) -> None:
        super().__init__()


class RandomFlipTopBottom(ByOperator):
    """Exchanges top and bottom by chance, in every second case.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomFlipTopBottom()(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    _operator = "random_flip_top_bottom"

    def __init__(self) -> None:
        super().__init__()
