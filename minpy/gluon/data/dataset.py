"""Datasets: what has items, and a length; and datasets made of others."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy import numpy as np
from minpy import recordio
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    FileMissingError,
    OutOfRangeError,
    ShapeError,
    describe,
)
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.data.sampler import FilterSampler, Sampler, SequentialSampler
from minpy.namespaces import module_functions

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class Dataset:
    """The base of datasets. Derive from it, and write `__getitem__` and `__len__`.

    Examples
    --------
    >>> from minpy import gluon
    >>> class Squares(gluon.data.Dataset):
    ...     def __getitem__(self, idx):
    ...         return idx ** 2
    ...     def __len__(self):
    ...         return 10
    >>> list(Squares().take(4).transform(lambda item: item + 1))
    [1, 2, 5, 10]
    """

    def __getitem__(self, idx: Any) -> Any:
        """Return the item of an index."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__: write one that returns an item.")

    def __len__(self) -> int:
        """Return how many items there are."""
        raise NotImplementedError(f"{type(self).__name__} has no __len__: write one that returns the number of items.")

    def __iter__(self) -> Any:
        for index in range(len(self)):
            yield self[index]

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """Return the items that a function returns True for.

        Parameters
        ----------
        fn : callable
            Called with each item, once.

        Returns
        -------
        Dataset
        """
        return _FilteredDataset(self, fn)

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Return one of several parts of equal lengths, the first of which may have one item more.

        Parameters
        ----------
        num_shards : int
            How many parts.
        index : int
            Which one.

        Returns
        -------
        Dataset

        Raises
        ------
        ArgumentValueError
            If there is no such part.

        Examples
        --------
        >>> from minpy.gluon import data
        >>> list(data.SimpleDataset('abcde').shard(2, 0))
        ['a', 'b', 'c']
        """
        if not isinstance(num_shards, (int, numpy.integer)) or not isinstance(index, (int, numpy.integer)):
            raise ArgumentError(
                f"shard: num_shards and index must be integers, got {describe(num_shards)} and {describe(index)}."
            )
        if not 0 <= index < num_shards:
            raise ArgumentValueError(f"shard: there is no part {index} of {num_shards}; they count from 0.")
        shorter, longer = divmod(len(self), num_shards)
        start = shorter * index + min(index, longer)
        return _SampledDataset(self, SequentialSampler(shorter + (index < longer), start))

    def take(self, count: int | None) -> Dataset:
        """Return the first items.

        Parameters
        ----------
        count : int or None
            How many; None or more than there are: all.

        Returns
        -------
        Dataset

        Raises
        ------
        ArgumentError
            If it is no integer, or negative.
        """
        length = len(self)
        if count is None:
            count = length
        if not isinstance(count, (int, numpy.integer)) or count < 0:
            raise ArgumentValueError(f"take: count must be an integer of at least 0, or None, got {describe(count)}.")
        return _SampledDataset(self, SequentialSampler(min(int(count), length)))

    def sample(self, sampler: Sampler) -> Dataset:
        """Return items in the order of a sampler.

        Parameters
        ----------
        sampler : Sampler
            Asked once.

        Returns
        -------
        Dataset

        Raises
        ------
        ArgumentError
            If it is no Sampler.
        """
        if not isinstance(sampler, Sampler):
            raise ArgumentError(f"sample: expected a gluon.data.Sampler, got {describe(sampler)}.")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Return what a function makes of items.

        Parameters
        ----------
        fn : callable
            Called with an item; if items are tuples, with their entries.
        lazy : bool
            Whether it is called when an item is asked for, each time; else now, for all.

        Returns
        -------
        Dataset
        """
        transformed = _LazyTransformDataset(self, fn)
        return transformed if lazy else SimpleDataset([transformed[index] for index in range(len(transformed))])

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Return items with what a function makes of their first entries: of images, and not of their labels.

        Parameters
        ----------
        fn : callable
        lazy : bool
            Whether it is called when an item is asked for, each time; else now, for all.

        Returns
        -------
        Dataset

        Examples
        --------
        >>> from minpy.gluon import data
        >>> data.ArrayDataset([1, 2], [3, 4]).transform_first(lambda x: 10 * x)[1]
        (20, 4)
        """
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """The items of a list, or of anything else that has items and a length.

    Parameters
    ----------
    data : sequence

    Examples
    --------
    >>> from minpy.gluon import data
    >>> data.SimpleDataset(['a', 'b'])[1]
    'b'
    """

    def __init__(self, data: Any) -> None:
        self._data = _by_position(data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]


class ArrayDataset(Dataset):
    """Items of several arrays, lists or datasets of one length: tuples of an entry of each.

    Parameters
    ----------
    *args : NDArray, numpy.ndarray, list or Dataset
        With one of them, items are its own, and no tuples.

    Raises
    ------
    ArgumentError
        If there is none.
    ShapeError
        If their lengths differ.

    Examples
    --------
    >>> import minpy as mx
    >>> dataset = mx.gluon.data.ArrayDataset(mx.nd.array([[1, 2], [3, 4]]), [0, 1])
    >>> dataset[1][0].asnumpy(), dataset[1][1]
    (array([3., 4.], dtype=float32), 1)
    """

    def __init__(self, *args: Any) -> None:
        if not args:
            raise ArgumentError("ArrayDataset: expected one array or more, got none.")
        self._length = len(args[0])
        self._data: list[Any] = []
        for position, data in enumerate(args):
            if len(data) != self._length:
                raise ShapeError(
                    f"ArrayDataset: all arrays must have one length: the first has {self._length}, and the one at "
                    f"position {position} {len(data)}."
                )
            if isinstance(data, nd.NDArray) and data.ndim == 1:
                data = data.asnumpy()  # its items are numbers, and no arrays of shape (1,)
            self._data.append(_by_position(data))

    def __getitem__(self, idx: Any) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple([data[idx] for data in self._data])

    def __len__(self) -> int:
        return self._length

    def _rows(self, indices: Sequence[int]) -> list[Any] | None:
        """Return the rows of all arrays at some indices, in new memory; None if not all are arrays of numbers."""
        rows = []
        for data in self._data:
            raw = data._data if isinstance(data, nd.NDArray) else data
            if type(raw) is not numpy.ndarray or raw.dtype.kind not in "biufc":
                return None
            rows.append(data._like(raw.take(indices, axis=0)) if raw is not data else raw.take(indices, axis=0))
        return rows


class RecordFileDataset(Dataset):
    """The records of a RecordIO file, as bytes, in the order of its index.

    Workers and threads read from one file: it has no position that they would share.

    Parameters
    ----------
    filename : str
        The `.rec` file; its index is the `.idx` file of the same name.

    Raises
    ------
    FileMissingError
        If there is no such file, or no index.
    OutOfRangeError
        By `dataset[index]`, if there is no such record.

    Examples
    --------
    >>> import tempfile
    >>> import minpy as mx
    >>> path = tempfile.mkdtemp() + '/words'
    >>> with mx.recordio.MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
    ...     writer.write_idx(0, b'one')
    >>> mx.gluon.data.RecordFileDataset(path + '.rec')[0]
    b'one'
    """

    def __init__(self, filename: Any) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record: Any = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: Any) -> Any:
        try:
            key = self._record.keys[idx]
        except IndexError:
            raise OutOfRangeError(
                f"RecordFileDataset: there is no record {idx} in {self.filename!r}, whose index has {len(self)}."
            ) from None
        return self._record.read_idx(key)

    def __len__(self) -> int:
        return len(self._record.keys)


class _LazyTransformDataset(Dataset):
    """What a function makes of items when they are asked for."""

    def __init__(self, data: Any, fn: Callable[..., Any]) -> None:
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _TransformFirstClosure:
    """A function of the first entry of an item, that can be pickled if that can."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __call__(self, x: Any, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _SampledDataset(Dataset):
    """Items in the order of a sampler."""

    def __init__(self, dataset: Any, sampler: Sampler) -> None:
        self._dataset = dataset
        self._sampler = sampler
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: Any) -> Any:
        return self._dataset[self._indices[idx]]


