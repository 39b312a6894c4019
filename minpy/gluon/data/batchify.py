"""How items become a batch: functions of lists of items, by MXNet 2's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy import numpy as np
from minpy.context import Context, cpu_shared
from minpy.core.errors import ArgumentError, DTypeError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.namespaces import module_functions

__all__ = ["Append", "AsList", "Group", "Pad", "Stack"]  # MXNet has the default functions in `dataloader`
__dir__, __getattr__ = module_functions(__name__, __all__)


def stacked(items: Sequence[Any]) -> Any:
    """Return items of one shape as an array with one more axis, the first.

    Arrays keep their class, context and dtype; anything else becomes what NumPy makes of it.
    """
    first = items[0]
    if isinstance(first, nd.NDArray):
        for position, item in enumerate(items):
            if not isinstance(item, nd.NDArray) or item.shape != first.shape:
                raise ShapeError(
                    f"a batch cannot be stacked: its first item is {describe(first)}, and that at position {position} "
                    f"{describe(item)}. Make them equal in the dataset (transform), or give the DataLoader a "
                    "batchify_fn, such as gluon.data.batchify.Pad()."
                )
        return nd.stack(*items) if first._keeps_dtype else np.stack(list(items))
    try:
        raw = numpy.asarray(items)
    except ValueError:
        raw = None
    if raw is None or raw.dtype.kind not in "biufc":
        raise DTypeError(
            f"a batch cannot be stacked: its first item is {describe(first)}, and the items make no array of numbers. "
            "Make numbers or arrays of one shape of them in the dataset (transform), or give the DataLoader a "
            "batchify_fn, such as gluon.data.batchify.Pad() or gluon.data.batchify.AsList()."
        )
    return _array(raw)


def _array(raw: numpy.ndarray) -> Any:
    return (np if is_np_array() else nd).array(raw, dtype=raw.dtype)


def _checked(name: str, data: Any) -> Any:
    if not isinstance(data, (list, tuple)) or not data:
        raise ArgumentError(f"{name}: expected a list of one item or more, got {describe(data)}.")
    return data


class Stack:
    """Stacks items of one shape: the first axis of the batch counts them.

    Parameters
    ----------
    use_shared_mem : bool
        Not used: batches are made in the process that uses them.

    Examples
    --------
    >>> from minpy.gluon.data import batchify
    >>> batchify.Stack()([[1, 2], [3, 4], [5, 6]]).shape
    (3, 2)
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> Any:
        """Return the items as one array."""
        return stacked(_checked("Stack", data))


