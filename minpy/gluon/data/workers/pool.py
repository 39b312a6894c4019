"""A pool of worker processes, as a loader sees it: tasks handed out, replies taken in, deaths noticed.

Nothing runs in the background: whoever waits for a reply takes in all that have come, for other threads as well.
Each worker has a pipe of its own and no lock is shared, so a worker that dies at any moment holds up nobody.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for_any
from typing import Any

import numpy

from minpy.core.errors import PicklingError, WorkerError
from minpy.core.numpy_semantics import is_np_array, is_np_default_dtype, is_np_shape
from minpy.gluon.data.workers import out_of_band, shared_memory
from minpy.gluon.data.workers.process import Reply, TaskMessage, main

__all__ = ["ProcessPool", "Task", "WorkerTimeoutError", "WorkerTraceback"]

_KEPT = 8  # batches that users may keep in shared memory; further ones are copied, so that slots do not grow in number
_GRACE = 2.0  # seconds that a worker has to end by itself


class WorkerTimeoutError(WorkerError, multiprocessing.TimeoutError, TimeoutError):
    """A batch that has not come in time."""


class WorkerTraceback(Exception):
    """The traceback of an exception in a worker, as text: the `__cause__` of what the loader raises."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class _Slot:
    """Where replies of a worker may lie. It is taken by a task, or lent to arrays that a user has, or free."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.in_use = False
        self.memory: shared_memory.SharedMemory | None = None
        self._lent: Any = None

    @property
    def lent(self) -> bool:
        return self._lent is not None and self._lent() is not None

    def lend(self) -> numpy.ndarray:
        """Return the bytes; the slot is free again when nothing refers to them."""
        assert self.memory is not None
        block = self.memory.block()
        self._lent = weakref.ref(block)
        return block


class _Process:
    """A process and the pipe to it: what is left to be ended when a pool is no more."""

    def __init__(self, process: Any, connection: Any) -> None:
        self.process = process
        self.connection = connection
        self.alive = True


class _Worker:
    """A process as the pool sees it: its slots, and the tasks that it has."""

    def __init__(self, index: int, handle: _Process) -> None:
        self.index = index
        self.handle = handle
        self.process = handle.process
        self.connection = handle.connection
        self.pid = handle.process.pid
        self.slots: list[_Slot] = []
        self.made_slots = 0
        self.dropped: list[int] = []
        self.tasks: dict[int, Task] = {}
        self.lock = threading.Lock()  # of those who send

    def __str__(self) -> str:
        return f"worker {self.index} (process {self.pid})"

    @property
    def alive(self) -> bool:
        return self.handle.alive

    def free_slot(self) -> _Slot:
        for slot in self.slots:
            if not slot.in_use and not slot.lent:
                return slot
        slot = _Slot(self.made_slots)
        self.made_slots += 1
        self.slots.append(slot)
        return slot

    def forget_lent(self) -> None:
        """Never use again the slots that arrays lie in: a process that is being forked gets to see them, too."""
        lent = [slot for slot in self.slots if slot.lent]
        self.dropped += [slot.number for slot in lent]
        self.slots = [slot for slot in self.slots if slot not in lent]


class Task:
    """What a worker was given to do: what `apply_async` returns."""

    def __init__(self, pool: ProcessPool, number: int, worker: _Worker, slot: _Slot | None, label: str) -> None:
        self._pool = pool
        self.number = number
        self.worker = worker
        self.slot = slot
        self.label = label
        self.cancelled = False
        self.reply: Reply | None = None
        self.error: BaseException | None = None

    def ready(self) -> bool:
        """Tell whether the reply is there."""
        if not self._arrived():
            self._pool._take_in(0)
        return self._arrived()

    def _arrived(self) -> bool:
        return self.reply is not None or self.error is not None

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the reply, for at most so many seconds."""
        self._pool._wait(self, timeout)

    def get(self, timeout: float | None = None) -> Any:
        """Return the reply, or raise what the worker raised."""
        self._pool._wait(self, timeout)
        if self.error is not None:
            raise self.error
        if self.reply is None:
            raise WorkerTimeoutError(self._pool._timeout_text(self, timeout))
        return self._pool._value_of(self)


