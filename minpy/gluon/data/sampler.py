"""In what order items of a dataset are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.namespaces import module_functions

__all__ = ["BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler", "SequentialSampler"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class Sampler:
    """The base of samplers: what yields the indices of an epoch, and knows how many there are.

    Derive from it, and write `__iter__` and `__len__`.
    """

    def __iter__(self) -> Iterator[Any]:
        """Yield indices: a new order each time, if that is meant."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__: write one that yields indices.")

    def __len__(self) -> int:
        """Return how many indices an epoch has."""
        raise NotImplementedError(
            f"{type(self).__name__} has no __len__: write one that returns the number of indices."
        )


def _count(cls: str, name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)) or value < least:
        raise ArgumentValueError(f"{cls}: {name} must be an integer of at least {least}, got {describe(value)}.")
    return int(value)


class SequentialSampler(Sampler):
    """Indices one after the other.

    Parameters
    ----------
    length : int
        How many.
    start : int
        The first.

    Examples
    --------
    >>> from minpy.gluon import data
    >>> list(data.SequentialSampler(3, start=2))
    [2, 3, 4]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = _count("SequentialSampler", "length", length)
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """Indices from 0 on in random order, without repetition: another one each epoch.

    The order is NumPy's, as in MXNet: it follows `numpy.random.seed`, not `mx.random.seed`.

    Parameters
    ----------
    length : int
        How many.

    Examples
    --------
    >>> from minpy.gluon import data
    >>> sorted(map(int, data.RandomSampler(3)))
    [0, 1, 2]
    """

    def __init__(self, length: int) -> None:
        self._length = _count("RandomSampler", "length", length)

    def __iter__(self) -> Iterator[int]:
        indices = numpy.arange(self._length)
        numpy.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """Indices of the items that a function returns True for.

    Parameters
    ----------
    fn : callable
        Called with each item, once.
    dataset : Dataset

    Examples
    --------
    >>> from minpy.gluon import data
    >>> list(data.FilterSampler(lambda item: item > 1, data.SimpleDataset([3, 1, 2])))
    [0, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._fn = fn
        self._dataset = dataset
        self._indices = [index for index in range(len(dataset)) if fn(dataset[index])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every so-many-th index; then, with `rollover`, those that were passed by.

    Parameters
    ----------
    length : int
        How many indices there are.
    interval : int
        How far the next one is.
    rollover : bool
        Whether to start again from each index that was passed by.

    Examples
    --------
    >>> from minpy.gluon import data
    >>> list(data.IntervalSampler(7, interval=3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(data.IntervalSampler(7, interval=3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        self._length = _count("IntervalSampler", "length", length)
        self._interval = _count("IntervalSampler", "interval", interval, 1)
        if self._interval > self._length:
            raise ArgumentValueError(
                f"IntervalSampler: interval must be at most the length, got {interval} of {length}."
            )
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length if self._rollover else -(-self._length // self._interval)


class BatchSampler(Sampler):
    """Batches of what another sampler yields.

    Parameters
    ----------
    sampler : Sampler
    batch_size : int
    last_batch : {'keep', 'discard', 'rollover'}
        What is done with a last batch that is not full: it is yielded, thrown away, or kept to begin the next epoch
        with.

    Raises
    ------
    ArgumentError
        If the batch size is not positive, or `last_batch` is none of these.

    Examples
    --------
    >>> from minpy.gluon import data
    >>> list(data.BatchSampler(data.SequentialSampler(5), 2))
    [[0, 1], [2, 3], [4]]
    >>> batches = data.BatchSampler(data.SequentialSampler(5), 2, 'rollover')
    >>> list(batches), list(batches)
    ([[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]])
    """

    def __init__(self, sampler: Any, batch_size: int, last_batch: str = "keep") -> None:
        if not (hasattr(sampler, "__iter__") and hasattr(sampler, "__len__")):
            raise ArgumentError(f"BatchSampler: expected a Sampler, got {describe(sampler)}.")
        if last_batch not in ("keep", "discard", "rollover"):
            raise ArgumentValueError(
                f"BatchSampler: last_batch must be 'keep', 'discard' or 'rollover', got {last_batch!r}."
            )
        self._sampler = sampler
        self._batch_size = _count("BatchSampler", "batch_size", batch_size, 1)
        self._last_batch = last_batch
        self._prev: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._prev = self._prev, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif batch and self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        count = len(self._sampler)
        if self._last_batch == "keep":
            return -(-count // self._batch_size)
        return (count + len(self._prev)) // self._batch_size
