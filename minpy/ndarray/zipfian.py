"""Candidates of sampled losses: `nd.contrib.rand_zipfian`."""

from __future__ import annotations

import math

import numpy

from minpy.context import Context, resolve_context
from minpy.core.errors import ArgumentValueError
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.ops.random.generator import generator

__all__ = ["rand_zipfian"]


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from an approximately Zipfian distribution, as candidates of a sampled softmax.

    Parameters
    ----------
    true_classes : NDArray
        Numbers of classes, of any shape.
    num_sampled : int
        How many classes are drawn, with replacement.
    range_max : int
        The number of classes.
    ctx : Context, optional

    Returns
    -------
    samples : NDArray
        Of shape (num_sampled,) and dtype int64.
    expected_count_true : NDArray
        How often each of the true classes is drawn on average: of their shape, float64.
    expected_count_sample : NDArray
        The same for the samples.

    Raises
    ------
    ArgumentValueError
        If there are no classes.

    Notes
    -----
    P(class) = log((class + 2) / (class + 1)) / log(range_max + 1). (Jean et al., "On using very large target vocabulary
    for neural machine translation", 2015, draw candidates in such a way.)

    Examples
    --------
    >>> from minpy import nd
    >>> samples, true, sampled = nd.contrib.rand_zipfian(nd.array([3]), 4, 5)
    >>> samples.shape, true.asnumpy().round(4)
    ((4,), array([0.4982]))
    """
    if range_max < 1:
        raise ArgumentValueError(f"contrib.rand_zipfian: range_max is {range_max}; expected at least one class.")
    total = math.log(range_max + 1)
    drawn = numpy.expm1(generator().uniform(0, total, num_sampled)).astype(numpy.int64) % range_max

    def expected(classes: numpy.ndarray) -> numpy.ndarray:
        numbers = classes.astype(numpy.float64)
        return numpy.log((numbers + 2) / (numbers + 1)) / total * num_sampled

    where = resolve_context(ctx)
    results = (drawn, expected(true_classes.asnumpy()), expected(drawn))
    samples, true, sampled = (place(NDArray, data, where) for data in results)
    return samples, true, sampled
