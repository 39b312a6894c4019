"""Short convolutions by fewer products: the transforms of Toom and Cook, and of Winograd, as lines of IR.

A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (2016): m results of three taps take
n = m + 2 products. Data are seen as coefficients of a polynomial that is multiplied at n points: zero, some pairs ±p,
and infinity; for n by n data that is done along both axes. For four results the pairs are ±3/4 and ±3/2, whose factors
floats hold exactly: errors are about twice those of the plain sum, where ±1 and ±2 give five times as large ones.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy

from minpy.backends.native.convolutions.emitter import Emitter

__all__ = ["PAIRS", "data_line", "kernel_matrix", "result_line"]

# The pairs of points, for each number of results.
PAIRS: dict[int, tuple[float, ...]] = {2: (1.0,), 4: (0.75, 1.5)}


def _even(points: Sequence[float]) -> list[float]:
    """Return the coefficients of the product of x² - p², from the lowest, those of odd powers left out.

    >>> _even([0.75, 1.5])
    [1.265625, -2.8125, 1.0]
    """
    found = [1.0]
    for p in points:
        shifted, scaled = [0.0, *found], [-p * p * one for one in found] + [0.0]
        found = [one + other for one, other in zip(shifted, scaled, strict=True)]
    return found


@functools.cache
def kernel_matrix(results: int) -> numpy.ndarray:
    """Return G, of n rows and three columns: what becomes of a kernel's line.

    >>> kernel_matrix(2)
    array([[-1. ,  0. ,  0. ],
           [ 0.5,  0.5,  0.5],
           [ 0.5, -0.5,  0.5],
           [ 0. ,  0. ,  1. ]])
    """
    pairs = PAIRS[results]
    rows = [[1 / _even(pairs)[0], 0.0, 0.0]]
    for p in pairs:
        others = _even([one for one in pairs if one != p])
        factor = 2 * p * p * sum(one * p ** (2 * power) for power, one in enumerate(others))
        rows += [[1 / factor, sign * p / factor, p * p / factor] for sign in (1, -1)]
    return numpy.array([*rows, [0.0, 0.0, 1.0]])


def _sum(code: Emitter, factors: Sequence[float], values: Sequence[str]) -> str:
    """Write a sum of products with known factors, the last of which is 1."""
    assert factors[-1] == 1
    total = values[-1]
    for factor, value in zip(reversed(factors[:-1]), reversed(values[:-1]), strict=True):
        if factor == -1:
            total = code.arithmetic("fsub", total, value)
        elif factor:
            total = code.add_product(total, value, code.number(factor))
    return total


def data_line(code: Emitter, values: Sequence[str], results: int) -> list[str]:
    """Write B' times a line of n data."""
    pairs = PAIRS[results]
    even = _even(pairs)
    found = [_sum(code, even, values[0:-1:2])]
    for p in pairs:
        others = _even([one for one in pairs if one != p])
        first, second = _sum(code, others, values[2::2]), _sum(code, others, values[1:-1:2])
        if p != 1:
            second = code.arithmetic("fmul", second, code.number(p))
        found += [code.arithmetic(operation, first, second) for operation in ("fadd", "fsub")]
    return [*found, _sum(code, even, values[1::2])]


def result_line(code: Emitter, values: Sequence[str], results: int) -> list[str]:
    """Write A' times a line of n products."""
    pairs = PAIRS[results]
    sums = [code.arithmetic("fadd", *values[1 + 2 * k : 3 + 2 * k]) for k in range(len(pairs))]
    differences = [code.arithmetic("fsub", *values[1 + 2 * k : 3 + 2 * k]) for k in range(len(pairs))]
    found = []
    for power in range(results):
        terms = differences if power % 2 else sums
        total = values[0] if power == 0 else values[-1] if power == results - 1 else ""
        for p, term in zip(pairs, terms, strict=True):
            factor = p**power
            if factor == 1:
                total = code.arithmetic("fadd", total, term) if total else term
            elif total:
                total = code.add_product(total, term, code.number(factor))
            else:
                total = code.arithmetic("fmul", term, code.number(factor))
        found.append(total)
    return found
