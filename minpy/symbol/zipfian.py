"""Candidates of sampled losses: `sym.contrib.rand_zipfian`."""

from __future__ import annotations

import math

from minpy.symbol.operator_functions import FUNCTIONS
from minpy.symbol.symbol import Symbol

__all__ = ["rand_zipfian"]


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Return symbols of what `nd.contrib.rand_zipfian` returns: classes that are drawn, and how often on average.

    Parameters
    ----------
    true_classes : Symbol
        Numbers of classes.
    num_sampled : int
        How many classes are drawn, with replacement.
    range_max : int
        The number of classes.

    Returns
    -------
    samples, expected_count_true, expected_count_sample : Symbol
        The samples are int64, the counts float64.

    Examples
    --------
    >>> from minpy import nd, sym
    >>> samples, true, sampled = sym.contrib.rand_zipfian(sym.var('true'), 4, 5)
    >>> [found] = true.eval(true=nd.array([3]))
    >>> found.asnumpy().round(4)
    array([0.4982])
    """
    total = math.log(range_max + 1)
    uniform = FUNCTIONS["_random_uniform"](low=0, high=total, shape=(num_sampled,), dtype="float64")
    drawn = uniform.expm1().astype("int64") % range_max

    def expected(classes: Symbol) -> Symbol:
        numbers = classes.astype("float64")
        counts: Symbol = ((numbers + 2) / (numbers + 1)).log() / total * num_sampled
        return counts

    return drawn, expected(true_classes), expected(drawn)
