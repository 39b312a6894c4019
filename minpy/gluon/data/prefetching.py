"""Batches made in advance: what workers do, what goes to them and comes back, and in which order."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy import integer

from minpy import ndarray as nd
from minpy.context import CPU, Context, cpu_pinned
from minpy.core.errors import WorkerError
from minpy.core.numpy_semantics import is_np_array, is_np_shape, set_np
from minpy.core.state import state
from minpy.gluon.data.batchify import default_batchify_fn, default_mp_batchify_fn, stacked
from minpy.gluon.data.dataset import ArrayDataset
from minpy.namespaces import module_functions
from minpy.ndarray.placement import place
from minpy.ops.random.generator import generator

if TYPE_CHECKING:
    from minpy.gluon.data.workers import ProcessPool

__all__: list[str] = []  # what `dataloader` shows, and what libraries import from there
__dir__, __getattr__ = module_functions(__name__, __all__)


# -- what workers do ---------------------------------------------------------------------------------------------------


def make_batch(indices: Any, batchify: Callable[[Any], Any], dataset: Any) -> Any:
    """Return the batch of some indices."""
    if type(dataset) is ArrayDataset and batchify in (default_batchify_fn, default_mp_batchify_fn):
        batch = _rows(dataset, indices)
        if batch is not None:
            return batch
    return batchify([dataset[index] for index in indices])


_worker_dataset: Any = None  # what programs that start a pool themselves set in each of its processes


def _worker_initializer(dataset: Any, active_shape: bool = False, active_array: bool = False) -> None:
    """Prepare a process of a pool: the dataset of its tasks, and whether NumPy's semantics are on."""
    global _worker_dataset
    _worker_dataset = dataset
    _thread_worker_initializer(active_shape, active_array)


def _thread_worker_initializer(active_shape: bool = False, active_array: bool = False) -> None:
    """Prepare a thread of a pool: whether NumPy's semantics are on."""
    set_np(shape=bool(active_shape), array=bool(active_array))


def _rows(dataset: ArrayDataset, indices: Any) -> Any:
    """Return what `default_batchify_fn` makes of items of arrays, without taking them one by one; None if it cannot."""
    if state.recording or not all(isinstance(index, (int, integer)) for index in indices):
        return None
    rows = dataset._rows(indices)
    if rows is None:
        return None
    batch = [item if isinstance(item, nd.NDArray) else stacked(item) for item in rows]
    return batch if len(batch) > 1 else batch[0]


def _worker_fn(samples: Any, batchify_fn: Callable[[Any], Any], dataset: Any = None) -> Any:
    """Return the batch of some indices: what a pool's workers are given to do."""
    return make_batch(samples, batchify_fn, _worker_dataset if dataset is None else dataset)


def _thread_worker_fn(samples: Any, batchify_fn: Callable[[Any], Any], dataset: Any) -> Any:
    """Return the batch of some indices: what the threads of a pool are given to do."""
    return make_batch(samples, batchify_fn, dataset)


class ThreadWorkers:
    """Threads that make batches: a `ThreadPool` that ends with the last reference to it."""

    def __init__(self, count: int) -> None:
        self._count, self._switches = count, (is_np_shape(), is_np_array())
        self._begin()

    def _begin(self) -> None:
        from multiprocessing.pool import ThreadPool

        self._pid = os.getpid()
        self._pool = ThreadPool(self._count, _thread_worker_initializer, self._switches)
        self._finalizer = weakref.finalize(self, self._pool.terminate)

    def apply_async(self, function: Callable[..., Any], args: Any = ()) -> Any:
        """Begin a call in one of the threads."""
        if self._pid != os.getpid():  # a process that was forked has none of them
            self._finalizer.detach()
            self._begin()
        return self._pool.apply_async(_in_thread, (function, args))


def _in_thread(function: Callable[..., Any], arguments: Any) -> Any:
    """Return what a call returns; what would end the thread, and leave its batch for ever undone, is an error."""
    try:
        return function(*arguments)
    except Exception:
        raise
    except BaseException as error:
        raise WorkerError(f"DataLoader: a batch in a thread failed with {type(error).__name__}: {error}") from error


class _DeferredCall:
    """A call that is made when its result is asked for."""

    def __init__(self, function: Callable[..., Any], arguments: Any) -> None:
        self._function = function
        self._arguments = arguments

    def get(self, timeout: float | None = None) -> Any:
        return self._function(*self._arguments)


def _has_processes(pool: Any) -> bool:
    """Tell whether a pool is a `ProcessPool`, without importing that where there is none."""
    return hasattr(pool, "give_up")


def _label(number: int, indices: Any) -> str:
    """Return what errors call a batch."""
    try:
        first = ", ".join(str(index) for index in indices[:4])
        return f"batch {number} (items {first}{', ...' if len(indices) > 4 else ''})"
    except (TypeError, KeyError, IndexError):  # indices of a kind that only the dataset knows
        return f"batch {number}"


# -- random numbers ----------------------------------------------------------------------------------------------------


