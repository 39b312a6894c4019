"""Iterators over numbers in text files: CSV, and LibSVM's format."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import numpy

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, FileFormatError
from minpy.files import read_file
from minpy.io.mxdata_iter import ITERATOR, REQUIRED, Batch, MXDataIter, Schedule, Source, Start, arguments, parsed

__all__ = ["CSVIter", "LibSVMIter"]

_COMMON = {
    **arguments("count", batch_size=REQUIRED, prefetch_buffer=4),
    **arguments("bool", round_batch=True),
    **arguments("dtype", dtype=None),
    **arguments("str", data_name="data", label_name="softmax_label"),
    **arguments("any", ctx="cpu", name=None),
}


class _Instances(Source):
    """Arrays in memory, batch by batch."""

    def __init__(
        self, function: str, data: numpy.ndarray, label: numpy.ndarray, batch_size: int, round_batch: bool
    ) -> None:
        require_batch_size(function, batch_size, len(data), round_batch)
        self.batch_size = batch_size
        self._arrays = data, label
        self._schedule = Schedule(len(data), batch_size, round_batch)
        self.data = (batch_size, *data.shape[1:]), data.dtype.type
        self.label = (batch_size, *label.shape[1:]), label.dtype.type

    def epoch(self, begin: Start) -> Generator[Batch, None, None]:
        previous = numpy.zeros(self.batch_size, "uint64")
        for plan in self._schedule.epoch(begin):
            # A last batch is padded with instances of the batch before it.
            index = numpy.concatenate([plan.instances, previous[len(plan.instances) :]]).astype("uint64")
            data, label = (values[index.astype("int64")] for values in self._arrays)
            yield Batch(data, label, plan.pad, index, plan.next_start)
            previous = index


def require_batch_size(function: str, batch_size: int, count: int, round_batch: bool) -> None:
    """Raise an error unless there are instances enough for a batch."""
    if batch_size < 1:
        raise ArgumentValueError(f"{function}: batch_size is {batch_size}; expected an integer above 0.")
    if round_batch and batch_size > count:
        raise ArgumentValueError(
            f"{function}: batch_size {batch_size} is larger than the data, which has {count} instances. Take a smaller "
            "batch_size, or round_batch=False: then a batch may have a pad."
        )


def _lines(function: str, path: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield file name, line number, offset and text of each line of a file, or of all files in a folder."""
    before = line_count = 0
    for file_path in _files(path):
        content = read_file(function, file_path)
        offset = 0
        for number, line in enumerate(content.split(b"\n"), 1):
            text = line.decode("utf-8", "replace").strip()
            if text:
                line_count += 1
                yield file_path, number, before + offset, text
            offset += len(line) + 1
        before += len(content)
    if not line_count:
        raise FileFormatError(f"{function}: {path!r} has no lines, and so no instances.")


def _files(path: str) -> list[str]:
    """Return the path of a file, or those of all files in a folder."""
    if not os.path.isdir(path):
        return [path]
    return list(filter(os.path.isfile, (os.path.join(path, name) for name in sorted(os.listdir(path)))))


def _read_csv(function: str, path: str, shape: tuple[int, ...], parameter: str, dtype: Any) -> numpy.ndarray:
    size = int(numpy.prod(shape, dtype="int64"))
    rows = []
    for file, number, _, text in _lines(function, path):
        fields = text.split(",")
        if len(fields) != size:
            raise FileFormatError(
                f"{function}: {file!r}, line {number} has {len(fields)} numbers; {parameter} {shape} takes {size}."
            )
        try:
            rows.append(numpy.array(fields, "float64" if dtype.kind == "f" else dtype))
        except (ValueError, OverflowError) as error:
            raise FileFormatError(f"{function}: {file!r}, line {number}: {text[:60]!r}: {error}.") from error
    return numpy.stack(rows).astype(dtype).reshape(len(rows), *shape)


