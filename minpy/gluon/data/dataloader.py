"""`DataLoader`: batches of a dataset, made in the process that uses them."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy import integer

from minpy import ndarray as nd
from minpy.context import Context, cpu_pinned, cpu_shared
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.core.state import state
from minpy.gluon.data import sampler as _sampler
from minpy.gluon.data.batchify import stacked
from minpy.gluon.data.dataset import ArrayDataset
from minpy.namespaces import listing, missing

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]
__dir__ = listing(__all__)


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
    return _as_in_context(default_batchify_fn(data), cpu_shared(0))


def _as_in_context(data: Any, ctx: Context) -> Any:
    """Bring arrays, also inside lists and tuples, to a context."""
    if isinstance(data, nd.NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [_as_in_context(one, ctx) for one in data]
    return data


class DataLoader:
    """Batches of a dataset, in order or shuffled: one epoch each time it is iterated over.

    Parameters
    ----------
    dataset : Dataset
        Anything that has items and a length.
    batch_size : int, optional
    shuffle : bool
        Whether items are shuffled, each epoch anew. The order follows `numpy.random.seed`, as in MXNet.
    sampler : Sampler, optional
        In what order items are taken; in the place of `shuffle`.
    last_batch : {'keep', 'discard', 'rollover'}, optional
        What is done with a last batch that is not full: it is kept (the default), thrown away, or begins the next
        epoch.
    batch_sampler : Sampler, optional
        What yields lists of indices; in the place of all four above.
    batchify_fn : callable, optional
        Makes a batch of a list of items; `default_batchify_fn`.
    num_workers : int
        How many processes make batches in MXNet. They are made here in the process that uses them; a number above 0
        warns of that.
    pin_memory : bool
        Whether batches lie on the context `cpu_pinned(pin_device_id)`.
    pin_device_id : int
    prefetch : int, optional
        How many batches MXNet's workers make in advance. Not used.
    thread_pool : bool
        Whether MXNet's workers are threads. Not used.
    timeout : int
        How many seconds MXNet waits for a worker. Not used, but positive.
    auto_reload : bool
        Whether MXNet begins the next epoch in advance. The epoch is made in advance; its batches are made when they
        are used.

    Raises
    ------
    ArgumentError
        For arguments that exclude each other, or without which it is not clear what a batch is.

    Examples
    --------
    >>> import minpy as mx
    >>> dataset = mx.gluon.data.ArrayDataset(mx.nd.ones((5, 2)), mx.nd.arange(5))
    >>> for data, label in mx.gluon.data.DataLoader(dataset, batch_size=2):
    ...     print(data.shape, label.asnumpy())
    (2, 2) [0. 1.]
    (2, 2) [2. 3.]
    (1, 2) [4.]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: int = 120,
        auto_reload: bool = False,
    ) -> None:
        if not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
            raise ArgumentError(
                f"DataLoader: a dataset must have items and a length, got {describe(dataset)}. Derive it from "
                "gluon.data.Dataset, or make a gluon.data.SimpleDataset of a list."
            )
        if timeout <= 0:
            raise ArgumentValueError(f"DataLoader: timeout must be positive, got {timeout}.")
        if batchify_fn is not None and not callable(batchify_fn):
            raise ArgumentError(f"DataLoader: batchify_fn must be callable, got {describe(batchify_fn)}.")
        self._dataset = dataset
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._batch_sampler = _batches(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._num_workers = max(0, num_workers)
        if num_workers > 0:
            warnings.warn(
                f"DataLoader: num_workers={num_workers}, but batches are made in this process: leave it out, or give "
                "num_workers=0. The batches are the same.",
                UserWarning,
                stacklevel=2,
            )
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._batchify_fn: Callable[[Any], Any] = default_batchify_fn if batchify_fn is None else batchify_fn
        self.auto_reload = auto_reload
        self._iter: Iterator[Any] | None = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        if self._iter is None:
            self.refresh()
        epoch, self._iter = self._iter, None
        assert epoch is not None
        if self.auto_reload:
            self.refresh()
        return epoch

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Begin a new epoch, with which the next iteration starts."""
        self._iter = self._prefetch_iter()

    def clean(self) -> None:
        """Forget an epoch that was begun in advance."""
        self._iter = None

    def _prefetch_iter(self) -> Iterator[Any]:
        """Yield the batches of an epoch."""
        dataset, batchify = self._dataset, self._batchify_fn
        by_rows = type(dataset) is ArrayDataset and batchify is default_batchify_fn
        for indices in self._batch_sampler:
            batch = _rows(dataset, indices) if by_rows else None
            if batch is None:
                batch = batchify([dataset[index] for index in indices])
            yield _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch


def _rows(dataset: ArrayDataset, indices: Any) -> Any:
    """Return what `default_batchify_fn` makes of items of arrays, without taking them one by one; None if it cannot."""
    if state.recording or not all(isinstance(index, (int, integer)) for index in indices):
        return None
    found = dataset._rows(indices)
    if found is None:
        return None
    batch = [one if isinstance(one, nd.NDArray) else stacked(one) for one in found]
    return batch if len(batch) > 1 else batch[0]


def _batches(
    dataset: Any, batch_size: Any, shuffle: bool, sampler: Any, last_batch: str | None, batch_sampler: Any
) -> Any:
    """Return what yields the indices of each batch."""
    if batch_sampler is not None:
        given = {"batch_size": batch_size, "sampler": sampler, "last_batch": last_batch}
        names = [name for name, value in given.items() if value is not None] + ["shuffle"] * bool(shuffle)
        if names:
            raise ArgumentValueError(
                f"DataLoader: batch_sampler says which items make a batch; {', '.join(names)} cannot be given beside "
                "it."
            )
        return batch_sampler
    if batch_size is None:
        raise ArgumentValueError("DataLoader: batch_size is missing: give it, or a batch_sampler.")
    if sampler is not None and shuffle:
        raise ArgumentValueError(
            "DataLoader: sampler says in what order items are taken; shuffle cannot be given beside it. Use a "
            "gluon.data.RandomSampler, or leave sampler out."
        )
    if sampler is None:
        sampler = (_sampler.RandomSampler if shuffle else _sampler.SequentialSampler)(len(dataset))
    return _sampler.BatchSampler(sampler, batch_size, last_batch or "keep")


def _worker_fn(samples: Any, batchify_fn: Callable[[Any], Any], dataset: Any = None) -> Any:
    """Return the batch of some indices: what a pool's workers are given to do."""
    return batchify_fn([dataset[index] for index in samples])


class _MultiWorkerIter:
    """Batches that a pool of workers makes in advance.

    `DataLoader` has no use for it. Programs that bring a pool, such as a `multiprocessing.pool.ThreadPool`, have.

    Parameters
    ----------
    worker_pool : pool
        What has `apply_async(function, arguments)`; None: batches are made when they are used.
    batchify_fn : callable
    batch_sampler : Sampler
    pin_memory : bool
    pin_device_id : int
    worker_fn : callable
        Called with indices, `batchify_fn` and the dataset.
    prefetch : int
        How many batches are begun in advance.
    dataset : Dataset
    data_loader : DataLoader, optional
        Kept alive as long as this.
    timeout : int
        How many seconds to wait for a batch.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[[Any], Any],
        batch_sampler: Any,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: int = 120,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._worker_fn = worker_fn
        self._dataset = dataset
        self._data_loader = data_loader
        self._timeout = timeout
        self._iter = iter(batch_sampler)
        self._begun: deque[Callable[[], Any]] = deque()
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _push_next(self) -> None:
        """Begin the next batch, if there is one."""
        indices = next(self._iter, None)
        if indices is None:
            return
        arguments = (indices, self._batchify_fn, self._dataset)
        if self._worker_pool is None:
            self._begun.append(lambda: self._worker_fn(*arguments))
        else:
            result = self._worker_pool.apply_async(self._worker_fn, arguments)
            self._begun.append(lambda: result.get(self._timeout))

    def __next__(self) -> Any:
        self._push_next()
        if not self._begun:
            raise StopIteration
        batch = self._begun.popleft()()
        return _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    next = __next__

    def __iter__(self) -> _MultiWorkerIter:
        return self


_refuse = missing("minpy.gluon.data.dataloader", "name", __all__)


def __getattr__(name: str) -> Any:
    if name == "ForkingPickler":  # which libraries import from here
        from multiprocessing.reduction import ForkingPickler

        return ForkingPickler
    return _refuse(name)
