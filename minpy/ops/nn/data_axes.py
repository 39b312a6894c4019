"""The axes that data of windows must have, and the words for data that has others."""

from __future__ import annotations

from collections.abc import Sequence

from minpy.core.errors import ShapeError

__all__ = ["axes_of_layout", "wrong_axes"]

_NAMES = {"N": "batch", "C": "channels", "D": "depth", "H": "height", "W": "width"}


def axes_of_layout(layout: str) -> tuple[str, ...]:
    """Return what the axes of a layout are called.

    Examples
    --------
    >>> axes_of_layout('NCHW')
    ('batch', 'channels', 'height', 'width')
    """
    return tuple(_NAMES[letter] for letter in layout)


def wrong_axes(where: str, shape: Sequence[int], axes: Sequence[str]) -> ShapeError:
    """Return the error for data whose number of axes is another than that of `axes`, their names.

    Examples
    --------
    >>> print(wrong_axes('Conv1D: ', (4, 6), axes_of_layout('NCW')))
    Conv1D: data has shape (4, 6), with 2 axes; expected 3: (batch, channels, width). One item without a batch becomes \
a batch of one with data.expand_dims(0).
    """
    if len(shape) == len(axes) - 1:
        remedy = f"One item without a {axes[0]} becomes a batch of one with data.expand_dims(0)."
    else:
        remedy = f"Give it these axes with data.reshape(({', '.join(axes)}))."
    count = f"{len(shape)} axis" if len(shape) == 1 else f"{len(shape)} axes"
    return ShapeError(
        f"{where}data has shape {tuple(shape)}, with {count}; expected {len(axes)}: ({', '.join(axes)}). {remedy}"
    )
