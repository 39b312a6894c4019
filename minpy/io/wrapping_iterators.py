"""Iterators that wrap others: epochs of another length, or reading ahead."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError, MXNetError, describe, nearest
from minpy.io.batches import DataBatch, DataDesc
from minpy.io.data_iter import DataIter, require_process

__all__ = ["PrefetchingIter", "ResizeIter"]


class _CurrentBatch(DataIter):
    """The base of iterators that hold a batch of another iterator."""

    current_batch: Any = None

    def _current(self) -> Any:
        if self.current_batch is None:
            raise MXNetError(f"{type(self).__name__}: there is no batch yet. Call next(), or iter_next().")
        return self.current_batch

    def getdata(self) -> Any:
        return self._current().data

    def getlabel(self) -> Any:
        return self._current().label

    def getindex(self) -> Any:
        return self._current().index

    def getpad(self) -> Any:
        return self._current().pad


class ResizeIter(_CurrentBatch):
    """Epochs of another number of batches.

    Parameters
    ----------
    data_iter : DataIter
        Reset wherever it ends.
    size : int
        How many batches an epoch has.
    reset_internal : bool
        Whether `data_iter` is reset with each epoch.

    Examples
    --------
    >>> import minpy as mx
    >>> batches = mx.io.ResizeIter(mx.io.NDArrayIter(mx.nd.arange(4), batch_size=2), 3)
    >>> [batch.data[0].asnumpy().tolist() for batch in batches]
    [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]]
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__()
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        self.batch_size = data_iter.batch_size
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Move to the next batch, and return whether there is one.

        Returns
        -------
        bool

        Raises
        ------
        StopIteration
            If the inner iterator has no batch right after its `reset`.
        """
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class _Reader:
    """A thread that reads one batch of an iterator ahead, on request."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self.requested, self.ready = threading.Event(), threading.Event()
        self.batch: Any = None
        self.error: BaseException | None = None
        self.running = True
        self.pid = os.getpid()
        self.thread = threading.Thread(target=self._run, name="PrefetchingIter", daemon=True)
        self.thread.start()
        self.requested.set()

    def _run(self) -> None:
        while True:
            self.requested.wait()
            self.requested.clear()
            if not self.running:
                return
            self.batch = self.error = None
            try:
                self.batch = self.iterator.next()
            except StopIteration:
                self.batch = None
            except BaseException as error:  # raised again by `result`
                self.error = error
            self.ready.set()

    def wait(self) -> None:
        """Wait until the requested batch is there."""
        require_process("PrefetchingIter", self.pid)
        self.ready.wait()

    def result(self) -> Any:
        """Return the batch, or None at the end; or raise the iterator's error."""
        self.wait()
        if self.error is not None:
            raise self.error
        return self.batch

    def request(self) -> None:
        """Let the thread read the next batch."""
        self.ready.clear()
        self.requested.set()


def _stop(readers: Sequence[_Reader]) -> None:
    """End the threads."""
    for reader in readers:
        reader.running = False
        reader.requested.set()
        if reader.thread is not threading.current_thread():
            reader.thread.join()


