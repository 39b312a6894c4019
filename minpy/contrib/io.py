"""`mx.contrib.io`: iterators over Gluon's data loaders, for modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, MXNetError, describe
from minpy.io import DataDesc, DataIter
from minpy.namespaces import module_functions
from minpy.ndarray.creation import array

__all__ = ["DataLoaderIter"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class DataLoaderIter(DataIter):
    """The batches of a data loader of Gluon's, as a module takes them.

    Each is a pair of data and label. The first tells the size of all: what a smaller one lacks is 0, and `getpad()`
    says how many instances that are.

    Parameters
    ----------
    loader : gluon.data.DataLoader
        Or what else gives pairs of arrays, again and again.
    data_name, label_name : str
        The names in `provide_data` and `provide_label`.
    dtype : dtype
        Of data and labels.

    Raises
    ------
    ArgumentError
        If the loader has no batch, or one that is no pair.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib.io import DataLoaderIter
    >>> x, y = mx.nd.arange(6).reshape((3, 2)), mx.nd.arange(3)
    >>> batches = DataLoaderIter([(x[:2], y[:2]), (x[2:], y[2:])])
    >>> batches.provide_data
    [DataDesc[data,(2, 2),float32,NCHW]]
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([[0.0, 1.0], [2.0, 3.0]], 0), ([[4.0, 5.0], [0.0, 0.0]], 1)]
    """

    def __init__(
        self, loader: Iterable[Any], data_name: str = "data", label_name: str = "softmax_label", dtype: Any = "float32"
    ) -> None:
        super().__init__()
        self._loader = loader
        self.dtype = dtype
        first = next(iter(loader), None)
        if first is None:
            raise ArgumentError("DataLoaderIter: the loader has no batch.")
        data, label = self._pair(first)
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current_batch: Any = None
        self._iter = iter(loader)

    @staticmethod
    def _pair(batch: Any) -> tuple[Any, Any]:
        arrays = batch if isinstance(batch, (list, tuple)) else [batch]
        if len(arrays) != 2 or not all(isinstance(item, (Array, numpy.ndarray)) for item in arrays):
            raise ArgumentError(
                f"DataLoaderIter: a batch of the loader is {describe(batch)}; expected a pair of arrays, data and "
                "label."
            )
        return arrays[0], arrays[1]

    def reset(self) -> None:
        """Start the next epoch."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Move to the next batch, and return whether there is one.

        Returns
        -------
        bool

        Raises
        ------
        ArgumentError
            If it is no pair, or larger than the first.
        """
        batch = next(self._iter, None)
        self._current_batch = None if batch is None else self._pair(batch)
        if self.getpad() < 0:
            raise ArgumentError(
                f"DataLoaderIter: a batch of the loader has {self.batch_size - self.getpad()} instances, and the first "
                f"had {self.batch_size}, which is the size of all. Let the loader make no larger ones."
            )
        return self._current_batch is not None

    def _array(self, which: int) -> list[Any]:
        if self._current_batch is None:
            raise MXNetError(
                "DataLoaderIter: there is no batch. Call next() or iter_next(), or reset() after the last."
            )
        own_array: Any = self._current_batch[which]
        values = numpy.asarray(own_array._data if isinstance(own_array, Array) else own_array, self.dtype)
        pad = self.getpad()
        if pad:
            values = numpy.concatenate([values, numpy.zeros((pad, *values.shape[1:]), values.dtype)])
        return [array(values, dtype=values.dtype)]

    def getdata(self) -> list[Any]:
        """Return the data of the current batch.

        Returns
        -------
        list of NDArray

        Raises
        ------
        MXNetError
            If there is none.
        """
        return self._array(0)

    def getlabel(self) -> list[Any]:
        """Return the labels of the current batch.

        Returns
        -------
        list of NDArray

        Raises
        ------
        MXNetError
            If there is none.
        """
        return self._array(1)

    def getpad(self) -> int:
        """Return how many instances at the end of the current batch fill it up.

        Returns
        -------
        int
        """
        return 0 if self._current_batch is None else self.batch_size - int(self._current_batch[0].shape[0])

    def getindex(self) -> None:
        """Return None: which instances a batch has is not known."""
