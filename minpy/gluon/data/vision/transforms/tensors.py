"""Images as the arrays that networks take."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.gluon.block import HybridBlock
from minpy.ops.image.geometry import by_channel, normalize, to_tensor

__all__ = ["ByOperator", "Cast", "Normalize", "OnBuffers", "ToTensor"]


class OnBuffers:
    """A transform that knows what it does to a plain NumPy array.

    `Compose` lets several of them work one after the other, without making NDArrays in between.
    """

    def on_buffer(self, raw: np.ndarray, fresh: bool) -> np.ndarray:
        """Return new memory, or `raw` itself, changed, if it is fresh: nobody else has it then."""
        raise NotImplementedError


class ByOperator(HybridBlock):
    """A transform that is an operator of `F.image`, called with `_args`.

    Parameters
    ----------
    *args
        What the operator takes besides the image.
    """

    _operator = ""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self._args = args

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return an image of shape (height, width, channels), changed."""
        return getattr(F.image, self._operator)(x, *self._args)


class Cast(HybridBlock):
    """Changes the dtype.

    Parameters
    ----------
    dtype : str or numpy.dtype

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.data.vision.transforms.Cast()(mx.nd.array([3], dtype='uint8')).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return x in the dtype."""
        return x.astype(self._dtype)


class ToTensor(OnBuffers, HybridBlock):
    """Makes float32 between 0 and 1 of values between 0 and 255, with the axis of channels in front.

    Of shape (height, width, channels) it makes (channels, height, width), and the same of batches.

    Examples
    --------
    >>> import minpy as mx
    >>> image = mx.nd.array([[[0, 51, 255]]], dtype='uint8')
    >>> mx.gluon.data.vision.transforms.ToTensor()(image).asnumpy().ravel().tolist()
    [0.0, 0.20000000298023224, 1.0]
    """

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return the tensor of an image, or of a batch of them."""
        return F.image.to_tensor(x)

    def on_buffer(self, raw: np.ndarray, fresh: bool) -> np.ndarray:
        tensor: np.ndarray = to_tensor.forward(raw)
        return tensor


class Normalize(OnBuffers, HybridBlock):
    """Subtracts a mean from each channel, and divides it by a standard deviation.

    Parameters
    ----------
    mean, std : float, or tuple of floats
        For all channels, or for each.

    Examples
    --------
    >>> import minpy as mx
    >>> tensor = mx.nd.array([[[1.0]], [[2.0]], [[3.0]]])
    >>> mx.gluon.data.vision.transforms.Normalize(1, (1, 2, 4))(tensor).asnumpy().ravel().tolist()
    [0.0, 0.5, 0.5]
    """

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std
        self._of_channels: Any = None  # both as arrays, and what they were made of

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return the normalized tensor, of shape (channels, height, width), or a batch of them."""
        return F.image.normalize(x, self._mean, self._std)

    def on_buffer(self, raw: np.ndarray, fresh: bool) -> np.ndarray:
        if not fresh or raw.dtype != np.float32 or raw.ndim not in (3, 4):
            normalized: np.ndarray = normalize.forward(raw, mean=self._mean, std=self._std)
            return normalized
        key = (self._mean, self._std, raw.shape[-3])
        if self._of_channels is None or self._of_channels[0] != key:
            self._of_channels = key, by_channel("mean", self._mean, raw), by_channel("std", self._std, raw)
        _, mean, std = self._of_channels
        raw -= mean
        raw /= std
        return raw
