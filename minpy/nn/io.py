"""Batches of data in memory, for `minpy.nn.solver`.

MinPy's iterators over files were MXNet's, from `mx.io`: they are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy

import minpy.numpy as np
from minpy import io as mxnet_io
from minpy.core.errors import ArgumentError
from minpy.files import write_whole
from minpy.namespaces import listing, missing

__all__ = ["DataBatch", "DataIter", "NDArrayIter", "load_data_labels", "save_data_labels"]
__dir__ = listing(__all__)


def __getattr__(name: str) -> Any:
    if name.endswith("Iter") and name in mxnet_io.__all__:  # MXNet's iterators, which MinPy has here, too
        return getattr(mxnet_io, name)
    return missing("minpy.nn.io", "name", __all__)(name)


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
    """What a solver asks of its data: batches in turn, and to begin again.

    Derive from it, and define `next`; or `iter_next`, `getdata` and `getlabel`, which `next` calls.

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
        """Return the next batch; `StopIteration` after the last."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Go on to the next batch, and tell whether there is one. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines neither next(self) nor iter_next(self).")

    def getdata(self) -> list[Any]:
        """Return the data of the batch that `iter_next` went on to. To be defined."""
        raise NotImplementedError(f"{type(self).__name__} defines neither next(self) nor getdata(self).")

    def getlabel(self) -> list[Any]:
        """Return the labels of that batch; none unless redefined."""
        return []

    def getindex(self) -> Any:
        """Return the positions of its examples in the data; None unless redefined."""

    def getpad(self) -> int:
        """Return how many of its last examples are padding; 0 unless redefined."""
        return 0

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
        What becomes of a last batch that is too small: 'pad' fills it with the first examples, 'discard' leaves it out,
        'roll_over' fills it with the first examples, and begins after them when all are iterated over again.

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
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ArgumentError(
                f"NDArrayIter: last_batch_handle is {last_batch_handle!r}; expected 'pad', 'discard' or 'roll_over'."
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
        rolls = self.last_batch_handle == "roll_over"
        self.start = max(self.start - self.num_data, 0) if rolls else 0

    def hard_reset(self) -> None:
        """Begin again with the first example, also where batches roll over."""
        self.start = 0

    def iter_next(self) -> bool:
        """Go on to the next batch, and tell whether there is one."""
        if self.start >= self.num_data:
            return False
        self.start += self.batch_size
        return True

    def getdata(self) -> list[Any]:
        """Return the data of the batch that `iter_next` went on to."""
        return self._of_batch(self.data)

    def getlabel(self) -> list[Any]:
        """Return the labels of that batch."""
        return self._of_batch(self.label)

    def getindex(self) -> Any:
        """Return the positions of its examples in the data."""
        return numpy.arange(self.start - self.batch_size, self.start) % self.num_data

    def getpad(self) -> int:
        """Return how many of its last examples are padding."""
        return max(0, self.start - self.num_data) if self.last_batch_handle == "pad" else 0

    def _of_batch(self, arrays: list[tuple[str, numpy.ndarray]]) -> list[Any]:
        index = self.getindex()
        return [np.array(array[index]) for _, array in arrays]

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


def save_data_labels(data_vec: Any, label_vec: Any, file_name: str) -> None:
    """Write data and labels to a file, a NumPy archive (MinPy's was a pickle).

    Parameters
    ----------
    data_vec, label_vec : array
    file_name : str
        The file, which is replaced as a whole.
    """
    buffer = BytesIO()
    numpy.savez(buffer, data=numpy.asarray(data_vec), labels=numpy.asarray(label_vec))
    write_whole(file_name, iter([buffer.getvalue()]))


def load_data_labels(file_name: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the data and labels that `save_data_labels` wrote.

    Parameters
    ----------
    file_name : str

    Returns
    -------
    tuple of numpy.ndarray

    Raises
    ------
    ArgumentError
        If the file is none of these; also for the pickles that MinPy wrote, which can run any code.
    """
    with open(file_name, "rb") as file:
        is_archive = file.read(2) == b"PK"
    if not is_archive:
        raise ArgumentError(
            f"load_data_labels: {file_name} is no NumPy archive. If MinPy wrote it, and you trust it, read it with "
            "pickle.load, which gives a dict with 'data' and 'labels', and write it with save_data_labels."
        )
    with numpy.load(file_name) as archive:
        return archive["data"], archive["labels"]
