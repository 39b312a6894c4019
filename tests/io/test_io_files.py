"""`CSVIter`, `LibSVMIter` and `MNISTIter`: bad input, whatever bytes a file has, and what the face of all answers."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.core.errors import ArgumentError, FileFormatError, FileMissingError, MXNetError

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def csv(folder, content="1,2\n3,4\n5,6\n", **options):
    options = {"data_csv": write(folder, "data.csv", content), "data_shape": (2,), "batch_size": 2, **options}
    return mx.io.CSVIter(**options)


def svm(folder, content="1 0:1 1:2\n2 1:3\n3\n", **options):
    options = {"data_libsvm": write(folder, "data.t", content), "data_shape": (2,), "batch_size": 2, **options}
    return mx.io.LibSVMIter(**options)


def idx(array, kind=8, dimensions=None):
    dimensions = array.ndim if dimensions is None else dimensions
    return struct.pack(f">4B{array.ndim}I", 0, 0, kind, dimensions, *array.shape) + array.astype("uint8").tobytes()


IMAGES, DIGITS = idx(np.arange(30).reshape(5, 2, 3)), idx(np.arange(5))


def mnist(folder, images=IMAGES, digits=DIGITS, **options):
    options = {"batch_size": 2, "shuffle": False, **options}
    return mx.io.MNISTIter(image=write(folder, "images", images), label=write(folder, "digits", digits), **options)


BAD = {
    "csv: no name": (lambda f: mx.io.CSVIter("data.csv"), "CSVIter: got str 'data.csv' without a name", ArgumentError),
    "csv: required": (
        lambda f: mx.io.CSVIter(data_csv="x", data_shape=(2,)),
        "the argument 'batch_size' is required",
        ArgumentError,
    ),
    "csv: kind": (
        lambda f: csv(f, batch_size="two"),
        "batch_size is str 'two'; expected an integer that is not negative",
        ArgumentError,
    ),
    "csv: negative": (lambda f: csv(f, batch_size=-1), "batch_size is int -1; expected an integer", ArgumentError),
    "csv: none": (lambda f: csv(f, batch_size=0), "batch_size is 0; expected an integer above 0", ArgumentError),
    "csv: truth": (lambda f: csv(f, round_batch="maybe"), "round_batch is str 'maybe'; expected True", ArgumentError),
    "csv: shape": (
        lambda f: csv(f, data_shape=(0, 2)),
        "data_shape is tuple of 2: [int 0, int 2]; expected a tuple of positive integers",
        ArgumentError,
    ),
    "csv: dtype": (lambda f: csv(f, dtype="number"), "dtype is str 'number'; expected a dtype", ArgumentError),
    "csv: too large": (
        lambda f: csv(f, batch_size=4),
        "batch_size 4 is larger than the data, which has 3 instances. Take a smaller batch_size, or round_batch=False",
        ArgumentError,
    ),
    "csv: missing": (
        lambda f: mx.io.CSVIter(data_csv=str(f / "data.csx"), data_shape=(2,), batch_size=1),
        "CSVIter: cannot read",
        FileMissingError,
    ),
    "csv: empty": (lambda f: csv(f, "\n\n"), "data.csv' has no lines", FileFormatError),
    "csv: numbers": (
        lambda f: csv(f, "1,2\n3,4,5\n"),
        "data.csv', line 2 has 3 numbers; data_shape (2,) takes 2",
        FileFormatError,
    ),
    "csv: words": (lambda f: csv(f, "a,b\n1,2\n"), "data.csv', line 1: 'a,b': could not convert", FileFormatError),
    "csv: fractions": (lambda f: csv(f, "1,2.5\n", dtype="int32"), "line 1: '1,2.5': invalid literal", FileFormatError),
    "csv: labels": (
        lambda f: csv(f, label_csv=write(f, "labels.csv", "1\n2\n")),
        "has 3 instances, and",
        FileFormatError,
    ),
    "svm: index": (
        lambda f: svm(f, "1 0:1\n2 5:1\n"),
        "data.t', line 2: there is an index 5; indices begin with 0, and the shape has 2 columns",
        FileFormatError,
    ),
    "svm: negative": (lambda f: svm(f, "1 -1:1\n"), "there is an index -1", FileFormatError),
    "svm: words": (
        lambda f: svm(f, "1 a:b\n"),
        "line 1: '1 a:b'; expected a label, and index:value pairs",
        FileFormatError,
    ),
    "svm: labels": (
        lambda f: svm(f, "1,2 0:1\n1 0:1\n", label_shape=(2,)),
        "instance 1 has 1 labels; label_shape is (2,)",
        FileFormatError,
    ),
    "svm: fewer labels": (
        lambda f: svm(f, label_libsvm=write(f, "labels.t", "1 0:1\n")),
        "has 3 instances, and",
        FileFormatError,
    ),
    "svm: shape": (lambda f: svm(f, data_shape=(2, 1)), "data_shape is (2, 1); expected one number", ArgumentError),
    "svm: not rounded": (lambda f: svm(f, round_batch=False), "round_batch is False; only True", ArgumentError),
    "svm: part": (
        lambda f: svm(f, num_parts=2, part_index=2),
        "part_index 2 of num_parts 2; expected a part from 0 to num_parts - 1",
        ArgumentError,
    ),
    "mnist: missing": (lambda f: mx.io.MNISTIter(image="nothing"), "cannot read 'nothing'", FileMissingError),
    "mnist: text": (lambda f: mnist(f, b"digits"), "begins with b'digi'; an idx file begins", FileFormatError),
    "mnist: empty": (lambda f: mnist(f, b""), "begins with b''", FileFormatError),
    "mnist: type": (
        lambda f: mnist(f, idx(np.zeros((5, 2, 3)), 13)),
        "elements of type 13 in 3 dimensions; expected type 8 (unsigned bytes) in 3",
        FileFormatError,
    ),
    "mnist: swapped": (lambda f: mnist(f, DIGITS, IMAGES), "in 1 dimensions; expected type 8", FileFormatError),
    "mnist: header": (lambda f: mnist(f, IMAGES[:10]), "ends after 10 bytes, within its header of 16", FileFormatError),
    "mnist: cut": (
        lambda f: mnist(f, IMAGES[:-1]),
        "has the shape (5, 2, 3), which takes 30 bytes; behind its header are 29. It was cut short",
        FileFormatError,
    ),
    "mnist: huge": (
        lambda f: mnist(f, struct.pack(">4B3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1)),
        "behind its header are 0",
        FileFormatError,
    ),
    "mnist: packed": (
        lambda f: mnist(f, gzip.compress(IMAGES)[:-9]),
        "is packed by gzip, and damaged",
        FileFormatError,
    ),
    "mnist: counts": (
        lambda f: mnist(f, digits=idx(np.arange(4))),
        "has 5 pictures, and",
        FileFormatError,
    ),
    "mnist: too large": (lambda f: mnist(f, batch_size=6), "batch_size is 6; expected 1 to 5", ArgumentError),
    "mnist: dtype": (lambda f: mnist(f, dtype="uint8"), "dtype is 'uint8'; only 'float32'", ArgumentError),
}


@pytest.mark.parametrize(("make", "text", "kind"), BAD.values(), ids=BAD)
def test_bad_files(tmp_path, make, text, kind):
    with pytest.raises(MXNetError) as caught:
        make(tmp_path)
    assert text in str(caught.value)
    assert isinstance(caught.value, kind)


@FUZZ
@given(st.binary(max_size=60) | st.text("0123456789.,-+e\n ", max_size=60).map(str.encode))
@example(b"1,2\n\xff,3\n")
@example(b"1e999,2\n")
def test_whatever_a_csv_file_has(tmp_path, content):
    message = ""
    try:
        batches = csv(tmp_path, content, batch_size=1)
    except FileFormatError as error:
        message = str(error)
    if message:
        assert "data.csv" in message
    else:
        assert all(batch.data[0].shape == (1, 2) for batch in batches)


@FUZZ
@given(st.binary(max_size=60) | st.text("0123456789.:-e\n #qid,", max_size=60).map(str.encode))
def test_whatever_a_libsvm_file_has(tmp_path, content):
    message = ""
    try:
        batches = svm(tmp_path, content, batch_size=1)
    except MXNetError as error:
        message = str(error)
    if message:
        assert "data" in message
    else:
        assert all(batch.data[0].shape == (1, 2) for batch in batches)


@FUZZ
@given(
    st.integers(0, len(IMAGES)),
    st.lists(st.tuples(st.integers(0, len(IMAGES) - 1), st.integers(0, 255)), max_size=4),
    st.booleans(),
)
def test_whatever_an_idx_file_has(tmp_path, length, changes, packed):
    content = bytearray(IMAGES)
    for place, value in changes:
        content[place] = value
    cut = bytes(content[:length])
    message = ""
    try:
        batch = mnist(tmp_path, gzip.compress(cut) if packed else cut).next()
    except MXNetError as error:
        message = str(error)
    if message:
        assert "images" in message or "batch_size" in message
    else:
        assert batch.data[0].ndim == 4


def test_packed_digits_are_unpacked(tmp_path):
    found = [[b.data[0].asnumpy(), b.label[0].asnumpy()] for b in mnist(tmp_path)]
    packed = mnist(tmp_path, gzip.compress(IMAGES), gzip.compress(DIGITS))
    for (data, label), batch in zip(found, packed, strict=True):
        assert (batch.data[0].asnumpy() == data).all()
        assert (batch.label[0].asnumpy() == label).all()


# Instances by part, of a file whose lines have 16, 5, 23 and 9 bytes: those that begin in it, as in MXNet.
@pytest.mark.parametrize(("part", "labels"), [(0, [1, -2, -3]), (1, [4])])
def test_parts_of_a_libsvm_file(tmp_path, part, labels):
    content = "1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n"
    batches = svm(tmp_path, content, data_shape=(3,), batch_size=1, num_parts=2, part_index=part)
    assert [batch.label[0].asscalar() for batch in batches] == labels


def test_comments_query_ids_and_indices_without_values(tmp_path):
    batch = svm(tmp_path, "1 qid:3 0:2 # of 2:5\n# nothing\n2 1\n").next()
    assert batch.data[0].asnumpy().tolist() == [[2, 0], [0, 1]]


class TestTheFace:
    def test_the_first_batch_is_there_at_once(self, tmp_path):
        batches = csv(tmp_path)
        assert batches.getdata().asnumpy().tolist() == [[1, 2], [3, 4]]
        assert batches.next().index.tolist() == [0, 1]
        assert batches.next().index.tolist() == [2, 0]

    def test_every_batch_is_seen_by_hand(self, tmp_path):
        batches, seen = csv(tmp_path, round_batch=False), []
        for _ in range(2):
            while batches.iter_next():
                seen.append((batches.getindex().tolist(), batches.getpad()))
            batches.reset()
        assert seen == [([0, 1], 0), ([2, 1], 1)] * 2

    def test_a_reset_amid_an_epoch_starts_at_the_first_instance(self, tmp_path):
        batches = csv(tmp_path)
        for taken in (0, 1):
            for _ in range(taken):
                batches.next()
            batches.reset()
            assert [batch.index.tolist() for batch in batches] == [[0, 1], [2, 0]]
            batches.reset()
            assert [batch.index.tolist() for batch in batches] == [[1, 2]]
            batches.reset()

    def test_there_is_no_batch_after_the_last(self, tmp_path):
        batches = csv(tmp_path)
        list(batches)
        for ask in (batches.getdata, batches.getlabel, batches.getpad, batches.getindex):
            with pytest.raises(MXNetError, match="There is no batch: the epoch is over"):
                ask()
        with pytest.raises(StopIteration):
            batches.next()

    def test_one_batch_again_and_again(self, tmp_path):
        batches = csv(tmp_path)
        batches.debug_skip_load()
        first = batches.next()
        assert all(batches.next() is first for _ in range(5))

    def test_batches_do_not_share_memory(self, tmp_path):
        batches = csv(tmp_path)
        batch = batches.next()
        batch.data[0][:] = 0
        batches.next()
        batches.reset()
        batches.next()
        batches.reset()
        assert batches.next().data[0].asnumpy().tolist() == [[1, 2], [3, 4]]