class _FilteredDataset(_SampledDataset):
    """Items that a function returns True for."""

    def __init__(self, dataset: Any, fn: Callable[[Any], Any]) -> None:
        super().__init__(dataset, FilterSampler(fn, dataset))
        self._fn = fn


class _DownloadedDataset(Dataset):
    """The base of datasets that are fetched: `_get_data` reads `_data` and `_label` from the folder `_root`."""

    _makes_root = True  # as for libraries that download into it

    def __init__(self, root: str | os.PathLike[str], transform: Callable[..., Any] | None) -> None:
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        if self._makes_root:
            os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def __getitem__(self, idx: Any) -> Any:
        if self._transform is not None:
            return self._transform(self._data[idx], self._label[idx])
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)

    def _keep(self, images: numpy.ndarray, labels: numpy.ndarray) -> None:
        """Hold images and labels as arrays of the kind that this thread uses."""
        self._data = (np if is_np_array() else nd).array(images, dtype="uint8")
        self._label = np.array(labels, dtype="int32") if is_np_array() else labels.astype(numpy.int32)

    def _get_data(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _get_data: write one that sets _data and _label.")


def _by_position(data: Any) -> Any:
    """Return data as it is, but columns and tables of pandas as arrays: these are indexed by labels."""
    return numpy.asarray(data) if hasattr(data, "iloc") and hasattr(data, "__array__") else data


def default_root(name: str) -> str:
    """Return where MXNet keeps a dataset: a folder under `~/.mxnet`, or under that which `MXNET_HOME` names."""
    return os.path.join(os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet")), "datasets", name)


def file_of(dataset: str, root: str, names: Sequence[str], origin: str) -> str:
    """Return the path of the first of some files that there is in a folder."""
    for name in names:
        path = os.path.join(root, *name.split("/"))
        if os.path.isfile(path):
            return path
    raise FileMissingError(
        f"{dataset}: there is no {' and no '.join(names)} in the folder {root!r}, and nothing is downloaded. Get the "
        f"files of {origin}, and put them there, or give the folder that has them as root."
    )
