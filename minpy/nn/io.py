"""Batches of data in memory, for `minpy.nn.solver`.

MinPy's iterators over files were MXNet's, from `mx.io`: they are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

import minpy.numpy as np
from minpy.core.errors import ArgumentError
from minpy.namespaces import listing

__all__ = ["DataBatch", "DataIter", "NDArrayIter"]
__dir__ = listing(__all__)


class DataBatch:
    """The data and labels of a batch: lists of arrays, and how many of the last examples are padding.

    Examples
    --------
    >>> DataBatch([np.ones((2, 3))], [np.zeros(2)]).data[0].shape
    (2, 3)
    """

    def __init__(self, data: list[Any], label: list[Any], pad: int = 0, index: Any = None) -> None:
        self.data, self.label, self.pad, self.index = data, label, pad, index


class DataIter:
    """What a solver asks of its data: batches in turn, and to begin again. Derive from it, and define `next`.

    Attributes
    ----------
    batch_size, num_data : int
        How many examples a batch has, and all batches together.

    Examples
    --------
    >>> issubclass(NDArrayIter, DataIter)
    True
    """

    batch_size = 0
    num_data = 0

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Begin again."""

    def next(self) -> DataBatch:
        """Return the next batch; `StopIteration` after the last. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines no next(self).")

    def getnumiterations(self) -> int:
        """Return the number of batches."""
        return -(-self.num_data // self.batch_size)


class NDArrayIter(DataIter):
    """Batches of arrays.

    Parameters
    ----------
    data, label : array, or list or dict of arrays
        With examples along the first axis. `label` may be left out.
    batch_size : int
    shuffle : bool
        Whether the examples are put into another order, once.
    last_batch_handle : str
        What becomes of a last batch that is too small: 'pad' fills it with the first examples, 'discard' leaves it out.

    Raises
    ------
    ArgumentError
        If arrays differ in length, or the batch is larger than the data.

    Examples
    --------
    >>> batches = NDArrayIter(np.arange(5), np.arange(5), batch_size=2)
    >>> [(batch.data[0].tolist(), batch.pad) for batch in batches]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
    ) -> None:
        self.data, self.label = _named(data, "data"), _named(label, "softmax_label")
        lengths = {name: len(array) for name, array in (*self.data, *self.label)}
        if len(set(lengths.values())) != 1:
            raise ArgumentError(f"NDArrayIter: the arrays have different numbers of examples, {lengths}.")
        self.num_data = next(iter(lengths.values()))
        if not 1 <= batch_size <= self.num_data:
            raise ArgumentError(
                f"NDArrayIter: batch_size is {batch_size}; expected 1 to {self.num_data}, all examples."
            )
        if last_batch_handle not in ("pad", "discard"):
            raise ArgumentError(
                f"NDArrayIter: last_batch_handle is {last_batch_handle!r}; expected 'pad' or 'discard'."
            )
        self.batch_size, self.last_batch_handle = batch_size, last_batch_handle
        if shuffle:
            order = numpy.asarray(np.random.permutation(self.num_data)).astype(int)
            self.data = [(name, array[order]) for name, array in self.data]
            self.label = [(name, array[order]) for name, array in self.label]
        if last_batch_handle == "discard":
            self.num_data -= self.num_data % batch_size
        self.start = 0

    @property
    def provide_data(self) -> list[tuple[str, tuple[int, ...]]]:
        """The name and shape of each data of a batch."""
        return [(name, (self.batch_size, *array.shape[1:])) for name, array in self.data]

    @property
    def provide_label(self) -> list[tuple[str, tuple[int, ...]]]:
        """The name and shape of each label of a batch."""
        return [(name, (self.batch_size, *array.shape[1:])) for name, array in self.label]

    def reset(self) -> None:
        """Begin again."""
        self.start = 0

    def next(self) -> DataBatch:
        """Return the next batch; `StopIteration` after the last."""
        if self.start >= self.num_data:
            raise StopIteration
        index = numpy.arange(self.start, self.start + self.batch_size) % self.num_data
        pad = max(0, self.start + self.batch_size - self.num_data)
        self.start += self.batch_size
        chosen = [[np.array(array[index]) for _, array in arrays] for arrays in (self.data, self.label)]
        return DataBatch(chosen[0], chosen[1], pad, index)

    def getsubiter(self, num_samples: int) -> NDArrayIter:
        """Return an iterator over so many examples, drawn without repetition."""
        order = numpy.asarray(np.random.permutation(self.num_data)).astype(int)[:num_samples]
        data = {name: array[order] for name, array in self.data}
        label = {name: array[order] for name, array in self.label} or None
        return NDArrayIter(data, label, min(self.batch_size, len(order)))


def _named(arrays: Any, name: str) -> list[tuple[str, numpy.ndarray]]:
    """Return arrays with their names, in order."""
    if arrays is None:
        return []
    if isinstance(arrays, dict):
        return [(key, numpy.asarray(array)) for key, array in arrays.items()]
    if isinstance(arrays, (list, tuple)):
        return [(f"{name}_{index}" if index else name, numpy.asarray(array)) for index, array in enumerate(arrays)]
    return [(name, numpy.asarray(arrays))]
