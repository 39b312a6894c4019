"""Tests of random generators: whether draws have a distribution, a mean, a variance. They need SciPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import as_raw
from minpy.core.errors import ArgumentError, CheckError, MissingDependencyError

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator"]

Generator = Callable[[int], Any]

# The probability that `mean_check` and `var_check` refuse a correct generator.
_SIGNIFICANCE = 0.05


def _statistics() -> Any:
    try:
        import scipy.stats
    except ImportError:
        raise MissingDependencyError(
            "tests of random generators need SciPy, which is not installed. Install it with: "
            "python -m pip install scipy"
        ) from None
    return scipy.stats


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[Any], list[float]]:
    """Return intervals that a distribution is equally likely to fall into, and these probabilities.

    Parameters
    ----------
    ppf : callable
        The inverse of the distribution function.
    nbuckets : int
        How many intervals.

    Examples
    --------
    >>> gen_buckets_probs_with_ppf(lambda p: 2 * p, 2)
    ([(0.0, 1.0), (1.0, 2.0)], [0.5, 0.5])
    """
    if nbuckets < 1:
        raise ArgumentError(f"gen_buckets_probs_with_ppf: nbuckets is {nbuckets}; expected 1 or more.")
    ends = [ppf(number / nbuckets) for number in range(nbuckets + 1)]
    return list(itertools.pairwise(ends)), [1 / nbuckets] * nbuckets


def _draws(generator: Generator, nsamples: int) -> numpy.ndarray:
    drawn = as_raw(generator(nsamples)).reshape(-1)
    if drawn.size != nsamples:
        raise ArgumentError(f"the generator was asked for {nsamples} numbers and returned {drawn.size}.")
    return drawn


def chi_square_check(
    generator: Generator, buckets: Sequence[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, numpy.ndarray, numpy.ndarray]:
    """Test by Pearson's chi-square whether draws fall into buckets as often as they should.

    Parameters
    ----------
    generator : callable
        `generator(n)` returns n draws.
    buckets : sequence
        Intervals (low, high), or values of a discrete distribution.
    probs : sequence of float
        Their probabilities.
    nsamples : int

    Returns
    -------
    tuple of (float, numpy.ndarray, numpy.ndarray)
        The p-value; how often draws fell into each bucket; how often they should.
        Draws outside of all buckets are one more bucket, of the probability that is left.

    Examples
    --------
    >>> draw = numpy.random.RandomState(0)
    >>> p, seen, expected = chi_square_check(lambda n: draw.randint(0, 2, n), [0, 1], [0.5, 0.5], 1000)
    >>> p > 0.01, seen.sum(), expected
    (True, np.int64(1000), array([500., 500.]))
    """
    if len(buckets) != len(probs):
        raise ArgumentError(
            f"chi_square_check: {len(buckets)} buckets and {len(probs)} probabilities; one is needed for each."
        )
    drawn = _draws(generator, nsamples)
    has_intervals = bool(len(buckets)) and isinstance(buckets[0], (list, tuple))
    if has_intervals:
        seen = numpy.array([((drawn >= low) & (drawn < high)).sum() for low, high in buckets])
    else:
        seen = numpy.array([(drawn == value).sum() for value in buckets])
    expected = numpy.asarray(probs, float) * nsamples
    outside, expected_outside = nsamples - seen.sum(), nsamples - expected.sum()
    if expected_outside <= 1e-9 * nsamples and outside:
        return 0.0, seen, expected
    counts, mean_counts = seen, expected
    if outside:
        counts, mean_counts = numpy.append(seen, outside), numpy.append(expected, expected_outside)
    statistic = ((counts - mean_counts) ** 2 / mean_counts).sum()
    return float(_statistics().chi2.sf(statistic, len(counts) - 1)), seen, expected


def verify_generator(
    generator: Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Raise an AssertionError unless `chi_square_check` is passed often enough.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        As for `chi_square_check`.
    nrepeat : int
        How many tests.
    success_rate : float
        The share of them that must be passed.
    alpha : float
        A test is passed if its p-value is larger.

    Returns
    -------
    list of float
        The p-value of each test.
    """
    tests = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    likely = [p for p, _, _ in tests]
    passed = sum(p > alpha for p in likely)
    if passed < nrepeat * success_rate:
        _, seen, expected = tests[likely.index(min(likely))]
        raise CheckError(
            f"the generator passed {passed} of {nrepeat} chi-square tests, expected {nrepeat * success_rate:g} at "
            f"least. Their p-values: {likely}; buckets: {list(buckets)}; in the worst one, draws fell there "
            f"{seen.tolist()} times, expected {expected.tolist()}."
        )
    return likely


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Tell whether the mean of draws agrees with `mu`, for a standard deviation `sigma` (a z-test at 5 %)."""
    deviation = abs(_draws(generator, nsamples).mean(dtype=float) - mu) * numpy.sqrt(nsamples) / sigma
    return bool(deviation < _statistics().norm.ppf(1 - _SIGNIFICANCE / 2))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Tell whether the variance of normal draws agrees with `sigma` squared (a chi-square test at 5 %)."""
    ratio = _draws(generator, nsamples).var(ddof=1, dtype=float) / sigma**2 * (nsamples - 1)
    low, high = _statistics().chi2.ppf([_SIGNIFICANCE / 2, 1 - _SIGNIFICANCE / 2], nsamples - 1)
    return bool(low < ratio < high)
