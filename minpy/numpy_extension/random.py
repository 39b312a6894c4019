"""`minpy.npx.random`: draws whose parameters may be arrays, with a batch of them for each element."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.context import Context
from minpy.core.array import raw_of
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError
from minpy.core.followed import holds_followed
from minpy.namespaces import listing
from minpy.numpy.random import finished, on_device
from minpy.numpy.reparametrised import followed_draw
from minpy.ops.random.generator import generator, seed

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]
__dir__ = listing(__all__)


def bernoulli(
    prob: Any = None,
    logit: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
) -> Any:
    """Return ones with a probability, and zeros.

    Parameters
    ----------
    prob : float or ndarray
        The probability of a one.
    logit : float or ndarray
        The logarithm of its odds; one of the two is given.
    size : int or tuple of int, optional
        By default the parameter's shape.
    dtype : dtype, optional
        By default float32.
    ctx : Context, optional
    out : ndarray, optional
        Where to write the result.

    Raises
    ------
    ArgumentError
        If both parameters are given, or neither.

    Examples
    --------
    >>> from minpy import npx
    >>> npx.random.bernoulli(prob=1.0, size=2)
    array([1., 1.], dtype=float32)
    """
    if (prob is None) == (logit is None):
        raise ArgumentError("npx.random.bernoulli: give one of prob= and logit=, not both.")
    chance = raw_of(prob) if logit is None else 1.0 / (1.0 + numpy.exp(-numpy.asarray(raw_of(logit), "float64")))
    shape = numpy.shape(chance) if size is None else size
    values = numpy.asarray(generator().random(shape) < chance, numpy.float64)
    drawn = finished(values, dtype, ctx)
    if out is None:
        return drawn
    out[...] = drawn
    return out


_BATCH = """
    batch_shape : int or tuple of int, optional
        The shape of the result is this, and behind it that of the parameters.
    dtype : dtype, optional
        By default float32.
    ctx : Context, optional
    """


@documented(batch=_BATCH)
def normal_n(
    loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Context | None = None
) -> Any:
    """Return draws from normal distributions, a batch of them for each element of the parameters.

    Parameters
    ----------
    loc, scale : float or ndarray
        Mean and standard deviation.
    {batch}

    Examples
    --------
    >>> from minpy import np, npx
    >>> npx.random.normal_n(np.zeros(3), 1.0, batch_shape=(4, 2)).shape
    (4, 2, 3)
    """
    return _draw_batch("normal", loc, scale, batch_shape, dtype, ctx)


@documented(batch=_BATCH)
def uniform_n(
    low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Context | None = None
) -> Any:
    """Return draws from [low, high), a batch of them for each element of the parameters.

    Parameters
    ----------
    low, high : float or ndarray
    {batch}

    Examples
    --------
    >>> from minpy import np, npx
    >>> npx.random.uniform_n(np.zeros(3), np.ones(3), batch_shape=2).shape
    (2, 3)
    """
    return _draw_batch("uniform", low, high, batch_shape, dtype, ctx)


def _draw_batch(name: str, first: Any, second: Any, batch_shape: Any, dtype: Any, ctx: Context | None) -> Any:
    lengths = () if batch_shape is None else (batch_shape,) if isinstance(batch_shape, int) else tuple(batch_shape)
    shape = (*lengths, *numpy.broadcast_shapes(numpy.shape(first), numpy.shape(second)))
    if holds_followed((first, second)):
        return on_device(followed_draw(name, (first, second, shape), {}), dtype, ctx)
    return finished(getattr(generator(), name)(raw_of(first), raw_of(second), shape), dtype, ctx)
