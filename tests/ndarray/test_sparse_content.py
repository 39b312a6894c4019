"""Sparse arrays in files that MXNet wrote: read as dense ones; damaged ones are refused."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.core.errors import FileFormatError
from minpy.ndarray.array_files import heads

ROWS = np.array([[1, 2, 3], [4, 5, 6]], "float32")


def shape_of(*lengths: int) -> bytes:
    return struct.pack(f"<i{len(lengths)}q", len(lengths), *lengths)


def file_of(kind: int, shape: tuple[int, ...], values: np.ndarray, *indices: np.ndarray, dtype: int = 0) -> bytes:
    """Returns the bytes that MXNet 1.9.1 writes for a sparse array named 'a'."""
    array = struct.pack("<Ii", 0xF993FAC9, kind) + shape_of(*values.shape) + shape_of(*shape)
    array += struct.pack("<iii", 1, 0, dtype)
    for one in indices:
        array += struct.pack("<i", {"int64": 6, "float32": 0, "int32": 4}[one.dtype.name]) + shape_of(*one.shape)
    array += values.tobytes() + b"".join(one.tobytes() for one in indices)
    return struct.pack("<QQQ", 0x112, 0, 1) + array + struct.pack("<QQ", 1, 1) + b"a"


def row_sparse(shape: tuple[int, ...] = (6, 3), rows: tuple[int, ...] = (1, 4)) -> bytes:
    return file_of(1, shape, ROWS, np.array(rows, "int64"))


def csr(begins: tuple[int, ...] = (0, 3, 3, 6), columns: tuple[int, ...] = (0, 1, 2, 0, 1, 2)) -> bytes:
    return file_of(2, (3, 3), ROWS.reshape(-1), np.array(begins, "int64"), np.array(columns, "int64"))


# What `nd.save(file, {'a': nd.array(...).tostype('row_sparse')})` of MXNet 1.9.1 writes.
OF_MXNET = bytes.fromhex(
    "120100000000000000000000000000000100000000000000c9fa93f901000000020000000200000000000000030000000000000002000000"
    "060000000000000003000000000000000100000000000000000000000600000001000000020000000000000000"
    "00803f0000004000004040000080400000a0400000c040010000000000000004000000000000000100000000000000010000000000000061"
)


def loaded(content: bytes) -> np.ndarray:
    with pytest.warns(UserWarning, match="1 of 1 arrays are sparse in the file; they are dense here"):
        found = nd.load_frombuffer(content)
    assert isinstance(found, dict)
    array: np.ndarray = found["a"].asnumpy()
    return array


def test_row_sparse_and_csr_become_dense() -> None:
    expected = np.zeros((6, 3), "float32")
    expected[[1, 4]] = ROWS
    assert row_sparse() == OF_MXNET
    np.testing.assert_array_equal(loaded(row_sparse()), expected)
    np.testing.assert_array_equal(loaded(csr()), [[1, 2, 3], [0, 0, 0], [4, 5, 6]])
    none = np.zeros((0,), "int64")
    np.testing.assert_array_equal(loaded(file_of(1, (2, 3), ROWS[:0], none)), np.zeros((2, 3)))
    np.testing.assert_array_equal(loaded(file_of(2, (2, 3), ROWS[0, :0], none, none)), np.zeros((2, 3)))


def test_heads_pass_over_sparse_arrays() -> None:
    for content in (row_sparse(), csr()):
        found = heads(io.BytesIO(content), len(content), "a file")
        assert isinstance(found, dict)
        assert found["a"].stored == ROWS.nbytes


def test_a_checkpoint_with_sparse_weights_is_loaded_and_predicts(tmp_path: Path) -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, no_bias=True, name="fc")
    net.save(str(tmp_path / "net-symbol.json"))
    (tmp_path / "net-0001.params").write_bytes(
        row_sparse().replace(struct.pack("<Q", 1) + b"a", struct.pack("<Q", 13) + b"arg:fc_weight")
    )
    with pytest.warns(UserWarning, match="sparse"):
        module = mx.mod.Module.load(str(tmp_path / "net"), 1, label_names=None)
    module.bind([("data", (1, 3))], for_training=False)
    assert module.predict(nd.array([[1, 1, 1]])).asnumpy().tolist() == [[0, 6, 0, 0, 15, 0]]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (row_sparse(rows=(1, 6)), "an index is 6, expected 0 to 5"),
        (row_sparse(rows=(-1, 4)), "an index is -1, expected 0 to 5"),
        (csr(begins=(0, 4, 3, 6)), "its rows do not begin one after another, from 0 to 6"),
        (csr(begins=(0, 3, 3, 5)), "its rows do not begin one after another, from 0 to 6"),
        (csr(columns=(0, 1, 2, 0, 1, 3)), "an index is 3, expected 0 to 2"),
        (csr(begins=(0, 6)), r"its indices have shapes \(2,\), \(6,\), which do not fit"),
        (file_of(1, (6, 3), ROWS, np.array([1, 4], "float32")), "its indices are float32, and no integers"),
        (row_sparse(shape=(1 << 40, 3)), r"it would take 13,194,139,533,312 bytes as a dense array"),
        (row_sparse()[:-40], "the indices of array 0 of 1|the number of names|the values of array 0 of 1"),
    ],
)
def test_what_is_wrong_with_a_sparse_array_is_said(content: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem) as caught:
        nd.load_frombuffer(content)
    assert "byte " in str(caught.value)


@pytest.mark.parametrize("content", [row_sparse(), csr()], ids=["row_sparse", "csr"])
@pytest.mark.filterwarnings("ignore:nd.load_frombuffer.*sparse:UserWarning")
def test_files_with_a_flipped_byte_are_errors_or_arrays(content: bytes) -> None:
    changed = bytearray(content)
    for position in range(len(changed)):
        for flip in (0x01, 0x04, 0x80, 0xFF):
            changed[position] ^= flip
            try:
                found = nd.load_frombuffer(changed)
            except FileFormatError as error:
                assert "byte " in str(error)  # noqa: PT017 - most are errors, and some are arrays
            else:
                (array,) = found.values() if isinstance(found, dict) else found
                assert array._data.nbytes <= (1 << 26) + 1000 * len(content)
            changed[position] ^= flip
