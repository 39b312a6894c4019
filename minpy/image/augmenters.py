"""Objects that change pictures, most of them at random: their base, sequences, sizes, crops, flips, dtypes.

What is drawn comes from Python's `random`, by the same calls in the same order as MXNet's: a program that is seeded
sees the same pictures.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.image.cropping import area_range, center_crop, random_crop, random_size_crop
from minpy.image.pixels import height_and_width, is_recorded, like, pixels
from minpy.image.sizes import _get_interp_method, interpolated, resize_short
from minpy.ndarray import image as operators
from minpy.pictures import mirror

__all__ = [
    "Augmenter",
    "CastAug",
    "CenterCropAug",
    "Described",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "RandomCropAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SequentialAug",
    "flipped",
]


def _json_value(value: Any) -> Any:
    """Return an argument in a form for JSON."""
    value = raw_of(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


class Described:
    """The base of augmenters: it shows their arguments as text."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _json_value(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Return the class and its arguments as JSON; as a list, where it holds others.

        Returns
        -------
        str or list

        Examples
        --------
        >>> import minpy as mx
        >>> mx.image.ResizeAug(256).dumps()
        '["resizeaug", {"size": 256, "interp": 2}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """The base of changes of a picture. A subclass defines `__call__(self, src)`.

    Parameters
    ----------
    **kwargs
        The arguments that `dumps` shows.

    Examples
    --------
    >>> import minpy as mx
    >>> class Negative(mx.image.Augmenter):
    ...     def __call__(self, src):
    ...         return 255 - src
    >>> Negative()(mx.nd.array([[[250]]])).asnumpy()
    array([[[5.]]], dtype=float32)
    """

    def __call__(self, src: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __call__(self, src), which returns a picture."
        )


class _Chain(Augmenter):
    """Several augmenters, one after another."""

    def __init__(self, ts: Sequence[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> list[Any]:
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.ts]]

    def __call__(self, src: Any) -> Any:
        for augmenter in self.ts:
            src = augmenter(src)
        return src


class SequentialAug(_Chain):
    """Several augmenters, one after another.

    Parameters
    ----------
    ts : list of Augmenter

    Examples
    --------
    >>> import minpy as mx
    >>> both = mx.image.SequentialAug([mx.image.CenterCropAug((2, 2)), mx.image.CastAug('float64')])
    >>> both(mx.nd.zeros((4, 4, 3))).dtype
    <class 'numpy.float64'>
    """


class RandomOrderAug(_Chain):
    """Several augmenters, one after another, each time in another order.

    Parameters
    ----------
    ts : list of Augmenter
        Shuffled in place.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.RandomOrderAug([mx.image.HorizontalFlipAug(0.5), mx.image.CastAug()])(mx.nd.zeros((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __call__(self, src: Any) -> Any:
        random.shuffle(self.ts)  # type: ignore[arg-type]
        return super().__call__(src)


class _ResizingAugmenter(Augmenter):
    """The base of augmenters with a size and one of the interpolations of `imresize`."""

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp


class ResizeAug(_ResizingAugmenter):
    """Gives the shorter side of a picture a size, and keeps the ratio of its sides.

    Parameters
    ----------
    size : int
    interp : int
        0 to 4: nearest pixel, bilinear, bicubic, areas, Lanczos; 9: by the sizes; 10: by chance.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.ResizeAug(20)(mx.nd.zeros((40, 60, 3))).shape
    (20, 30, 3)
    """

    def __call__(self, src: Any) -> Any:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_ResizingAugmenter):
    """Gives a picture a width and height, whatever its sides' ratio.

    Parameters
    ----------
    size : tuple of two ints
        Width and height.
    interp : int
        0 to 4: nearest pixel, bilinear, bicubic, areas, Lanczos; 9: by the sizes; 10: by chance.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.ForceResizeAug((20, 30))(mx.nd.zeros((40, 60, 3))).shape
    (30, 20, 3)
    """

    def __call__(self, src: Any) -> Any:
        width, height = self.size
        code = _get_interp_method(self.interp, (*height_and_width("ForceResizeAug", src), height, width))
        return interpolated("ForceResizeAug", src, width, height, code)


class RandomCropAug(_ResizingAugmenter):
    """Takes a part of a picture, at a place drawn by chance: `random_crop`.

    Parameters
    ----------
    size : tuple of two ints
        Width and height.
    interp : int
        How a part of a picture that is too small is enlarged.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.RandomCropAug((20, 30))(mx.nd.zeros((40, 60, 3))).shape
    (30, 20, 3)
    """

    def __call__(self, src: Any) -> Any:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Takes a part of a picture, of an area and ratio drawn by chance, in a given size: `random_size_crop`.

    Parameters
    ----------
    size : tuple of two ints
        Width and height.
    area : float, or tuple of two floats
        The smallest and largest part of the picture's area; one number is the smallest, and the largest is 1.
    ratio : tuple of two floats
        The smallest and largest ratio of width to height.
    interp : int
        How the part is resized.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.RandomSizedCropAug((20, 30), 0.08, (3 / 4, 4 / 3))(mx.nd.zeros((40, 60, 3))).shape
    (30, 20, 3)
    """

    def __init__(
        self, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
    ) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = area_range("RandomSizedCropAug", area, kwargs) if kwargs else area
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: Any) -> Any:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_ResizingAugmenter):
    """Takes the middle of a picture: `center_crop`.

    Parameters
    ----------
    size : tuple of two ints
        Width and height.
    interp : int
        How the middle of a picture that is too small is enlarged.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.CenterCropAug((20, 30))(mx.nd.zeros((40, 60, 3))).shape
    (30, 20, 3)
    """

    def __call__(self, src: Any) -> Any:
        return center_crop(src, self.size, self.interp)[0]


def flipped(src: Any) -> Any:
    """Return a picture with left and right exchanged."""
    if is_recorded(src):
        return operators.flip_left_right(src)
    return like(mirror(pixels("HorizontalFlipAug", src)), src)


class HorizontalFlipAug(Augmenter):
    """Exchanges left and right of a picture.

    Parameters
    ----------
    p : float
        How often: of 1.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.HorizontalFlipAug(1)(mx.nd.array([[[1], [2]]])).asnumpy().ravel()
    array([2., 1.], dtype=float32)
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Any) -> Any:
        return flipped(src) if random.random() < self.p else src


class CastAug(Augmenter):
    """Gives a picture another dtype.

    Parameters
    ----------
    typ : str

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.CastAug()(mx.nd.zeros((4, 4, 3), dtype='uint8')).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: Any) -> Any:
        return like(src.astype(self.typ), src) if isinstance(src, np.ndarray) else src.astype(self.typ)
