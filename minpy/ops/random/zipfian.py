"""Classes drawn from an approximately Zipfian, that is log-uniform, distribution: the likelier the smaller.

P(class) = log((class + 2) / (class + 1)) / log(range_max + 1), as of words that are numbered by how often they occur.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ArgumentValueError
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator

__all__ = ["unique_zipfian"]


@operator(name="_sample_unique_zipfian", outputs=("output0", "output1"), random=True, zero="all")
def unique_zipfian(*, range_max: int, shape: tuple[int, ...] | None = None) -> Any:
    """Return rows of different classes from an approximately Zipfian distribution, and how many draws each row took.

    Parameters
    ----------
    range_max : int
        The number of classes.
    shape : tuple of int
        (rows, classes in each row), at most `range_max` of these.

    Returns
    -------
    samples : numpy.ndarray
        Of `shape` and dtype int64, 0 <= class < range_max, in the order in which they were first drawn.
    trials : numpy.ndarray
        Of shape (rows,) and dtype int64: how often was drawn, classes that had been there already included.

    {raises_argument_error}
        If `shape` does not have two lengths.
    ArgumentValueError
        If there are not so many classes.

    Examples
    --------
    >>> from minpy.ops.registry import OPERATORS
    >>> samples, trials = OPERATORS['_sample_unique_zipfian'](range_max=4, shape=(1, 4))
    >>> sorted(samples[0].tolist()), bool(trials[0] >= 4)
    ([0, 1, 2, 3], True)
    """
    rows, count = _checked(range_max, shape)
    samples, trials = np.empty((rows, count), np.int64), np.zeros(rows, np.int64)
    for row in range(rows):
        drawn = np.empty(0, np.int64)
        distinct, first = drawn, drawn
        while len(distinct) < count:
            draws = np.expm1(generator().uniform(0, math.log(range_max + 1), max(2 * count, len(drawn), 16)))
            drawn = np.append(drawn, np.minimum(draws.astype(np.int64), range_max - 1))
            distinct, first = np.unique(drawn, return_index=True)
        draw_order = np.argsort(first)[:count]
        samples[row] = distinct[draw_order]
        trials[row] = first[draw_order[-1]] + 1 if count else 0
    return samples, trials


def _checked(range_max: int, shape: Any) -> tuple[int, int]:
    if shape is None or len(shape) != 2:
        raise ArgumentError(f"_sample_unique_zipfian: shape is {shape}; expected two lengths, (rows, classes in each).")
    rows, count = shape
    if not 0 <= count <= range_max:
        raise ArgumentValueError(
            f"_sample_unique_zipfian: shape is {tuple(shape)}, range_max {range_max}; a row of {count} different "
            f"classes needs as many of them."
        )
    return rows, count


@unique_zipfian.def_infer_shape
def _unique_zipfian_shapes(inputs: Any, outputs: Any, *, range_max: int, shape: Any) -> Any:
    rows, count = _checked(range_max, shape)
    return inputs, [(rows, count), (rows,)]


unique_zipfian.def_infer_type(lambda inputs, outputs, **_: (inputs, [np.dtype(np.int64)] * 2))
