"""Batches and data sets for tests: a batch again and again, and the digits of MNIST from local files."""

from __future__ import annotations

import os
from typing import Any

import numpy

from minpy.base import data_dir
from minpy.core.errors import FileMissingError
from minpy.io import DataIter, MNISTIter
from minpy.io.mnist import read_idx

__all__ = ["DummyIter", "get_mnist", "get_mnist_iterator", "get_mnist_pkl", "get_mnist_ubyte"]

_FILES = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}


class DummyIter(DataIter):
    """An iterator that gives one batch, the first of another iterator, without end: to time code that uses batches.

    Parameters
    ----------
    real_iter : DataIter

    Examples
    --------
    >>> import minpy as mx
    >>> real = mx.io.NDArrayIter(mx.nd.ones((4, 2)), batch_size=2)
    >>> dummy = mx.test_utils.DummyIter(real)
    >>> dummy.next() is dummy.next(), dummy.batch_size
    (True, 2)
    """

    def __init__(self, real_iter: Any) -> None:
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> Any:
        """Return the batch."""
        return self.the_batch


def _path_of(name: str) -> str:
    """Return the path of a file of MNIST's: as it is or packed by gzip."""
    folders = ["data", os.curdir, os.path.join(data_dir(), "datasets", "mnist")]
    for folder in folders:
        for ending in ("", ".gz"):
            path = os.path.join(folder, name + ending)
            if os.path.isfile(path):
                return path
    raise FileMissingError(
        f"MNIST: there is no {name!r}, also not with .gz, in {', '.join(map(os.path.abspath, folders))}. It is not "
        f"downloaded; put the four files {', '.join(_FILES.values())} of the MNIST database into one of these folders."
    )


def get_mnist() -> dict[str, numpy.ndarray]:
    """Return the digits of MNIST, of files in the folder `data`, the working directory, or `MXNET_HOME/datasets/mnist`.

    Returns
    -------
    dict
        'train_data' and 'test_data', float32 of shape (n, 1, 28, 28), from 0 to 1; 'train_label' and 'test_label', int8
        of shape (n,).

    Raises
    ------
    FileMissingError
        If a file is in none of the folders.
    FileFormatError
        If a file is damaged.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.test_utils.get_mnist()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy.core.errors.FileMissingError: MNIST: there is no 'train-images-idx3-ubyte', also not with .gz, in ...
    """
    arrays = {}
    for key, name in _FILES.items():
        is_data = key.endswith("data")
        values = read_idx("get_mnist", _path_of(name), 3 if is_data else 1)
        if is_data:
            values = values.reshape(len(values), 1, *values.shape[1:]).astype(numpy.float32) / 255
        arrays[key] = values if is_data else values.astype(numpy.int8)
    return arrays


def get_mnist_ubyte() -> None:
    """Check that the four files of MNIST are there, where `get_mnist` looks for them.

    Raises
    ------
    FileMissingError
        If one is missing.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.test_utils.get_mnist_ubyte()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy.core.errors.FileMissingError: MNIST: there is no 'train-images-idx3-ubyte', also not with .gz, in ...
    """
    for name in _FILES.values():
        _path_of(name)


def get_mnist_pkl() -> None:
    """Check that the file `data/mnist.pkl.gz` is there, where programs that call this unpickle the digits from.

    Raises
    ------
    FileMissingError
        If it is missing.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.test_utils.get_mnist_pkl()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy.core.errors.FileMissingError: get_mnist_pkl: there is no ...mnist.pkl.gz. It is not downloaded; put a copy ...
    """
    path = os.path.abspath(os.path.join("data", "mnist.pkl.gz"))
    if not os.path.isfile(path):
        raise FileMissingError(
            f"get_mnist_pkl: there is no {path}. It is not downloaded; put a copy there. (get_mnist reads the four "
            f"files of the MNIST database itself: {', '.join(_FILES.values())}.)"
        )


def get_mnist_iterator(
    batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0
) -> tuple[Any, Any]:
    """Return iterators over the digits of MNIST, to train with and to validate, both shuffled; see `get_mnist`.

    Parameters
    ----------
    batch_size : int
    input_shape : tuple of int
        (1, 28, 28) for pictures; another number of lengths for flat rows.
    num_parts, part_index : int
        Only that of so many parts is read.

    Returns
    -------
    train, validation : MXDataIter

    Raises
    ------
    FileMissingError
        If a file is not there.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.test_utils.get_mnist_iterator(2, (784,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    minpy.core.errors.FileMissingError: MNIST: there is no 'train-images-idx3-ubyte', also not with .gz, in ...
    """

    def over(part: str) -> Any:
        return MNISTIter(
            image=_path_of(_FILES[f"{part}_data"]),
            label=_path_of(_FILES[f"{part}_label"]),
            batch_size=batch_size,
            flat=len(input_shape) != 3,
            num_parts=num_parts,
            part_index=part_index,
        )

    return over("train"), over("test")
