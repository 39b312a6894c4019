"""Which instances a batch has: round after round through the data, in this order or that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy

__all__ = ["Place", "Rounds", "Turn"]


class Place(NamedTuple):
    """Where an epoch begins: in which round through the data, and how many instances into it."""

    round: int = 0
    start: int = 0


class Turn(NamedTuple):
    """One batch: its instances, how many of them fill it up, and where the next epoch begins if this was the last."""

    instances: numpy.ndarray
    pad: int
    following: Place


class Rounds:
    """The batches of epochs.

    With `round_batch` the last batch of an epoch is filled up with the first instances of the next round, with which
    the next epoch does not begin then. Else it has fewer instances.
    """

    def __init__(
        self, count: int, batch_size: int, round_batch: bool, order: Callable[[int], numpy.ndarray] | None = None
    ) -> None:
        self.count = count
        self.batch_size = batch_size
        self.round_batch = round_batch
        self._order = order

    def order(self, number: int) -> numpy.ndarray:
        """Return the instances of a round in order."""
        return numpy.arange(self.count) if self._order is None else self._order(number)

    def epoch(self, place: Place) -> Iterator[Turn]:
        """Yield the batches of an epoch."""
        order = self.order(place.round)
        for position in range(place.start, self.count, self.batch_size):
            instances = order[position : position + self.batch_size]
            lacking = self.batch_size - len(instances)
            following = Place(place.round + 1)
            if lacking and self.round_batch:
                instances = numpy.concatenate([instances, self.order(place.round + 1)[:lacking]])
                following = Place(place.round + 1, lacking)
            yield Turn(instances, lacking, following)
