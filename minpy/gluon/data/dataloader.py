"""`DataLoader`: batches of a dataset, made in the process that uses them, in worker processes, or in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numpy import integer

from minpy.context import cpu_pinned
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.gluon.data import sampler as _sampler
from minpy.gluon.data.batchify import as_in_context as _as_in_context
from minpy.gluon.data.batchify import default_batchify_fn, default_mp_batchify_fn
from minpy.gluon.data.prefetching import (
    ThreadWorkers,
    _MultiWorkerIter,
    _thread_worker_fn,
    _thread_worker_initializer,  # noqa: F401 - for programs that start pools themselves
    _worker_fn,
    _worker_initializer,  # noqa: F401
    make_batch,
)
from minpy.namespaces import listing, missing

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]
__dir__ = listing(__all__)
_refuse = missing("minpy.gluon.data.dataloader", "name", __all__)


def __getattr__(name: str) -> Any:
    if name == "ForkingPickler":  # which libraries import from here
        from multiprocessing.reduction import ForkingPickler

        return ForkingPickler
    return _refuse(name)


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
        How many processes, or threads, make batches; with 0 they are made when they are asked for. The processes are
        started with the loader, and see the dataset as it is then. Batches come in the order of the sampler.
    pin_memory : bool
        Whether batches lie on the context `cpu_pinned(pin_device_id)`; it is main memory like any other.
    pin_device_id : int
    prefetch : int, optional
        How many batches workers make in advance; twice their number.
    thread_pool : bool
        Whether workers are threads: nothing is copied, and nothing pickled, but Python code of one runs at a time.
    timeout : int
        For how many seconds to wait for a batch of a worker.
    auto_reload : bool
        Whether workers begin the next epoch as soon as an epoch is begun.
    try_nopython : bool, optional
        MXNet 2's choice of loops in C++: taken, and of no effect.

    Raises
    ------
    ArgumentError
        For arguments that exclude each other, or without which it is not clear what a batch is.
    WorkerError
        While iterating: if a worker has ended, or (as a `TimeoutError`, too) has not answered in time. What the dataset
        raises in a worker is raised as it is, with the worker's traceback as its cause. The next epoch starts with new
        workers where they are needed.

    Notes
    -----
    Processes are started as `multiprocessing.set_start_method` has said; if nothing was said by fork, except on macOS
    and Windows. For each batch of a worker the generators of NumPy, Python and minpy are seeded with numbers that
    follow from their states in this process, the epoch and the batch: so batches differ, runs repeat after
    `numpy.random.seed`, `random.seed` and `mx.random.seed`, and the number of worker processes does not matter.
    Arrays of batches are copied once, into memory that both processes see.

    Examples
    --------
    >>> import minpy as mx
    >>> dataset = mx.gluon.data.ArrayDataset(mx.nd.ones((5, 2)), mx.nd.arange(5))
    >>> for data, label in mx.gluon.data.DataLoader(dataset, batch_size=2, num_workers=1):
    ...     print(data.shape, label.asnumpy())
    (2, 2) [0. 1.]
    (2, 2) [2. 3.]
    (1, 2) [4.]
    """

    _worker_pool: Any = None

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
        try_nopython: bool | None = None,
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
        if not isinstance(num_workers, (int, integer)):
            raise ArgumentError(f"DataLoader: num_workers must be an integer, got {describe(num_workers)}.")
        self._dataset = dataset
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._batch_sampler = _batches(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._num_workers = max(0, int(num_workers))
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._batchify_fn: Callable[[Any], Any] = default_batchify_fn if batchify_fn is None else batchify_fn
        self.auto_reload = auto_reload
        self._iter: Iterator[Any] | None = None
        if self._num_workers and thread_pool:
            self._worker_pool = ThreadWorkers(self._num_workers)
        elif self._num_workers:
            self._worker_pool = _processes(self._num_workers, dataset, self._batchify_fn)
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
        """Return an iterator over the batches of a new epoch."""
        pool = self._worker_pool
        if pool is None:
            return self._batches_made_here()
        if not self._thread_pool:
            pool.restore()
        return _MultiWorkerIter(
            pool,
            self._batchify_fn,
            self._batch_sampler,
            pin_memory=self._pin_memory,
            pin_device_id=self._pin_device_id,
            worker_fn=_thread_worker_fn if self._thread_pool else _worker_fn,
            prefetch=self._prefetch,
            dataset=self._dataset,
            timeout=self._timeout,
        )

    def _batches_made_here(self) -> Iterator[Any]:
        """Yield the batches of an epoch."""
        for indices in self._batch_sampler:
            batch = make_batch(indices, self._batchify_fn, self._dataset)
            yield _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch


def _processes(count: int, dataset: Any, batchify: Callable[[Any], Any]) -> Any:
    """Return a pool of worker processes; None in a worker, which may have none of its own."""
    from multiprocessing import current_process  # which takes some time

    from minpy.gluon.data.workers import ProcessPool

    return None if current_process().daemon else ProcessPool(count, dataset, batchify)


def _batches(
    dataset: Any, batch_size: Any, shuffle: bool, sampler: Any, last_batch: str | None, batch_sampler: Any
) -> Any:
    """Return what yields the indices of each batch."""
    if batch_sampler is not None:
        excluded = {"batch_size": batch_size, "sampler": sampler, "last_batch": last_batch}
        names = [name for name, value in excluded.items() if value is not None] + ["shuffle"] * bool(shuffle)
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
