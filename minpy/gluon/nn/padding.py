"""`ReflectionPad2D`: images continued beyond their edges."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from minpy.core.errors import ArgumentValueError
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.ops.nn.data_axes import axes_of_layout

__all__ = ["ReflectionPad2D"]


class ReflectionPad2D(HybridArrayBlock):
    """Images with edges around them that mirror what lies inside.

    Parameters
    ----------
    padding : int or tuple of 8 int
        How many rows and columns are added on each side; or for both sides of each of the four axes: batch and
        channels, where it must be 0, height, width. Less than the image has.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If `padding` is neither.

    Notes
    -----
    Takes an array of shape (batch, channels, height, width), and returns one that is higher and wider.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.array([[[[1, 2, 3], [4, 5, 6]]]])
    >>> mx.gluon.nn.ReflectionPad2D(1)(x).asnumpy()[0, 0]
    array([[5., 4., 5., 6., 5.],
           [2., 1., 2., 3., 2.],
           [5., 4., 5., 6., 5.],
           [2., 1., 2., 3., 2.]], dtype=float32)
    """

    def __init__(self, padding: Any = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        is_several = isinstance(padding, Iterable) and not isinstance(padding, str)
        try:
            widths = tuple(map(index, padding if is_several else (0, 0, 0, 0, *(padding,) * 4)))
        except TypeError:
            widths = ()
        if len(widths) != 8 or min(widths) < 0 or any(widths[:4]):
            raise ArgumentValueError(
                f"{type(self).__name__}: padding is {padding!r}; expected a whole number >= 0, or 8 of them: "
                "(0, 0, 0, 0, top, bottom, left, right)."
            )
        self._padding = widths
        self._input_axes = axes_of_layout("NCHW")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the images with their edges."""
        if is_np_array():
            return F.np.pad(x, tuple(zip(self._padding[::2], self._padding[1::2], strict=True)), mode="reflect")
        return F.pad(x, mode="reflect", pad_width=self._padding)
