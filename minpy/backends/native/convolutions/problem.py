"""Shapes and strides of a convolution; and where on an axis a tap finds its data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from minpy.core.dtypes import NATIVE_TYPES
from minpy.ops.kernels.im2col import output_lengths

__all__ = ["Axis", "Problem", "forward_axes", "gradient_axes"]


@dataclass(frozen=True)
class Problem:
    """A convolution of known shapes, in two dimensions; one dimension is two, the first of length 1.

    Attributes
    ----------
    batch, channels, filters : int
    lengths : (int, int)
        Height and width of the data.
    kernel, stride, dilate, pad : (int, int)
        As those of the operator `Convolution`.
    groups : int
    dtype : {'float32', 'float64'}

    Examples
    --------
    >>> problem = Problem(64, 1, 20, (28, 28), (5, 5))
    >>> problem.positions, problem.flops
    ((24, 24), 36864000)
    """

    batch: int
    channels: int
    filters: int
    lengths: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilate: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    groups: int = 1
    dtype: str = "float32"

    @property
    def positions(self) -> tuple[int, int]:
        """Height and width of the result."""
        height, width = output_lengths(self.lengths, self.kernel, self.stride, self.dilate, self.pad)
        return height, width

    @property
    def element(self) -> str:
        """What LLVM calls the dtype."""
        return NATIVE_TYPES[numpy.dtype(self.dtype)]

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return 8 if self.dtype == "float64" else 4

    @property
    def is_depthwise(self) -> bool:
        """Whether every group is one channel."""
        return self.groups == self.channels

    @property
    def flops(self) -> int:
        """Operations on numbers that the sums of products take, those on padding included."""
        taps = self.channels // self.groups * math.prod(self.kernel)
        return 2 * self.batch * self.filters * math.prod(self.positions) * taps

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        """The shape of the weight."""
        return (self.filters, self.channels // self.groups, *self.kernel)


@dataclass(frozen=True)
class Axis:
    """Where the sums along one axis find their terms.

    Result number `first + t * spacing`, for t below `count`, is the sum over m below `taps` of the source's element
    `t * step + m * reach + offset`, if it lies within `length`, times the weight's element `tap + m * tap_step`.
    """

    count: int
    first: int
    spacing: int
    step: int
    taps: int
    reach: int
    offset: int
    length: int
    tap: int
    tap_step: int

    def begins(self, t: int) -> int:
        """Return the first m whose element of the source exists."""
        return max(0, -((t * self.step + self.offset) // self.reach))

    def ends(self, t: int) -> int:
        """Return one more than the last m whose element of the source exists."""
        return max(self.begins(t), min(self.taps, -((t * self.step + self.offset - self.length) // self.reach)))

    @property
    def inside(self) -> tuple[int, int]:
        """The range of t for which all elements exist; empty ranges are (0, 0).

        >>> Axis(8, 0, 1, 2, 3, 1, -1, 15, 0, 1).inside
        (1, 7)
        """
        last = self.length - 1 - (self.taps - 1) * self.reach - self.offset
        begin, end = max(0, -(self.offset // self.step)), min(self.count, last // self.step + 1)
        return (begin, end) if begin < end else (0, 0)

    @property
    def is_whole(self) -> bool:
        """Whether all elements exist."""
        return self.inside == (0, self.count)


def forward_axes(problem: Problem) -> tuple[Axis, Axis]:
    """Return where the results' terms lie, along height and width.

    >>> forward_axes(Problem(1, 1, 1, (4, 4), (3, 3), pad=(1, 0)))[0]
    Axis(count=4, first=0, spacing=1, step=1, taps=3, reach=1, offset=-1, length=4, tap=0, tap_step=1)
    """
    height, width = (
        Axis(count, 0, 1, s, k, d, -p, length, 0, 1)
        for count, k, s, d, p, length in zip(
            problem.positions, problem.kernel, problem.stride, problem.dilate, problem.pad, problem.lengths, strict=True
        )
    )
    return height, width


def gradient_axes(problem: Problem) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """Return where the terms of the data's gradient lie, along height and width, for each remainder by the stride.

    Element r of the data met tap i at position (r + pad - i * dilate) / stride, if that is a whole number: only every
    few taps count, which ones depends on the remainder of r + pad.

    >>> for axis in gradient_axes(Problem(1, 1, 1, (8, 8), (3, 3), stride=(2, 1), pad=(1, 1)))[0]:
    ...     print(axis)
    Axis(count=4, first=0, spacing=2, step=1, taps=1, reach=1, offset=0, length=4, tap=1, tap_step=-2)
    Axis(count=4, first=1, spacing=2, step=1, taps=2, reach=1, offset=0, length=4, tap=2, tap_step=-2)
    """
    height, width = (
        tuple(_gradient_axis(first, *facts) for first in range(facts[2]))
        for facts in zip(
            problem.positions, problem.kernel, problem.stride, problem.dilate, problem.pad, problem.lengths, strict=True
        )
    )
    return height, width


def _gradient_axis(first: int, positions: int, kernel: int, stride: int, dilate: int, pad: int, length: int) -> Axis:
    count = max(0, -((first - length) // stride))
    taps = [i for i in range(kernel) if (first + pad - i * dilate) % stride == 0]
    if not taps:
        return Axis(count, first, stride, 1, 0, 1, 0, positions, 0, 1)
    last = taps[-1]
    tap_step = stride // math.gcd(stride, dilate)
    offset = (first + pad - last * dilate) // stride
    return Axis(count, first, stride, 1, len(taps), dilate * tap_step // stride, offset, positions, last, -tap_step)