class Pad:
    """Fills items up to the largest length of each axis, and stacks them.

    Parameters
    ----------
    val : float
        What they are filled with.
    dtype : str or numpy.dtype, optional
        The dtype of the batch; by default that of the items.
    round_to : int, optional
        Lengths are rounded up to a multiple of it.
    use_shared_mem : bool
        Not used: batches are made in the process that uses them.

    Examples
    --------
    >>> from minpy.gluon.data import batchify
    >>> batchify.Pad(val=-1)([[1, 2, 3], [4], [5, 6]]).asnumpy()
    array([[ 1,  2,  3],
           [ 4, -1, -1],
           [ 5,  6, -1]])
    """

    def __init__(
        self, val: float = 0, dtype: Any = None, round_to: int | None = None, use_shared_mem: bool = False
    ) -> None:
        self._pad_val = val
        self._dtype = dtype
        self._round_to = round_to
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> Any:
        """Return the items as one array."""
        items = [numpy.asarray(getattr(item, "_data", item)) for item in _checked("Pad", data)]
        if len({item.ndim for item in items}) > 1:
            raise ShapeError(
                "Pad: items must have one number of axes, got shapes "
                f"{', '.join(str(item.shape) for item in items[:8])}."
            )
        lengths = [max(sizes) for sizes in zip(*[item.shape for item in items], strict=True)]
        if self._round_to is not None:
            lengths = [-(-length // self._round_to) * self._round_to for length in lengths]
        dtype = numpy.result_type(*items) if self._dtype is None else numpy.dtype(self._dtype)
        batch = numpy.full((len(items), *lengths), self._pad_val, dtype)
        for row, item in zip(batch, items, strict=True):
            row[tuple(slice(length) for length in item.shape)] = item
        return _array(batch)


class Append:
    """Makes an array of each item, of whatever shapes: the batch is a list of them.

    Parameters
    ----------
    expand : bool
        Whether each array gets one more axis, of length 1, which counts items.
    batch_axis : int
        Where that axis stands.
    use_shared_mem : bool
        Not used: batches are made in the process that uses them.

    Examples
    --------
    >>> from minpy.gluon.data import batchify
    >>> [array.shape for array in batchify.Append()([[1, 2, 3], [4]])]
    [(1, 3), (1, 1)]
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False) -> None:
        self._expand = expand
        self._batch_axis = batch_axis
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """Return a list of the items as arrays."""
        arrays = [
            item if isinstance(item, nd.NDArray) else _array(numpy.asarray(item)) for item in _checked("Append", data)
        ]
        if not self._expand:
            return arrays
        return [(nd if array._keeps_dtype else np).expand_dims(array, axis=self._batch_axis) for array in arrays]


class AsList:
    """Leaves items as they are: the batch is a list of them.

    Examples
    --------
    >>> from minpy.gluon.data import batchify
    >>> batchify.AsList()(['a', 'b'])
    ['a', 'b']
    """

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """Return the items as a list."""
        return list(data)


class Group:
    """Makes a batch of each entry of items that are tuples, with a function for each.

    Parameters
    ----------
    fn : callable, or a list of them
    *args : callable

    Examples
    --------
    >>> from minpy.gluon.data import batchify
    >>> words, labels = batchify.Group(batchify.Pad(), batchify.Stack())([([1, 2], 0), ([3], 1)])
    >>> words.shape, labels.shape
    ((2, 2), (2,))
    """

    def __init__(self, fn: Any, *args: Callable[[Any], Any]) -> None:
        functions = [*fn, *args] if isinstance(fn, (list, tuple)) else [fn, *args]
        for position, function in enumerate(functions):
            if not callable(function):
                raise ArgumentError(
                    f"Group: the function at position {position} is {describe(function)}, which is none."
                )
        self._fn = functions

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        """Return a tuple of the batches of all entries."""
        for position, item in enumerate(_checked("Group", data)):
            if not isinstance(item, (list, tuple)) or len(item) != len(self._fn):
                raise ArgumentError(
                    f"Group: there are {len(self._fn)} functions; each item must be a tuple of as many entries, got "
                    f"{describe(item)} at position {position}."
                )
        return tuple(fn([item[entry] for item in data]) for entry, fn in enumerate(self._fn))


# -- the functions of loaders that are given none ----------------------------------------------------------------------


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Return a batch of items: stacked, and each entry by itself if items are tuples.

    Parameters
    ----------
    data : list of NDArray, numbers or tuples

    Returns
    -------
    NDArray or list of NDArray
        Of the items' dtypes.

    Raises
    ------
    ShapeError
        If arrays have different shapes.
    DTypeError
        If items make no array of numbers.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon.data.dataloader import default_batchify_fn
    >>> images, labels = default_batchify_fn([(nd.ones((2, 2)), 0), (nd.zeros((2, 2)), 1)])
    >>> images.shape, labels.asnumpy()
    ((2, 2, 2), array([0, 1]))
    """
    if not len(data):
        raise ArgumentError("default_batchify_fn: a batch needs one item or more, got none.")
    if isinstance(data[0], tuple):
        return [default_batchify_fn(entries) for entries in zip(*data, strict=True)]
    return stacked(data)


def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """Return a batch as `default_batchify_fn` does, on the context `cpu_shared(0)`, as MXNet's workers do.

    Parameters
    ----------
    data : list of NDArray, numbers or tuples

    Returns
    -------
    NDArray or list of NDArray
    """
    return as_in_context(default_batchify_fn(data), cpu_shared(0))


def as_in_context(data: Any, ctx: Context) -> Any:
    """Bring arrays, also inside lists and tuples, to a context."""
    if isinstance(data, nd.NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [as_in_context(item, ctx) for item in data]
    return data
