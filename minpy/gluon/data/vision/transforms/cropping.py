"""Parts of images, and images in other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.errors import ArgumentValueError, describe
from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.data.vision.transforms.tensors import OnBuffers
from minpy.image.cropping import center_crop, random_crop, random_size_crop
from minpy.ops.image.geometry import as_tuple
from minpy.ops.image.resizing import resize

__all__ = ["CenterCrop", "CropResize", "RandomCrop", "RandomResizedCrop", "Resize"]


def _width_and_height(name: str, size: Any) -> tuple[int, int]:
    """Return a size as a tuple; a number stands for both."""
    if isinstance(size, numeric_types):
        size = (size, size)
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ArgumentValueError(f"{name}: size must be a number, or a tuple (width, height), got {describe(size)}.")
    width, height = size
    return width, height


class Resize(OnBuffers, HybridBlock):
    """Resizes images, or batches of them.

    Parameters
    ----------
    size : int, or tuple of two ints
        Width and height; one number for both.
    keep_ratio : bool
        Whether one number is that of the shorter side, and the ratio stays as it is.
    interpolation : int
        As `mx.image.imresize` has it: 0 nearest, 1 bilinear, 2 bicubic, 3 by areas, 4 Lanczos.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.Resize(8, keep_ratio=True)(mx.nd.zeros((16, 24, 3))).shape
    (8, 12, 3)
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._keep_ratio = keep_ratio
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return the images in the new size."""
        return F.image.resize(x, self._size, self._keep_ratio, self._interpolation)

    def on_buffer(self, raw: np.ndarray, fresh: bool) -> np.ndarray:
        resized: np.ndarray = resize.forward(
            raw, size=as_tuple(self._size), keep_ratio=self._keep_ratio, interp=self._interpolation
        )
        return resized


class CropResize(HybridBlock):
    """Cuts a part out of images, or of batches of them, and resizes it on demand.

    Parameters
    ----------
    x, y : int
        The left and upper end of the part.
    width, height : int
    size : int, or tuple of two ints, optional
        Width and height that the part is resized to.
    interpolation : int, optional
        As for `Resize`; bilinear.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.CropResize(2, 3, 6, 4, size=(12, 8))(mx.nd.zeros((16, 24, 3))).shape
    (8, 12, 3)
    """

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._x = x
        self._y = y
        self._width = width
        self._height = height
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return the part."""
        part = F.image.crop(x, self._x, self._y, self._width, self._height)
        if not self._size:
            return part
        return F.image.resize(part, self._size, False, 1 if self._interpolation is None else self._interpolation)


class _Cropping(Block):
    """What cuts a part of one size out of an image, by a function of `mx.image`."""

    def __init__(self, size: Any, interpolation: int) -> None:
        super().__init__()
        self._size = _width_and_height(type(self).__name__, size)
        self._interpolation = interpolation


class CenterCrop(_Cropping):
    """Cuts out the middle of an image; a smaller image is enlarged.

    Parameters
    ----------
    size : int, or tuple of two ints
        Width and height.
    interpolation : int
        As for `Resize`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.CenterCrop((8, 6))(mx.nd.zeros((16, 24, 3))).shape
    (6, 8, 3)
    """

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__(size, interpolation)

    def forward(self, x: Any, *args: Any) -> Any:
        """Return the middle of an image of shape (height, width, channels)."""
        return center_crop(x, self._size, self._interpolation)[0]


class RandomCrop(_Cropping):
    """Cuts out a part whose place is drawn by chance; MXNet 2 has it. The place follows `random.seed`.

    Parameters
    ----------
    size : int, or tuple of two ints
        Width and height.
    pad : int, or tuple of four ints, optional
        How many pixels are added before: on each side; or above, below, left and right.
    pad_value : int
        Their values.
    interpolation : int
        As for `Resize`, where the image is smaller.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomCrop(32, pad=4)(mx.nd.zeros((32, 32, 3))).shape
    (32, 32, 3)
    """

    def __init__(self, size: Any, pad: Any = None, pad_value: int = 0, interpolation: int = 1) -> None:
        super().__init__(size, interpolation)
        self._pad: Any = (pad,) * 4 if isinstance(pad, numeric_types) else pad
        if self._pad is not None and len(self._pad) != 4:
            raise ArgumentValueError(
                f"RandomCrop: pad must be a number, or a tuple (above, below, left, right), got {describe(pad)}."
            )
        self._pad_value = pad_value

    def forward(self, x: Any, *args: Any) -> Any:
        """Return a part of an image of shape (height, width, channels)."""
        if self._pad is not None:
            above, below, left, right = self._pad
            raw = np.pad(x.asnumpy(), ((above, below), (left, right), (0, 0)), constant_values=self._pad_value)
            x = x._like(raw)
        return random_crop(x, self._size, self._interpolation)[0]


class RandomResizedCrop(_Cropping):
    """Cuts out a part whose place, area and ratio are drawn by chance, and resizes it. They follow `random.seed`.

    Parameters
    ----------
    size : int, or tuple of two ints
        Width and height.
    scale : float, or tuple of two floats
        The smallest and largest share of the image's area; one number is the smallest.
    ratio : tuple of two floats
        The smallest and largest ratio of width to height.
    interpolation : int
        As for `Resize`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomResizedCrop(8)(mx.nd.zeros((16, 24, 3))).shape
    (8, 8, 3)
    """

    def __init__(
        self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4.0, 4.0 / 3.0), interpolation: int = 1
    ) -> None:
        super().__init__(size, interpolation)
        self._scale = scale
        self._ratio = ratio

    def forward(self, x: Any, *args: Any) -> Any:
        """Return a part of an image of shape (height, width, channels)."""
        return random_size_crop(x, self._size, self._scale, self._ratio, self._interpolation)[0]
