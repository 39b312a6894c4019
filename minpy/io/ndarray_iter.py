"""Batches of arrays that are in memory (or in an HDF5 file)."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, describe, nearest
from minpy.io.batches import DataBatch, DataDesc
from minpy.io.data_iter import DataIter
from minpy.io.utils import ArraySource, array_sources, require_equal_lengths

__all__ = ["NDArrayIter"]

_HANDLES = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of arrays: the next `batch_size` instances of each.

    Parameters
    ----------
    data : NDArray, numpy.ndarray, h5py.Dataset, sparse matrix of SciPy's, list of these, or dict of these by name
        NumPy, HDF5 and SciPy arrays become batches of float32; the last two are read batch by batch.
    label : as data, or None
    batch_size : int
    shuffle : bool
        Whether the instances are put in another order, drawn from `numpy.random`, for each epoch.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What happens to the last instances if they are too few for a batch: padded with the first ones (`getpad()` is
        their number), left out, or moved to the next epoch.
    data_name, label_name : str
        The names of unnamed arrays: this one for one array; `_0_data`, `_1_data`, ... for a list.
    layout : str
        A letter for each axis; N counts the instances. Arrays with fewer axes have their instances along the first.

    Raises
    ------
    ArgumentError
        If there is no data, or a value that is not an array.
    ArgumentValueError
        If the arrays have different numbers of instances, for an unknown `last_batch_handle`, a layout without N, a
        batch size below 1; or one larger than the data unless this is padded, as there would be no batch.

    Examples
    --------
    >>> import minpy as mx
    >>> batches = mx.io.NDArrayIter(mx.nd.arange(10).reshape((5, 2)), mx.nd.arange(5), batch_size=2)
    >>> batches.provide_data
    [DataDesc[data,(2, 2),<class 'numpy.float32'>,NCHW]]
    >>> for batch in batches:
    ...     print(batch.label[0].asnumpy(), batch.pad)
    [0. 1.] 0
    [2. 3.] 0
    [4. 0.] 1
    >>> batches.reset()  # and so on
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        if last_batch_handle not in _HANDLES:
            raise ArgumentValueError(
                f"NDArrayIter: last_batch_handle {last_batch_handle!r}; expected 'pad', 'discard' or 'roll_over'."
                + nearest(str(last_batch_handle), _HANDLES)
            )
        axis = DataDesc.get_batch_axis(layout)
        if axis < 0:
            raise ArgumentValueError(f"NDArrayIter: layout {layout!r} has no N, which marks the axis of the instances.")
        self._data = array_sources("data", data, data_name, axis)
        self._label = array_sources("label", label, label_name, axis)
        if not self._data:
            raise ArgumentError(f"NDArrayIter: data is {describe(data)}; expected at least one array.")
        require_equal_lengths(self._data + self._label)
        self.num_data = self._data[0].length
        self._require_batch_size(batch_size, last_batch_handle)
        self.idx = numpy.arange(self.num_data)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self.num_source = len(self._data) + len(self._label)
        self.cursor = -batch_size
        self._rolled_over: dict[str, list[numpy.ndarray]] = {}  # what is first in the next epoch, of data and of label
        self.reset()

    def _require_batch_size(self, batch_size: int, handle: str) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, (int, numpy.integer)) or batch_size < 1:
            raise ArgumentValueError(f"NDArrayIter: batch_size is {describe(batch_size)}; expected an integer above 0.")
        if handle != "pad" and 0 < self.num_data < batch_size:
            raise ArgumentValueError(
                f"NDArrayIter: batch_size {batch_size} is larger than the data, which has {self.num_data} instances: "
                f"with last_batch_handle={handle!r} an epoch would have no batch. Take a smaller batch_size, or 'pad'."
            )

    @property
    def data(self) -> list[tuple[str, Any]]:
        """Names and arrays of the data, in this epoch's order; arrays in files keep the file's order."""
        return [(source.name, source.array) for source in self._data]

    @property
    def label(self) -> list[tuple[str, Any]]:
        """Names and arrays of the labels, as `data`."""
        return [(source.name, source.array) for source in self._label]

    @property
    def data_list(self) -> list[Any]:
        """The arrays of data and label."""
        return [source.array for source in self._data + self._label]

    def _descriptions(self, arrays: list[ArraySource]) -> list[DataDesc]:
        return [
            DataDesc(source.name, source.batch_shape(self.batch_size), source.dtype, self.layout) for source in arrays
        ]

    @property
    def provide_data(self) -> list[DataDesc]:
        """The descriptions of the data of a batch."""
        return self._descriptions(self._data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """The descriptions of the labels of a batch."""
        return self._descriptions(self._label)

    def _shuffle_data(self) -> None:
        numpy.random.shuffle(self.idx)
        for source in self._data + self._label:
            source.permute(self.idx)

    def hard_reset(self) -> None:
        """Start at the first instance; instances rolled over are left out."""
        if self.shuffle:
            self._shuffle_data()
        self.cursor = -self.batch_size
        self._rolled_over = {}

    def reset(self) -> None:
        if self.shuffle:
            self._shuffle_data()
        is_last_batch = self.num_data - self.batch_size < self.cursor < self.num_data
        if self.last_batch_handle == "roll_over" and is_last_batch and self._rolled_over:
            self.cursor = self.cursor - self.num_data - self.batch_size
        else:
            self.cursor = -self.batch_size
            self._rolled_over = {}

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        if self.last_batch_handle == "discard":
            return self.cursor + self.batch_size <= self.num_data
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        if self.last_batch_handle == "roll_over" and self.cursor + self.batch_size > self.num_data:
            self._rolled_over = {
                role: [source.read(self.cursor, self.num_data).copy() for source in arrays]
                for role, arrays in (("data", self._data), ("label", self._label))
            }
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=None)

    def _batch(self, name: str, arrays: list[ArraySource]) -> list[Any]:
        start, stop = self.cursor, self.cursor + self.batch_size
        if start >= self.num_data:
            raise MXNetError("NDArrayIter: the epoch is over. Call reset() for the next one.")
        if start < 0 and not (self._rolled_over and stop > 0):
            raise MXNetError("NDArrayIter: there is no batch yet. Call next(), or iter_next(), before getdata().")
        batches = []
        for position, source in enumerate(arrays):
            parts = [self._rolled_over[name][position]] if start < 0 else []
            parts.append(source.read(max(start, 0), min(stop, self.num_data)))
            missing = stop - self.num_data if self.last_batch_handle == "pad" else 0
            while missing > 0:
                parts.append(source.read(0, min(missing, self.num_data)))
                missing -= self.num_data
            batches.append(source.batch(parts))
        return batches

    def getdata(self) -> list[Any]:
        return self._batch("data", self._data)

    def getlabel(self) -> list[Any]:
        return self._batch("label", self._label)

    def getpad(self) -> int:
        """Return how many instances of the current batch are padding, or come from the epoch before.

        Returns
        -------
        int
        """
        if self.last_batch_handle == "pad" and self.cursor + self.batch_size > self.num_data:
            return self.cursor + self.batch_size - self.num_data
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0
