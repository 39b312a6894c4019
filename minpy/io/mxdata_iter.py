"""The class of iterators over files, the order of their instances, and the parsing of their arguments.

Arguments are given as values or as MXNet's strings, and checked against a table.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, describe, nearest
from minpy.core.source_lines import warn_at_program
from minpy.io.batches import DataBatch, DataDesc
from minpy.io.data_iter import DataIter
from minpy.ndarray.creation import array

__all__ = ["ITERATOR", "REQUIRED", "Batch", "MXDataIter", "Plan", "Schedule", "Source", "Start", "arguments", "parsed"]


class Start(NamedTuple):
    """Where an epoch begins: a round through the data, and an offset into it, in instances."""

    round: int = 0
    offset: int = 0


class Plan(NamedTuple):
    """One batch: its instances, how many of them are padding, and where the next epoch begins if it is the last."""

    instances: numpy.ndarray
    pad: int
    next_start: Start


class Schedule:
    """Which instances the batches of each epoch have.

    With `round_batch` the last batch of an epoch is padded with the first instances of the next round, and the next
    epoch begins after them. Otherwise it has fewer instances.
    """

    def __init__(
        self, count: int, batch_size: int, round_batch: bool, order: Callable[[int], numpy.ndarray] | None = None
    ) -> None:
        self.count = count
        self.batch_size = batch_size
        self.round_batch = round_batch
        self._order = order

    def order(self, round_number: int) -> numpy.ndarray:
        """Return the instances of a round in order."""
        return numpy.arange(self.count) if self._order is None else self._order(round_number)

    def epoch(self, begin: Start) -> Iterator[Plan]:
        """Yield the batches of an epoch."""
        order = self.order(begin.round)
        for position in range(begin.offset, self.count, self.batch_size):
            instances = order[position : position + self.batch_size]
            missing = self.batch_size - len(instances)
            next_start = Start(begin.round + 1)
            if missing and self.round_batch:
                instances = numpy.concatenate([instances, self.order(begin.round + 1)[:missing]])
                next_start = Start(begin.round + 1, missing)
            yield Plan(instances, missing, next_start)


class Batch(NamedTuple):
    """A batch of NumPy arrays."""

    data: numpy.ndarray
    label: numpy.ndarray
    pad: int
    instances: numpy.ndarray
    next_start: Start


class Source(Protocol):
    """A reader of files."""

    batch_size: int
    # Shape and dtype of a batch.
    data: tuple[tuple[int, ...], Any]
    label: tuple[tuple[int, ...], Any]

    def epoch(self, begin: Start) -> Generator[Batch, None, None]:
        """Yield the batches of an epoch."""

    def close(self) -> None:
        """Stop threads and close files."""
        return


class MXDataIter(DataIter):
    """An iterator over files: what `ImageRecordIter`, `CSVIter`, ... return.

    Parameters
    ----------
    handle : object
        The reader of the files.
    data_name, label_name : str
        The names in `provide_data` and `provide_label`.

    Raises
    ------
    MXNetError
        As the files' iterators; the first batch is read at once.

    Examples
    --------
    >>> import minpy as mx
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'data.csv')
    ...     with open(path, 'w') as file:
    ...         _ = file.write('1,2\\n3,4\\n5,6\\n')
    ...     batches = mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=2)
    ...     isinstance(batches, mx.io.MXDataIter), [batch.data[0].asnumpy().tolist() for batch in batches]
    (True, [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [1.0, 2.0]]])
    """

    def __init__(self, handle: Any, data_name: str = "data", label_name: str = "softmax_label", **_: Any) -> None:
        super().__init__(handle.batch_size)
        self.handle: Source = handle
        self._debug_skip_load = False
        self._first_batch: DataBatch | None = None
        self._next_start = Start(1)  # where the next epoch begins
        self.provide_data = [DataDesc(data_name, *handle.data)]
        self.provide_label = [DataDesc(label_name, *handle.label)]
        self._batches = handle.epoch(Start())
        self._loaded: Batch | None = next(self._batches, None)
        self._waiting = self._loaded is not None  # whether the loaded batch has not been returned yet

    def __del__(self) -> None:
        handle = vars(self).get("handle")
        if handle is not None:
            handle.close()

    def debug_skip_load(self) -> None:
        """Return the first batch again and again from now on, to measure how fast everything else is."""
        self._debug_skip_load = True

    def reset(self) -> None:
        """Start the next epoch; one that was not read to its end begins with the first instance again."""
        self._batches.close()
        self._loaded, self._waiting = None, False
        begin, self._next_start = self._next_start, Start(self._next_start.round + 1)
        self._batches = self.handle.epoch(begin)

    def iter_next(self) -> bool:
        if self._waiting:
            self._waiting = False
        else:
            self._loaded = next(self._batches, None)
        if self._loaded is not None:
            self._next_start = self._loaded.next_start
        return self._loaded is not None

    def next(self) -> DataBatch:
        if self._debug_skip_load and self._first_batch is not None:
            return self._first_batch
        if not self.iter_next():
            raise StopIteration
        batch = DataBatch(data=[self.getdata()], label=[self.getlabel()], pad=self.getpad(), index=self.getindex())
        if self._debug_skip_load:
            self._first_batch = batch
        return batch

    def _current(self) -> Batch:
        if self._loaded is None:
            raise MXNetError("There is no batch: the epoch is over, or has not begun. Call reset(), or next().")
        return self._loaded

    def getdata(self) -> Any:
        data = self._current().data
        return array(data, dtype=data.dtype)

    def getlabel(self) -> Any:
        label = self._current().label
        return array(label, dtype=label.dtype)

    def getindex(self) -> numpy.ndarray:
        return self._current().instances

    def getpad(self) -> int:
        return self._current().pad


# The ends of the docstrings of iterators over files.
ITERATOR = """
    Returns
    -------
    MXDataIter

    Raises
    ------
    ArgumentError
        For unknown or missing arguments, values of another kind, or a batch size larger than the data.
    FileMissingError, FileAccessError
        If a file does not exist, or cannot be read.
    """

# The default of arguments without one.
REQUIRED = object()
Table = Mapping[str, tuple[str, Any]]


def _boolean(value: Any) -> bool:
    if not isinstance(value, str):
        return bool(value)
    return ("false", "0", "true", "1").index(value.strip().lower()) >= 2


def _integer(value: Any) -> int:
    number = int(value.strip(), 0) if isinstance(value, str) else int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError
    return number


def _count(value: Any) -> int:
    number = _integer(value)
    if number < 0:
        raise ValueError
    return number


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None or value == "None" else convert(value)


def _text(value: Any) -> str:
    return "" if value is None else os.fspath(value)


def _tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = ast.literal_eval(value)
    return tuple(value) if isinstance(value, (tuple, list)) or hasattr(value, "__len__") else (value,)


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(_integer(length) for length in _tuple(value))
    if any(length <= 0 for length in shape):
        raise ValueError
    return shape


def _floats(value: Any) -> tuple[float, ...]:
    return tuple(float(number) for number in _tuple(value))


_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (_boolean, "True or False"),
    "int": (_integer, "an integer"),
    "count": (_count, "an integer that is not negative"),
    "int?": (_optional(_integer), "an integer or None"),
    "float": (float, "a number"),
    "float?": (_optional(float), "a number or None"),
    "str": (_text, "a string"),
    "shape": (_shape, "a tuple of positive integers"),
    "floats": (_floats, "a tuple of numbers"),
    "dtype": (_optional(lambda value: numpy.dtype(value).name), "a dtype or None"),
    "any": (lambda value: value, "anything"),
}


def arguments(kind: str, **defaults: Any) -> dict[str, tuple[str, Any]]:
    """Return rows of a table: arguments of one kind (a key of `_KINDS`), with their defaults."""
    return {name: (kind, default) for name, default in defaults.items()}


# Functions and names of arguments about which there was a warning.
_WARNED: set[tuple[str, str]] = set()


def parsed(function: str, table: Table, positional: tuple[Any, ...], named: Mapping[str, Any]) -> SimpleNamespace:
    """Return the arguments of a call, with the defaults of the table; warn once of each unknown name."""
    if positional:
        raise ArgumentError(
            f"{function}: got {describe(positional[0])} without a name; its arguments are given by name: "
            f"{function}({next(iter(table))}=...)."
        )
    for name in named:
        if name not in table and (function, name) not in _WARNED:
            _WARNED.add((function, name))
            warn_at_program(
                f"{function} ignores {name}=...: it has no such argument, as in MXNet.{nearest(name, table)} "
                "Leave it out."
            )
    values = {name: default for name, (_, default) in table.items()}
    for name in [name for name in table if name in named]:
        convert, expected = _KINDS[table[name][0]]
        try:
            values[name] = convert(named[name])
        except (TypeError, ValueError, SyntaxError) as error:
            raise ArgumentValueError(f"{function}: {name} is {describe(named[name])}; expected {expected}.") from error
    for name, value in values.items():
        if value is REQUIRED:
            raise ArgumentError(f"{function}: the argument {name!r} is required.")
    return SimpleNamespace(**values)
