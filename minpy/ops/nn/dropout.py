"""Dropout: elements set to 0 at random."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from minpy.core.errors import ArgumentError
from minpy.ops.axes import several_axes
from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator

__all__ = ["dropout", "dropout_mask", "mask_shape"]


@operator(
    name="Dropout",
    visible_outputs=1,
    random=True,
    draws=lambda attributes: attributes.get("mode") == "always" or attributes.get("training") is not False,
    shapes=same_shape,
    saved_outputs=lambda attributes: 2,
)
def dropout(
    data: np.ndarray,
    *,
    p: float = 0.5,
    mode: Literal["training", "always"] = "training",
    axes: tuple[int, ...] = (),
    cudnn_off: bool = False,
    training: bool | None = None,
) -> Any:
    """Return the data with elements set to 0 at random, and the others scaled so that the mean stays.

    {data_parameter}
        Floating point, of any shape.
    p : float
        The probability that an element becomes 0, in [0, 1].
    mode : {'training', 'always'}
        Whether it does so only in training.
    axes : tuple of int
        Along these, elements are set to 0 together.
    cudnn_off : bool
        Accepted and not used.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    {returns_like_data}

    {raises_argument_error}
        If p is no probability, or for another mode.

    {recorded_examples}
    >>> nd.Dropout(nd.ones((3,)), p=0.5).asnumpy()
    array([1., 1., 1.], dtype=float32)
    >>> with autograd.train_mode():
    ...     y = nd.Dropout(nd.ones((1000,)), p=0.5)
    >>> sorted(set(y.asnumpy().tolist()))
    [0.0, 2.0]
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"Dropout: p is {p}; expected a probability, 0 <= p <= 1.")
    if mode not in ("training", "always"):
        raise ArgumentError(f"Dropout: unknown mode {mode!r}; expected 'training' or 'always'.")
    if p == 0 or not (training or mode == "always"):
        return data, np.ones((), data.dtype)
    mask = dropout_mask(mask_shape(data.shape, axes), data.dtype, p)
    return data * mask, mask


def mask_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a mask that is the same along some axes."""
    lengths = list(shape)
    for axis in several_axes("Dropout", axes, len(shape)):
        lengths[axis] = 1
    return tuple(lengths)


def dropout_mask(shape: tuple[int, ...], dtype: np.dtype, p: float) -> np.ndarray:
    """Draw a mask: 0 with the probability p, otherwise 1 / (1 - p)."""
    keep = 1 - p
    uniform = generator().random(shape, np.float32)
    mask: np.ndarray = np.less(uniform, keep).astype(dtype)
    if keep:
        mask *= dtype.type(1 / keep)
    return mask


@dropout.def_grad()
def _dropout_gradient(ans: Any, data: Any) -> Any:
    mask = ans[1]
    return lambda g: g[0] * mask


dropout.category = "normalization"
