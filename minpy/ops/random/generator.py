"""The random numbers of minpy: one generator of its own, apart from NumPy's global one and from Python's.

Drawing is safe from several threads, as NumPy's generators lock themselves. A forked child gets a stream of its own,
which follows from the seed and from how many forks came before, so that workers differ and runs repeat.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.core.state import TRACES, tracing

__all__ = ["SOURCE", "generator", "seed", "seed_sequence"]


class _Source:
    """The seed, the number of forks so far, and the generator that follows from them."""

    def __init__(self) -> None:
        self.sequence: Any = None
        self.stream: Any = None
        self.forks = 0

    def start(self, sequence: Any) -> None:
        self.sequence = sequence
        self.stream = np.random.Generator(np.random.SFC64(sequence))
        self.forks = 0

    def before_fork(self) -> None:
        self.forks += 1

    def in_child(self) -> None:
        if self.sequence is not None:
            key = (*self.sequence.spawn_key, self.forks)
            self.start(np.random.SeedSequence(self.sequence.entropy, spawn_key=key))


# What all of minpy draws from.
SOURCE = _Source()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=SOURCE.before_fork, after_in_child=SOURCE.in_child)


def generator() -> Any:
    """Return the `numpy.random.Generator` that all of minpy draws from; fresh entropy unless a seed was set."""
    if TRACES and tracing.trace is not None:
        tracing.trace.refuse_draw()
    if SOURCE.stream is None:
        SOURCE.start(np.random.SeedSequence())
    return SOURCE.stream


def seed_sequence() -> Any:
    """Return the `numpy.random.SeedSequence` that `generator()` follows from: another one after each `seed`."""
    if SOURCE.sequence is None:
        generator()
    return SOURCE.sequence


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Start the random numbers anew: the same seed gives the same numbers.

    Neither NumPy's global generator nor Python's `random` is touched, and theirs do not touch this one.

    Parameters
    ----------
    seed_state : int
    ctx : Context or 'all'
        Whose numbers. All contexts share one stream here, as those of CPUs do in MXNet: to seed one is to seed all.

    Raises
    ------
    ArgumentError
        If the seed is no integer, or `ctx` no context.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.random.seed(3)
    >>> first = mx.nd.random.uniform(shape=(2,))
    >>> mx.random.seed(3, ctx=mx.cpu())
    >>> bool((mx.nd.random.uniform(shape=(2,)) == first).min())
    True
    """
    if isinstance(seed_state, bool) or not isinstance(seed_state, (int, np.integer)):
        raise ArgumentValueError(f"random.seed: the seed is {describe(seed_state)}; expected an integer.")
    if ctx != "all" and not hasattr(ctx, "device_type"):
        raise ArgumentError(f"random.seed: ctx is {describe(ctx)}; expected a context such as minpy.cpu(), or 'all'.")
    SOURCE.start(np.random.SeedSequence(int(seed_state) & 0xFFFFFFFFFFFFFFFF))