def _epoch_states(pool: ProcessPool) -> tuple[bytes, ...]:
    """Return what stands for an epoch of a pool, and for the states of all three generators."""
    pool.epochs += 1
    states = (numpy.random.get_state(legacy=True), random.getstate(), generator().bit_generator.state)
    return tuple(hashlib.sha256(repr((_with_bytes(item), pool.epochs)).encode()).digest() for item in states)


def _with_bytes(value: Any) -> Any:
    """Return a state in which arrays are bytes, so that its text is all of it."""
    if isinstance(value, numpy.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return [(key, _with_bytes(item)) for key, item in value.items()]
    return [_with_bytes(item) for item in value] if type(value) is tuple and len(value) < 10 else value


def _seeds_of(states: tuple[bytes, ...], batch: int) -> tuple[int, int, int]:
    first, second, third = (
        int.from_bytes(hashlib.sha256(item + batch.to_bytes(8, "little")).digest()[:16], "little") for item in states
    )
    return first, second, third


# -- batches in advance ------------------------------------------------------------------------------------------------


class _Indices:
    """Indices of NumPy's own kind, which are pickled in one piece: a list of them again on the other side."""

    def __init__(self, indices: Sequence[Any]) -> None:
        self.array = numpy.array(indices)

    def __reduce__(self) -> Any:
        return list, (self.array,)


def _ready(batch: Any) -> Any:
    """Return a batch whose arrays are on no context of workers: where they lie is memory of this process as well."""
    if isinstance(batch, nd.NDArray):
        return place(type(batch), batch._data, CPU) if batch.context.device_type == "cpu_shared" else batch
    if type(batch) in (list, tuple):
        return type(batch)(_ready(item) for item in batch)
    return batch


def _pinned(batch: Any, context: Context) -> Any:
    """Return a new batch on a context of this memory, without copying it."""
    if isinstance(batch, nd.NDArray):
        return place(type(batch), batch._data, context)
    return [_pinned(item, context) for item in batch] if isinstance(batch, (list, tuple)) else batch


class _MultiWorkerIter:
    """Batches that a pool of workers makes in advance.

    Programs that bring a pool, such as a `multiprocessing.pool.ThreadPool`, use it by itself.
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
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = 0
        self._sent_idx = 0
        self._iter = iter(batch_sampler)
        self._states = _epoch_states(worker_pool) if _has_processes(worker_pool) else ()
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __del__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Let workers leave out what is begun in advance."""
        begun = list(getattr(self, "_data_buffer", {}).values())
        if begun and _has_processes(self._worker_pool):
            self._worker_pool.cancel([task for task in begun if hasattr(task, "cancelled")])
        if begun:
            self._data_buffer.clear()
        self._rcvd_idx = self._sent_idx
        self._iter = iter(())

    def _push_next(self) -> None:
        """Begin the next batch, if there is one."""
        indices = next(self._iter, None)
        if indices is None:
            return
        number = self._sent_idx
        arguments = (indices, self._batchify_fn, self._dataset)
        if self._worker_pool is None:
            self._data_buffer[number] = _DeferredCall(self._worker_fn, arguments)
        elif _has_processes(self._worker_pool):
            is_plain = type(indices) is list and set(map(type, indices)) == {numpy.int64}
            self._data_buffer[number] = self._worker_pool.apply_async(
                self._worker_fn,
                (_Indices(indices) if is_plain else indices, *arguments[1:]),
                label=_label(number, indices),
                seeds=_seeds_of(self._states, number),
            )
        else:
            self._data_buffer[number] = self._worker_pool.apply_async(self._worker_fn, arguments)
        self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        number = self._rcvd_idx
        task = self._data_buffer[number]
        try:
            batch = task.get(self._timeout)
        except Exception as error:
            self._forget()
            self._explain(task, number, error)
            raise
        del self._data_buffer[number]
        self._rcvd_idx += 1
        if isinstance(batch, bytes) and self._worker_fn is not _worker_fn:  # which functions of libraries pickle
            batch = pickle.loads(batch)
        return _pinned(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else _ready(batch)

    def _explain(self, task: Any, number: int, error: Exception) -> None:
        """Say which batch an error belongs to, and end the worker that a batch hangs in."""
        from multiprocessing import TimeoutError as PoolTimeoutError

        from minpy.gluon.data.workers import WorkerTimeoutError

        if _has_processes(self._worker_pool):
            if isinstance(error, WorkerTimeoutError):
                self._worker_pool.give_up(task)
        elif isinstance(error, PoolTimeoutError):
            raise WorkerTimeoutError(
                f"DataLoader: batch {number} has not come within {self._timeout} seconds; threads make it. If items "
                "take that long, give a larger timeout, smaller batches or more workers; if they hang, num_workers=0 "
                "shows where."
            ) from error
        elif hasattr(error, "add_note"):
            error.add_note(f"It was raised in a thread that made batch {number} of a DataLoader.")

    next = __next__

    def __iter__(self) -> _MultiWorkerIter:
        return self
