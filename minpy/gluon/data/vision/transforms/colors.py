"""Colours of images changed by chance. What is drawn follows `mx.random.seed`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from minpy.core.docstrings import documented
from minpy.gluon.block import Block
from minpy.gluon.data.vision.transforms.tensors import ByOperator

__all__ = [
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomSaturation",
]


_FACTOR = """
Parameters
----------
{name} : float
    By how much the factor may be less or more than 1.

Examples
--------
>>> import minpy as mx
>>> mx.gluon.data.vision.transforms.{transform}(0.3)(mx.nd.ones((8, 8, 3))).shape
(8, 8, 3)
"""


@documented(sections=_FACTOR.format(name="brightness", transform="RandomBrightness"))
class RandomBrightness(ByOperator):
    """Changes the brightness of an image by chance.

    {sections}
    """

    _operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(max(0, 1 - brightness), 1 + brightness)


@documented(sections=_FACTOR.format(name="contrast", transform="RandomContrast"))
class RandomContrast(ByOperator):
    """Changes the contrast of an image by chance.

    {sections}
    """

    _operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(max(0, 1 - contrast), 1 + contrast)


@documented(sections=_FACTOR.format(name="saturation", transform="RandomSaturation"))
class RandomSaturation(ByOperator):
    """Changes the saturation of an image by chance.

    {sections}
    """

    _operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(max(0, 1 - saturation), 1 + saturation)


@documented(sections=_FACTOR.format(name="hue", transform="RandomHue"))
class RandomHue(ByOperator):
    """Changes the hue of an image by chance.

    {sections}
    """

    _operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(max(0, 1 - hue), 1 + hue)


class RandomColorJitter(ByOperator):
    """Changes brightness, contrast, saturation and hue of an image by chance, in an order that is drawn, too.

    Parameters
    ----------
    brightness, contrast, saturation : float
        By how much each factor may be less or more than 1.
    hue : float
        How many turns of the circle of colours hues may move.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomColorJitter(0.3, 0.3, 0.3, 0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    _operator = "random_color_jitter"

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__(brightness, contrast, saturation, hue)


class RandomLighting(ByOperator):
    """Adds a colour to an image, along the directions in which the colours of photos vary.

    Parameters
    ----------
    alpha : float
        The standard deviation of how far.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.RandomLighting(0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    _operator = "random_lighting"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)


# How bright red, green and blue are, as MXNet's augmenters have it.
_GRAY = np.array([0.21, 0.72, 0.07])


class RandomGray(Block):
    """Makes an image gray by chance, with equal channels; MXNet 2 has it. The chance follows `random.seed`.

    Parameters
    ----------
    p : float
        How probable it is.

    Examples
    --------
    >>> import minpy as mx
    >>> image = mx.nd.array([[[100, 50, 200]]])
    >>> mx.gluon.data.vision.transforms.RandomGray(p=1)(image).asnumpy().round(3).ravel().tolist()
    [71.0, 71.0, 71.0]
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Any, *args: Any) -> Any:
        """Return an image of shape (height, width, 3), gray or not."""
        if self.p < random.random():
            return x
        raw = x.asnumpy()
        gray = (raw @ _GRAY)[..., None]
        return x._like(np.broadcast_to(gray, raw.shape).astype(raw.dtype))