class PrefetchingIter(_CurrentBatch):
    """One or several iterators, each read a batch ahead by a thread; several batches are joined into one.

    An iterator's error is raised where its batch is read, until `reset`.

    Parameters
    ----------
    iters : DataIter or list of DataIter
    rename_data, rename_label : list of dict of str to str, optional
        For each iterator, other names for its data and its labels.

    Raises
    ------
    ArgumentError
        If there is no iterator, or not one dictionary for each, or a dictionary lacks a name.
    MXNetError
        By `next`, if one iterator has ended and another has not, or their batches have different pads.

    Examples
    --------
    >>> import minpy as mx
    >>> one, other = (mx.io.NDArrayIter(mx.nd.arange(4) + shift, batch_size=2) for shift in (0, 10))
    >>> batches = mx.io.PrefetchingIter([one, other], rename_data=[{'data': 'a'}, {'data': 'b'}])
    >>> [desc.name for desc in batches.provide_data]
    ['a', 'b']
    >>> [array.asnumpy().tolist() for array in batches.next().data]
    [[0.0, 1.0], [10.0, 11.0]]
    """

    def __init__(
        self,
        iters: Any,
        rename_data: Sequence[dict[str, str]] | None = None,
        rename_label: Sequence[dict[str, str]] | None = None,
    ) -> None:
        super().__init__()
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        self.n_iter = len(self.iters)
        if not self.n_iter:
            raise ArgumentError("PrefetchingIter: iters is empty; expected at least one iterator.")
        self.rename_data, self.rename_label = rename_data, rename_label
        # Wrong names are reported now, not in the midst of training.
        self.batch_size = self.provide_data[0][1][0]
        self._renamed("rename_label", rename_label, "provide_label")
        self._readers = [_Reader(iterator) for iterator in self.iters]
        weakref.finalize(self, _stop, self._readers)

    def _renamed(self, role: str, names: Sequence[dict[str, str]] | None, provided: str) -> list[DataDesc]:
        lists = [getattr(iterator, provided) for iterator in self.iters]
        if names is None:
            return [desc for descs in lists for desc in descs]
        if isinstance(names, dict) or len(names) != self.n_iter:
            raise ArgumentError(
                f"PrefetchingIter: {role} is {describe(names)}; expected a list of {self.n_iter} dictionaries, one an "
                "iterator."
            )
        renamed = []
        for table, descs in zip(names, lists, strict=True):
            for desc in descs:
                if desc[0] not in table:
                    raise ArgumentError(
                        f"PrefetchingIter: {role} has no name for {desc[0]!r}; it has {', '.join(map(repr, table))}."
                        + nearest(desc[0], table)
                    )
                extra = (desc.dtype, desc.layout) if isinstance(desc, DataDesc) else ()
                renamed.append(DataDesc(table[desc[0]], desc[1], *extra))
        return renamed

    @property
    def provide_data(self) -> list[DataDesc]:
        """The descriptions of the data of all iterators."""
        return self._renamed("rename_data", self.rename_data, "provide_data")

    @property
    def provide_label(self) -> list[DataDesc]:
        """The descriptions of the labels of all iterators."""
        return self._renamed("rename_label", self.rename_label, "provide_label")

    def reset(self) -> None:
        """Start the next epoch of all iterators, also amid one."""
        for reader in self._readers:
            reader.wait()
        for reader in self._readers:
            reader.error = None
            reader.iterator.reset()
        for reader in self._readers:
            reader.request()

    def iter_next(self) -> bool:
        """Move to the next batch, and return whether there is one.

        Returns
        -------
        bool

        Raises
        ------
        MXNetError
            If one iterator has ended and another has not, or their batches have different pads.
        """
        batches = [reader.result() for reader in self._readers]
        if batches[0] is None or any(batch is None for batch in batches):
            if any(batch is not None for batch in batches):
                ended = [position for position, batch in enumerate(batches) if batch is None]
                raise MXNetError(
                    f"PrefetchingIter: of {self.n_iter} iterators, number {', '.join(map(str, ended))} has ended, and "
                    "the others have not. Give them equally many batches, with ResizeIter for example."
                )
            return False
        pads = [batch.pad for batch in batches]
        if len(set(pads)) > 1:
            raise MXNetError(f"PrefetchingIter: the batches of the iterators have different pads: {pads}.")
        first = batches[0]
        labels = [batch.label for batch in batches if batch.label is not None]
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for label in labels for array in label],
            first.pad,
            first.index,
            bucket_key=first.bucket_key if self.n_iter == 1 else None,
            provide_data=self.provide_data if first.provide_data is None else first.provide_data,
            provide_label=self.provide_label if first.provide_label is None else first.provide_label,
        )
        for reader in self._readers:
            reader.request()
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        batch: DataBatch = self.current_batch
        return batch
