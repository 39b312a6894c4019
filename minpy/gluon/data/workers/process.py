"""The code of a worker process: it receives tasks, and sends batches."""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import queue
import random
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from minpy import random as minpy_random
from minpy.core.errors import PicklingError
from minpy.core.numpy_semantics import is_np_array, is_np_default_dtype, is_np_shape, set_np
from minpy.core.state import state
from minpy.gluon.data.workers import out_of_band, shared_memory

__all__ = ["Reply", "TaskMessage", "main"]

_MAX_INLINE = 8192  # bytes: so little goes through the pipe
_WATCH_SECONDS = 5.0  # seconds between two looks whether the loader's process is still there


class TaskMessage(NamedTuple):
    """A task for a worker. The reply may be stored in `slot`; the slots `dropped` no longer exist."""

    number: int
    slot: int
    dropped: tuple[int, ...]
    cancelled: tuple[int, ...]
    seeds: tuple[int, int, int] | None
    call: bytes


class Reply(NamedTuple):
    """The result of a task.

    `whole` is the reply itself, pickled, if it is small or there is no memory for it. Else it lies in the slot:
    `pickled` and `table` say between which bytes. If `new_size` is set the slot's memory is new, and its descriptor
    follows the message. `trouble` says why memory was not to be had. `failure` is (pickled exception or None, its
    class and text, traceback).
    """

    number: int
    whole: bytes | None = None
    pickled: tuple[int, int] = (0, 0)
    table: tuple[int, int] = (0, 0)
    new_size: int = 0
    trouble: str = ""
    failure: tuple[bytes | None, str, str] | None = None


def main(
    connection: Any, inherited: Sequence[Any], dataset: Any, batchify: Any, switches: tuple[bool, bool, bool]
) -> None:
    """Answer tasks, which call dataset and batchify by name, until the connection ends.

    A fork copies the loader's ends of connections, `inherited`: open, they would hide from workers that it is gone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader's process gets Ctrl-C too, and says what is to be done
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for connection_of_loader in inherited:
        connection_of_loader.close()
    if (is_np_shape(), is_np_array(), is_np_default_dtype()) != switches:
        set_np(*switches)
    state.recording = state.training = False
    _limit_blas()
    tasks: queue.SimpleQueue[TaskMessage] = queue.SimpleQueue()
    cancelled: set[int] = set()
    threading.Thread(target=_receive, args=(connection, tasks, cancelled), daemon=True).start()
    runner = _TaskRunner(connection, {"dataset": dataset, "batchify_fn": batchify})
    while True:
        task = tasks.get()
        if task.number in cancelled:
            cancelled.discard(task.number)
            connection.send_bytes(pickle.dumps(Reply(task.number, whole=b"")))
        else:
            runner.run(task)
            cancelled.discard(task.number)


def _receive(connection: Any, tasks: queue.SimpleQueue[TaskMessage], cancelled: set[int]) -> None:
    """Receive tasks at once, so that the loader never waits to send one; end the process when the loader ends."""
    parent = os.getppid()
    while True:
        try:
            while not connection.poll(_WATCH_SECONDS):
                if os.getppid() != parent:
                    os._exit(0)
            task = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        cancelled.update(task.cancelled)
        if task.number >= 0:
            tasks.put(task)


class _TaskRunner:
    """Runs tasks: holds the slots of memory for replies, and the objects that tasks refer to by name."""

    def __init__(self, connection: Any, known_objects: dict[str, Any]) -> None:
        self._connection = connection
        self._known_objects = known_objects
        self._slots: dict[int, shared_memory.SharedMemory] = {}

    def run(self, task: TaskMessage) -> None:
        """Do a task, and send what comes of it."""
        for slot in task.dropped:
            self._slots.pop(slot, None)
        if "cv2" in sys.modules:
            sys.modules["cv2"].setNumThreads(1)
        descriptor = -1
        try:
            if task.seeds is not None:
                _seed(task.seeds)
            function, arguments, keywords = out_of_band.TaskUnpickler(io.BytesIO(task.call), self._known_objects).load()
            reply, descriptor = self._stored(task, function(*arguments, **keywords))
        except BaseException as error:
            reply = Reply(task.number, failure=_failure(error))
        self._connection.send_bytes(pickle.dumps(reply, 5))
        if descriptor >= 0:
            shared_memory.send_descriptor(self._connection, descriptor)
            os.close(descriptor)

    def _stored(self, task: TaskMessage, value: Any) -> tuple[Reply, int]:
        """Put a reply where the loader finds it; return a descriptor, too, if that is new memory."""
        try:
            pickled, buffers = out_of_band.packed(value)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise PicklingError(
                f"DataLoader: what batchify_fn has returned cannot be sent: {error}. Let it return arrays, numbers, "
                "strings, and lists, tuples and dictionaries of them; or give thread_pool=True."
            ) from error
        spans, end = out_of_band.layout(buffers)
        if end + len(pickled) <= _MAX_INLINE or task.slot < 0:
            return Reply(task.number, out_of_band.packed_whole(pickled, buffers)), -1
        table = pickle.dumps(spans, 5)
        middle, last = end + len(pickled), end + len(pickled) + len(table)
        slot, descriptor = self._slots.get(task.slot), -1
        new_size = 0
        if slot is None or slot.size < last:
            new_size = shared_memory.rounded(last)
            try:
                slot, descriptor = shared_memory.SharedMemory.create(new_size)
            except (OSError, ValueError) as error:
                whole = out_of_band.packed_whole(pickled, buffers)
                return Reply(task.number, whole, trouble=f"{new_size} bytes of shared memory: {error}"), -1
            self._slots[task.slot] = slot
        for (start, _), buffer in zip(spans, buffers, strict=True):
            slot.write(start, buffer)
        slot.write(end, pickled)
        slot.write(middle, table)
        return Reply(task.number, None, (end, middle), (middle, last), new_size), descriptor


def _failure(error: BaseException) -> tuple[bytes | None, str, str]:
    """Return the pickled error that the loader raises, or None, with the texts that it shows in any case."""
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
    text = "".join(traceback.format_exception(type(error), error, inner or error.__traceback__))
    summary = f"{type(error).__name__}: {error}"
    if not isinstance(error, Exception) or isinstance(error, StopIteration):  # which would end the loader's loop
        return None, summary, text
    try:
        pickled = pickle.dumps(error)
        if type(pickle.loads(pickled)) is not type(error):
            return None, summary, text
    except Exception:
        return None, summary, text
    return pickled, summary, text


def _seed(seeds: tuple[int, int, int]) -> None:
    numpy.random.seed(list(seeds[0].to_bytes(16, "little")))
    random.seed(seeds[1])
    minpy_random.seed(seeds[2] & 0xFFFFFFFFFFFFFFFF)


_SETTERS = ("openblas_set_num_threads", "scipy_openblas_set_num_threads", "MKL_Set_Num_Threads")


def _limit_blas() -> None:
    """Let matrix products run in one thread, because the workers already run in parallel."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            paths = {line.split(None, 5)[-1].strip() for line in file if "blas" in line or "mkl_rt" in line}
    except OSError:  # a system that does not tell
        return
    for path in sorted(paths):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in _SETTERS:
            for suffix in ("", "64_", "_64"):
                setter = getattr(library, name + suffix, None)
                if setter is not None:
                    setter(ctypes.c_int(1))