def _labels_of(
    function: str, data: numpy.ndarray, label: numpy.ndarray, data_path: str, label_path: str
) -> numpy.ndarray:
    """Return the labels of the instances, of which there may be too many."""
    if len(label) < len(data):
        raise FileFormatError(
            f"{function}: {data_path!r} has {len(data)} instances, and {label_path!r} has {len(label)} labels."
        )
    return label[: len(data)]


_CSV = {
    **arguments("str", data_csv=REQUIRED, label_csv="NULL"),
    **arguments("shape", data_shape=REQUIRED, label_shape=(1,)),
    **_COMMON,
}


@documented(iterator=ITERATOR)
def CSVIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Return an iterator over the lines of a CSV file: numbers, separated by commas.

    Parameters
    ----------
    data_csv : str
        The file, or a folder: then all files in it, by name.
    data_shape : tuple of int
        The shape of one instance, which is one line.
    label_csv : str
        The file, or folder, of the labels; by default they are 0.
    label_shape : tuple of int
        The shape of one label, by default (1,): then a batch's labels have the shape (batch_size,).
    batch_size : int
    round_batch : bool
        Whether the last batch is padded with the first instances, after which the next epoch begins; otherwise it is
        padded with instances of the batch before. `pad` is their number.
    dtype : dtype
        By default float32.
    data_name, label_name : str
    prefetch_buffer, ctx, name
        Without effect.

    {iterator}
    FileFormatError
        If a line is not numbers, or not as many as the shape has; or if there are fewer labels than instances.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'data.csv')
    ...     with open(path, 'w') as file:
    ...         _ = file.write('1,2,3\\n2,3,4\\n3,4,5\\n')
    ...     batches = io.CSVIter(data_csv=path, data_shape=(3,), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]], 0), ([[3.0, 4.0, 5.0], [1.0, 2.0, 3.0]], 1)]
    """
    options = parsed("CSVIter", _CSV, args, kwargs)
    dtype = numpy.dtype(options.dtype or "float32")
    data = _read_csv("CSVIter", options.data_csv, options.data_shape, "data_shape", dtype)
    shape = () if options.label_shape == (1,) else options.label_shape
    if options.label_csv in ("", "NULL"):
        label = numpy.zeros((len(data), *shape), dtype)
    else:
        label = _read_csv("CSVIter", options.label_csv, options.label_shape, "label_shape", dtype)
        label = _labels_of("CSVIter", data, label, options.data_csv, options.label_csv).reshape(len(data), *shape)
    source = _Instances("CSVIter", data, label, options.batch_size, options.round_batch)
    return MXDataIter(source, options.data_name, options.label_name)


def _read_libsvm(
    path: str, width: int, parts: tuple[int, int], skip_labels: bool
) -> tuple[numpy.ndarray, list[list[float]]]:
    """Return the instances of a part of a file, as a dense array, and the labels at the beginnings of their lines."""
    number_of_parts, part = parts
    rows, labels = [], []
    part_size = 0
    lines = list(_lines("LibSVMIter", path))
    if number_of_parts > 1:
        part_size = -(-sum(map(os.path.getsize, _files(path))) // number_of_parts)
        lines = [line for line in lines if part_size * part <= line[2] < part_size * (part + 1)]
    for file, number, _, text in lines:
        fields = text.partition("#")[0].split()
        row = numpy.zeros(width, "float32")
        if not fields:
            continue
        try:
            label = [] if skip_labels else [float(field) for field in fields[0].split(",")]
            for field in fields[1:]:
                position, _, value = field.partition(":")
                if position == "qid":
                    continue
                column = int(position)
                if not 0 <= column < width:
                    raise FileFormatError(
                        f"LibSVMIter: {file!r}, line {number}: there is an index {column}; indices begin with 0, and "
                        f"the shape has {width} columns."
                    )
                row[column] = float(value) if value else 1.0
        except FileFormatError:
            raise
        except ValueError as error:
            raise FileFormatError(
                f"LibSVMIter: {file!r}, line {number}: {text[:60]!r}; expected a label, and index:value pairs: {error}."
            ) from error
        rows.append(row)
        labels.append(label)
    return numpy.stack(rows) if rows else numpy.zeros((0, width), "float32"), labels


_LIBSVM = {
    **arguments("str", data_libsvm=REQUIRED, label_libsvm="NULL"),
    **arguments("shape", data_shape=REQUIRED, label_shape=(1,)),
    **arguments("int", num_parts=1, part_index=0),
    **_COMMON,
}


def require_part(function: str, num_parts: int, part_index: int) -> None:
    """Raise an error unless there is a part of that number."""
    if num_parts < 1 or not 0 <= part_index < num_parts:
        raise ArgumentValueError(
            f"{function}: part_index {part_index} of num_parts {num_parts}; expected a part from 0 to num_parts - 1."
        )


@documented(iterator=ITERATOR)
def LibSVMIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Return an iterator over a file in LibSVM's format: on each line a label, and `index:value` of each nonzero.

    Indices begin with 0. The batches are dense arrays, as there are no sparse ones.

    Parameters
    ----------
    data_libsvm : str
        The file, or a folder: then all files in it, by name.
    data_shape : tuple of one int
        How many columns an instance has.
    label_libsvm : str
        A file of the same format whose columns are the labels; by default they are those before the data.
    label_shape : tuple of one int
        How many columns a label has.
    num_parts, part_index : int
        Into how many parts of equal size the file is divided, and which one's lines are read.
    batch_size : int
    round_batch : bool
        True: the last batch is padded with the first instances, after which the next epoch begins.
    dtype : dtype
        By default float32.
    data_name, label_name : str
    prefetch_buffer, ctx, name
        Without effect.

    {iterator}
    FileFormatError
        If a line is of another format, has an index beyond the shape, or there are fewer labels than instances.

    Examples
    --------
    >>> import os, tempfile
    >>> from minpy import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, 'data.t')
    ...     with open(path, 'w') as file:
    ...         _ = file.write('1 0:0.5 2:1.5\\n-2\\n')
    ...     batch = io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2).next()
    >>> batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
    ([[0.5, 0.0, 1.5], [0.0, 0.0, 0.0]], [1.0, -2.0])
    """
    options = parsed("LibSVMIter", _LIBSVM, args, kwargs)
    require_part("LibSVMIter", options.num_parts, options.part_index)
    for name in ("data_shape", "label_shape"):
        if len(getattr(options, name)) != 1:
            raise ArgumentValueError(f"LibSVMIter: {name} is {getattr(options, name)}; expected one number.")
    if not options.round_batch:
        raise ArgumentValueError("LibSVMIter: round_batch is False; only True is possible, as in MXNet.")
    parts = options.num_parts, options.part_index
    separate = options.label_libsvm not in ("", "NULL")
    data, before = _read_libsvm(options.data_libsvm, options.data_shape[0], parts, separate)
    if separate:
        label, _ = _read_libsvm(options.label_libsvm, options.label_shape[0], (1, 0) if parts[0] == 1 else parts, True)
        label = _labels_of("LibSVMIter", data, label, options.data_libsvm, options.label_libsvm)
    else:
        width = options.label_shape[0]
        for number, labels in enumerate(before):
            if len(labels) != width:
                raise FileFormatError(
                    f"LibSVMIter: {options.data_libsvm!r}: instance {number} has {len(labels)} labels; label_shape is "
                    f"({width},)."
                )
        label = numpy.array(before, "float32").reshape((len(data),) if width == 1 else (len(data), width))
    dtype = numpy.dtype(options.dtype or "float32")
    source = _Instances("LibSVMIter", data.astype(dtype), label.astype(dtype), options.batch_size, True)
    return MXDataIter(source, options.data_name, options.label_name)