class ProcessPool:
    """Worker processes that know a dataset.

    With the start method `fork`, the usual one on Linux, they have the dataset and all functions as they are now. With
    others, which `multiprocessing.set_start_method` names, both are pickled.
    """

    def __init__(self, count: int, dataset: Any, batchify: Any) -> None:
        self._count = count
        self._dataset = dataset
        self._batchify = batchify
        self._known_objects = {id(dataset): "dataset", id(batchify): "batchify_fn"}
        self._condition = threading.Condition(threading.RLock())
        self._taking_in = False
        self._numbers = 0
        self.epochs = 0  # begun so far
        self._warned = False
        self._workers: list[_Worker] = []
        self._pid = os.getpid()
        self._processes: list[_Process] = []  # refers to nothing that refers to the pool
        _pools.add(self)
        self._finalizer = weakref.finalize(self, _stop, self._processes, self._pid)
        self.restore()

    # -- processes -----------------------------------------------------------------------------------------------------

    def restore(self) -> None:
        """Start processes in the place of those that are no more; all of them in a process that was forked."""
        with self._condition:
            if self._pid != os.getpid():
                self._finalizer.detach()
                self._workers, self._processes = [], []
                self._pid = os.getpid()
                self._finalizer = weakref.finalize(self, _stop, self._processes, self._pid)
            try:
                for index, worker in enumerate(self._workers):
                    if not (worker.alive and worker.process.is_alive()):
                        self._note_end(worker)
                        self._workers[index] = self._start(index)
                for index in range(len(self._workers), self._count):
                    self._workers.append(self._start(index))
            except BaseException:
                self.terminate()
                raise

    def _start(self, index: int) -> _Worker:
        context = multiprocessing.get_context(_start_method())
        ours, theirs = context.Pipe()
        inherited = [worker.connection for pool in list(_pools) for worker in pool._workers if worker.alive]
        forks = context.get_start_method() == "fork"
        switches = is_np_shape(), is_np_array(), is_np_default_dtype()
        process: Any = context.Process(  # type: ignore[attr-defined]
            target=main,
            args=(theirs, [ours, *inherited] if forks else [], self._dataset, self._batchify, switches),
            name=f"minpy-DataLoader-{index}",
            daemon=True,
        )
        try:
            if not forks:
                _start_tracker()
            with _quiet_start(), _no_picture_threads(forks):
                process.start()
        except Exception as error:
            ours.close()
            if isinstance(error, (pickle.PicklingError, AttributeError, TypeError)) and not forks:
                raise PicklingError(
                    f"DataLoader: the start method {context.get_start_method()!r} of multiprocessing pickles dataset "
                    f"and batchify_fn for each worker, and that failed: {error}. Define classes and functions at the "
                    "top of a module, use multiprocessing.set_start_method('fork') where there is one, or give "
                    "thread_pool=True."
                ) from error
            raise
        finally:
            theirs.close()
        handle = _Process(process, ours)
        self._processes[:] = [*(running for running in self._processes if running.alive), handle]
        return _Worker(index, handle)

    def terminate(self) -> None:
        """End all workers, and wait until they have ended."""
        self._finalizer()

    close = join = terminate

    def _note_end(self, worker: _Worker, kill: bool = False) -> int | None:
        """Note that a worker is no more, fail its tasks, and return its exit code."""
        if worker.alive:
            worker.handle.alive = False
            worker.connection.close()
            if kill:
                worker.process.kill()
            worker.process.join(_GRACE)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
        code: int | None = worker.process.exitcode
        for task in worker.tasks.values():
            task.error = WorkerError(_death(worker, code, task.label))
        worker.tasks.clear()
        return code

    # -- tasks ---------------------------------------------------------------------------------------------------------

    def apply_async(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwds: dict[str, Any] | None = None,
        label: str = "",
        seeds: tuple[int, int, int] | None = None,
    ) -> Task:
        """Give the worker that has the fewest tasks one more, which errors call `label`: 'batch 3'.

        The pool's dataset and batchify function are not pickled. `seeds` are for the generators of NumPy, Python and
        minpy, which are seeded before.
        """
        file = io.BytesIO()
        try:
            out_of_band.TaskPickler(file, self._known_objects).dump((function, tuple(args), kwds or {}))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise PicklingError(
                f"DataLoader: {label or 'a task'} cannot be sent to a worker: {error}. Indices and functions that are "
                "given with each batch are pickled: use integers or strings, and functions at the top of a module."
            ) from error
        with self._condition:
            self._take_in(0)
            workers = [worker for worker in self._workers if worker.alive]
            if not workers or self._pid != os.getpid():
                raise WorkerError(
                    f"DataLoader: {label or 'a task'} has no worker that could do it: all have ended, or belong to "
                    "another process. Begin a new epoch: iter(loader) starts them again."
                )
            worker = min(workers, key=lambda candidate: len(candidate.tasks))
            slot = worker.free_slot() if shared_memory.AVAILABLE else None
            if slot is not None:
                slot.in_use = True
            self._numbers += 1
            task = Task(self, self._numbers, worker, slot, label)
            worker.tasks[task.number] = task
            dropped, worker.dropped = tuple(worker.dropped), []
        number = -1 if slot is None else slot.number
        self._send(worker, TaskMessage(task.number, number, dropped, (), seeds, file.getvalue()))
        return task

    def cancel(self, tasks: Sequence[Task]) -> None:
        """Tell workers not to begin with tasks whose replies nobody wants any more."""
        if self._pid != os.getpid():
            return
        with self._condition:
            remaining: dict[_Worker, list[int]] = {}
            for task in tasks:
                task.cancelled = True
                if task.number in task.worker.tasks:
                    remaining.setdefault(task.worker, []).append(task.number)
        for worker, numbers in remaining.items():
            if worker.alive:
                self._send(worker, TaskMessage(-1, -1, (), tuple(numbers), None, b""))

    def _send(self, worker: _Worker, message: TaskMessage) -> None:
        data = pickle.dumps(message, 5)
        try:
            with worker.lock:
                worker.connection.send_bytes(data)
        except OSError:  # it has ended, which is found out as soon as somebody waits for it
            return
        except BaseException:  # interrupted amid a message: nobody can make sense of the rest
            self._note_end(worker, kill=True)
            raise

    def _wait(self, task: Task, timeout: float | None) -> None:
        """Take in replies until a task's is there, or time is up."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not task._arrived():
            remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._take_in(remaining) and remaining == 0.0:
                return

    def _take_in(self, timeout: float | None) -> bool:
        """Take in replies that have come, after waiting for the first one; tell whether anything has happened.

        One thread does that at a time; others wait until it has taken something in, and look then.
        """
        with self._condition:
            if self._taking_in:
                return self._condition.wait(timeout) if timeout != 0 else False
            self._taking_in = True
        try:
            return self._receive(timeout)
        finally:
            with self._condition:
                self._taking_in = False
                self._condition.notify_all()

    def _receive(self, timeout: float | None) -> bool:
        if self._pid != os.getpid():
            raise WorkerError(
                "DataLoader: an iterator was begun in one process and goes on in another, which was forked. Begin a "
                "new one there: iter(loader) starts workers of its own."
            )
        sources: dict[Any, _Worker] = {}
        for worker in self._workers:
            if worker.alive:
                sources[worker.connection] = sources[worker.process.sentinel] = worker
        if not sources:
            return False
        ready = wait_for_any(list(sources), timeout)
        for worker in {sources[source] for source in ready}:
            self._read(worker, ended=worker.process.sentinel in ready)
        return bool(ready)

    def _read(self, worker: _Worker, ended: bool) -> None:
        """Take in all replies of a worker."""
        try:
            while worker.connection.poll(0):
                self._note(worker, pickle.loads(worker.connection.recv_bytes()))
        except (EOFError, OSError):
            ended = True
        except BaseException:  # interrupted amid a message: nobody can make sense of the rest
            self._note_end(worker, kill=True)
            raise
        if ended:
            with self._condition:
                self._note_end(worker)

    def _note(self, worker: _Worker, reply: Reply) -> None:
        with self._condition:
            task = worker.tasks.pop(reply.number)
            slot = task.slot
            if slot is not None:
                if reply.new_size:
                    descriptor = shared_memory.received_descriptor(worker.connection)
                    try:
                        slot.memory = shared_memory.SharedMemory(descriptor, reply.new_size)
                    finally:
                        os.close(descriptor)
                if task.cancelled or reply.whole is not None or reply.failure is not None:
                    slot.in_use = False
            task.reply = reply
            if reply.failure is not None:
                task.error = _raisable(reply.failure, task)
        if reply.trouble and not self._warned:
            self._warned = True
            warnings.warn(
                f"DataLoader: {worker} could not get {reply.trouble}. Batches go through pipes, which is slower: use "
                "smaller batches, fewer workers or a smaller prefetch, or allow more memory (ulimit, a container's "
                "limit).",
                RuntimeWarning,
                stacklevel=2,
            )

    def _value_of(self, task: Task) -> Any:
        """Return what a worker answered; arrays lie in its memory, unless many do already."""
        reply, slot = task.reply, task.slot
        assert reply is not None
        if reply.whole is not None:
            pickled, buffers = pickle.loads(reply.whole)
            return pickle.loads(pickled, buffers=buffers)
        assert slot is not None
        with self._condition:
            lent = sum(used.lent for worker in self._workers for used in worker.slots)
            block = slot.lend()
            view = memoryview(block)  # type: ignore[arg-type]
            table = pickle.loads(view[slice(*reply.table)])
            pickled = bytes(view[slice(*reply.pickled)])
            if lent >= _KEPT:
                copied = view[: table[-1][1]] if table else view[:0]
                view = memoryview(numpy.array(copied))  # type: ignore[arg-type]
            buffers = [view[start:end] for start, end in table]
            slot.in_use = False
            return pickle.loads(pickled, buffers=buffers)

    def _timeout_text(self, task: Task, timeout: float | None) -> str:
        ahead = list(task.worker.tasks.values())
        first = ahead[0] if ahead else task
        busy = "is still at it" if first is task else f"is still at {first.label or 'another task'}"
        return (
            f"DataLoader: {task.label or 'a batch'} has not come within {timeout} seconds; {task.worker} {busy}. If "
            "items take that long to make, give a larger timeout, smaller batches or more workers; if it hangs, "
            "num_workers=0 shows where. Workers are started anew with the next epoch."
        )

    def give_up(self, task: Task) -> None:
        """End the worker that a task hangs in."""
        with self._condition:
            self._note_end(task.worker, kill=True)


def _death(worker: _Worker, code: int | None, label: str) -> str:
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        how = f"was killed by the signal {name}"
        advice = (
            " The system does that when memory is short: use smaller batches, fewer workers or a smaller prefetch."
            if name == "SIGKILL"
            else " A library that crashes does that: num_workers=0 shows where."
        )
    else:
        how, advice = f"has ended with exit status {code}", " Something in the dataset has ended the process."
        if code == 1 and _start_method() != "fork":
            advice = (
                f" With the start method {_start_method()!r} a program's own code must stand under "
                "`if __name__ == '__main__':`, as each worker runs its file."
            )
    return f"DataLoader: {worker} {how} before {label or 'its task'} was there.{advice}"


def _raisable(failure: tuple[bytes | None, str, str], task: Task) -> BaseException:
    """Return what a worker raised, or an error that says so."""
    pickled, summary, text = failure
    where = f"{task.label or 'a task'} in {task.worker}"
    error: BaseException
    if pickled is None:
        error = WorkerError(f"DataLoader: {where} failed with {summary}")
    else:
        error = pickle.loads(pickled)
    error.__cause__ = WorkerTraceback(f"{where}:\n{text}")
    return error


# -- starting and ending processes -------------------------------------------------------------------------------------


def _start_method() -> str | None:
    """Return how processes are started: as the program has said; else by fork, except where that is not safe.

    Programs of MXNet's time have no `if __name__ == '__main__'`, which every other method needs.
    """
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen is not None or sys.platform == "darwin" or "fork" not in multiprocessing.get_all_start_methods():
        return chosen or multiprocessing.get_context().get_start_method()
    return "fork"


_starting = threading.Lock()


def _new_lock() -> None:
    global _starting
    _starting = threading.Lock()


def _start_tracker() -> None:
    """Start the process that Python has beside those that it does not fork: where one starts, interrupts go on."""
    if os.name == "posix":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Start a process without an interrupt in between, and without Python's warning that this one has threads.

    BLAS's threads count for that warning, and they are ended before each fork. A child runs only code of ours and the
    dataset's: the locks of minpy and NumPy are new there, or free.
    """
    masks = hasattr(signal, "pthread_sigmask")
    with _starting, warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*multi-threaded.*fork", DeprecationWarning)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else None
        try:
            yield
        finally:
            if before is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(processes: list[_Process], pid: int) -> None:
    """End processes, and wait for them: none is left as a zombie."""
    if os.getpid() != pid:  # a forked child has the list, but not the processes
        return
    alive = [handle for handle in processes if handle.alive]
    for handle in alive:
        handle.alive = False
        handle.connection.close()
        handle.process.terminate()
    deadline = time.monotonic() + _GRACE
    for handle in alive:
        handle.process.join(max(0.0, deadline - time.monotonic()))
        if handle.process.exitcode is None:  # stopped, or in a library that does not let go
            handle.process.kill()
            handle.process.join()


_pools: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


def _before_fork() -> None:
    for pool in list(_pools):
        for worker in pool._workers:
            worker.forget_lent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_new_lock)


@contextmanager
def _no_picture_threads(forks: bool) -> Iterator[None]:
    """Start a process while OpenCV has no threads, if it is a fork.

    A fork does not copy them, and the child's OpenCV would wait for ever for those that it still believes in.
    """
    cv2 = sys.modules.get("cv2") if forks else None
    threads = cv2.getNumThreads() if cv2 is not None else 1
    if cv2 is None or threads <= 1:
        yield
        return
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)
