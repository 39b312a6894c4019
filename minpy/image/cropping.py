"""Parts of pictures, at given places and at places drawn by chance.

The places are drawn from Python's `random`, by the same calls in the same order as MXNet's.
"""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

from minpy.base import numeric_types
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError
from minpy.image.pixels import height_and_width, is_recorded, like, pixels
from minpy.image.sizes import _get_interp_method, interpolated, scale_down
from minpy.pictures import resize

__all__ = ["area_range", "center_crop", "fixed_crop", "random_crop", "random_size_crop"]

_ATTEMPTS = 10
# Common sections of the docstrings below.
_PART = """
    Returns
    -------
    NDArray
    tuple of four ints
        x0, y0, width and height of the part in the image.

    Raises
    ------
    ArgumentError, ShapeError
        For a size or an image without pixels.
    """
_SIZE = """
    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels).
    size : tuple of two ints
        The width and height of the part. If the image is smaller, a smaller part of this ratio is made larger.
    interp : int
        How it is made larger: as for `fixed_crop`.
    """


def fixed_crop(src: Any, x0: int, y0: int, w: int, h: int, size: tuple[int, int] | None = None, interp: int = 2) -> Any:
    """Return a part of an image, in another size if one is given.

    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels).
    x0, y0 : int
        The left and upper border of the part.
    w, h : int
        Its width and height. What lies outside of the image is left out.
    size : tuple of two ints, optional
        The new width and height.
    interp : int
        How it is resized: 0 to 4, as for `imresize`; 9: bicubic to enlarge, areas to reduce; 10: by chance.

    Returns
    -------
    NDArray
        In memory of its own.

    Raises
    ------
    ArgumentError, ShapeError
        For a part without pixels, or another shape of the image.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.fixed_crop(mx.nd.arange(12).reshape((3, 4, 1)), 1, 0, 2, 2).asnumpy()[:, :, 0]
    array([[1., 2.],
           [5., 6.]], dtype=float32)
    """
    raw = pixels("fixed_crop", src)
    if x0 < 0 or y0 < 0 or w <= 0 or h <= 0 or x0 >= raw.shape[1] or y0 >= raw.shape[0]:
        raise ArgumentValueError(
            f"fixed_crop: the part at x0={x0}, y0={y0}, {w} wide and {h} high, of an image of shape {raw.shape}; "
            "expected a part that has pixels."
        )
    part = src[y0 : y0 + h, x0 : x0 + w] if is_recorded(src) else raw[y0 : y0 + h, x0 : x0 + w]
    if size is None or (w, h) == tuple(size):
        return part if is_recorded(src) else like(part.copy(), src)
    code = _get_interp_method(interp, (h, w, size[1], size[0]))
    if is_recorded(src):
        return interpolated("fixed_crop", part, size[0], size[1], code)
    return like(resize(part, size[0], size[1], code, name="fixed_crop"), src)


def _crop_size(name: str, src: Any, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the height and width of an image, and the width and height of a part that fits into it."""
    height, width = height_and_width(name, src)
    if len(size) != 2 or min(size) <= 0:
        raise ArgumentValueError(f"{name}: size is {size}; expected (width, height), both positive.")
    part_width, part_height = scale_down((width, height), size)
    if not part_width * part_height:
        raise ArgumentError(
            f"{name}: an image of shape {tuple(src.shape)} has no part with the ratio of {tuple(size)}, (width, "
            "height): it would be less than a pixel wide or high."
        )
    return height, width, part_width, part_height


@documented(size=_SIZE, part=_PART)
def random_crop(src: Any, size: tuple[int, int], interp: int = 2) -> tuple[Any, tuple[int, int, int, int]]:
    """Return a part of an image at a place drawn by chance, and where it was.

    {size}

    {part}

    Examples
    --------
    >>> import minpy as mx
    >>> part, (x0, y0, width, height) = mx.image.random_crop(mx.nd.zeros((40, 60, 3)), (20, 30))
    >>> part.shape, width, height
    ((30, 20, 3), 20, 30)
    """
    height, width, part_width, part_height = _crop_size("random_crop", src, size)
    place = random.randint(0, width - part_width), random.randint(0, height - part_height), part_width, part_height
    return fixed_crop(src, *place, size, interp), place


@documented(size=_SIZE, part=_PART)
def center_crop(src: Any, size: tuple[int, int], interp: int = 2) -> tuple[Any, tuple[int, int, int, int]]:
    """Return the middle of an image, and where it was.

    {size}

    {part}

    Examples
    --------
    >>> import minpy as mx
    >>> part, where = mx.image.center_crop(mx.nd.zeros((40, 60, 3)), (20, 30))
    >>> part.shape, where
    ((30, 20, 3), (20, 5, 20, 30))
    """
    height, width, part_width, part_height = _crop_size("center_crop", src, size)
    place = (width - part_width) // 2, (height - part_height) // 2, part_width, part_height
    return fixed_crop(src, *place, size, interp), place


def area_range(name: str, area: Any, options: dict[str, Any]) -> tuple[float, float]:
    """Return the smallest and largest part of an image's area: of one number, or of the old keyword `min_area`."""
    if "min_area" in options:
        warnings.warn(f"{name}: min_area is the old name of area.", DeprecationWarning, stacklevel=3)
        area = options.pop("min_area")
    if options:
        raise ArgumentError(f"{name}: there is no argument {next(iter(options))!r}.")
    if isinstance(area, numeric_types):
        return float(area), 1.0
    smallest, largest = area
    return smallest, largest


@documented(part=_PART)
def random_size_crop(
    src: Any, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
) -> tuple[Any, tuple[int, int, int, int]]:
    """Return a part of an image whose place, area and ratio are drawn by chance, in a given size; and where it was.

    After ten parts that do not fit into the image, it is the middle.

    Parameters
    ----------
    src : NDArray
        Of shape (height, width, channels).
    size : tuple of two ints
        The width and height that the part is given.
    area : float, or tuple of two floats
        The smallest and largest part of the image's area; one number is the smallest, and the largest is 1.
    ratio : tuple of two floats
        The smallest and largest ratio of width to height.
    interp : int
        How it is resized: as for `fixed_crop`.

    {part}

    Examples
    --------
    >>> import minpy as mx
    >>> part, where = mx.image.random_size_crop(mx.nd.zeros((40, 60, 3)), (20, 20), (0.08, 1.0), (3 / 4, 4 / 3))
    >>> part.shape
    (20, 20, 3)
    """
    height, width = height_and_width("random_size_crop", src)
    smallest, largest = area_range("random_size_crop", area, kwargs)
    if not 0 < ratio[0] <= ratio[1]:
        raise ArgumentValueError(
            f"random_size_crop: ratio is {ratio}; expected two positive numbers, the smaller first."
        )
    ratios = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(_ATTEMPTS):
        pixels_of_part = random.uniform(smallest, largest) * (height * width)
        ratio_of_part = math.exp(random.uniform(*ratios))
        part_width = round(math.sqrt(pixels_of_part * ratio_of_part))
        part_height = round(math.sqrt(pixels_of_part / ratio_of_part))
        if 0 < part_width <= width and 0 < part_height <= height:
            x0, y0 = random.randint(0, width - part_width), random.randint(0, height - part_height)
            place = x0, y0, part_width, part_height
            return fixed_crop(src, *place, size, interp), place
    return center_crop(src, size, interp)
