"""The base of iterators over batches, and the check that one is used in the process that made its threads."""

from __future__ import annotations

import os
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import WorkerError
from minpy.io.batches import DataBatch

__all__ = ["DataIter", "require_process"]

_NO_BATCH = """
    Raises
    ------
    MXNetError
        By iterators over arrays, files and other iterators: before the first batch.
    """


class DataIter:
    """The base of iterators over batches.

    A subclass has `provide_data` and `provide_label`, lists of `DataDesc`, and either `next`, or `iter_next` with
    `getdata`, `getlabel`, `getindex` and `getpad`; and `reset`, which starts the next epoch.

    Parameters
    ----------
    batch_size : int
        How many instances a batch has.

    Examples
    --------
    >>> import minpy as mx
    >>> class Squares(mx.io.DataIter):
    ...     provide_data = [mx.io.DataDesc('data', (2,))]
    ...     provide_label = []
    ...     cursor = 0
    ...     def reset(self):
    ...         self.cursor = 0
    ...     def iter_next(self):
    ...         self.cursor += 1
    ...         return self.cursor < 3
    ...     def getdata(self):
    ...         return [mx.nd.array([self.cursor, self.cursor ** 2])]
    ...     def getlabel(self):
    ...         return []
    ...     def getpad(self):
    ...         return 0
    >>> [batch.data[0].asnumpy().tolist() for batch in Squares(2)]
    [[1.0, 1.0], [2.0, 4.0]]
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self.next()

    def reset(self) -> None:
        """Start the next epoch. It does nothing here."""

    def next(self) -> Any:
        """Return the next batch.

        Returns
        -------
        DataBatch

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex())

    def iter_next(self) -> Any:
        """Move to the next batch, and return whether there is one.

        Returns
        -------
        bool
            None in the base class, which has no batches.
        """

    @documented(no_batch=_NO_BATCH)
    def getdata(self) -> Any:
        """Return the data of the current batch.

        Returns
        -------
        list of NDArray
            A single NDArray of iterators over files; None in the base class.

        {no_batch}
        """

    @documented(no_batch=_NO_BATCH)
    def getlabel(self) -> Any:
        """Return the labels of the current batch.

        Returns
        -------
        list of NDArray
            A single NDArray of iterators over files; None in the base class.

        {no_batch}
        """

    @documented(no_batch=_NO_BATCH)
    def getindex(self) -> Any:
        """Return the instances of the current batch: their positions in the data, or the ids of records.

        Returns
        -------
        numpy.ndarray of integers, or None

        {no_batch}
        """

    @documented(no_batch=_NO_BATCH)
    def getpad(self) -> Any:
        """Return how many instances at the end of the current batch are padding.

        Returns
        -------
        int
            None in the base class.

        {no_batch}
        """


def require_process(function: str, pid: int) -> None:
    """Raise an error in a forked process: it would wait for its parent's threads for ever."""
    if pid != os.getpid():
        raise WorkerError(
            f"{function}: the iterator was made in process {pid}, whose threads read for it, and is asked for a batch "
            f"in process {os.getpid()}, which was forked from that one and has none. Make the iterator in the process "
            "that reads it."
        )
