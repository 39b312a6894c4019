"""Names that MXNet's tests and libraries import: they are there, and work. `golden/test_utils.json` lists the first."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy.core.errors import ContextError, FileMissingError
from minpy.test_utils import _ELSEWHERE

ANSWERS = json.loads((GOLDEN / "test_utils.json").read_text())
NOT_INSTALLED = {"requests", "ss"}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_import_star_of_test_utils_brings(name: str) -> None:
    space: dict[str, Any] = {}
    exec("from minpy.test_utils import *", space)
    if name in _ELSEWHERE:
        assert name not in space
        with pytest.raises(AttributeError, match=f"has no {name}: "):
            getattr(mx.test_utils, name)
    elif name in NOT_INSTALLED and name not in space:
        pytest.importorskip({"ss": "scipy"}.get(name, name))
    else:
        value = space[name]
        assert type(value).__name__ == ANSWERS[name]["type"] or name in ("Context", "Features")
        if ANSWERS[name]["type"] == "module":
            assert value.__name__ == ANSWERS[name]["name"].replace("mxnet", "minpy")


def test_what_is_brought_is_no_part_of_what_it_lists() -> None:
    assert {"np", "mx", "os", "use_np"} <= {*mx.test_utils.__all__}
    assert not {"np", "mx", "os", "use_np"} & {*dir(mx.test_utils)}


def test_names_that_libraries_import() -> None:
    from minpy.ndarray import ndarray
    from minpy.numpy_dispatch_protocol import with_array_function_protocol, with_array_ufunc_protocol
    from minpy.numpy_op_signature import _get_builtin_op
    from minpy.util import _NumpyArrayScope, _NumpyShapeScope

    assert ndarray._STORAGE_TYPE_STR_TO_ID == {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
    assert ndarray._STORAGE_TYPE_ID_TO_STR[1] == "row_sparse"
    assert ndarray._GRAD_REQ_MAP == {"null": 0, "write": 1, "add": 3}
    assert ndarray.py_slice is slice
    assert (ndarray.array, ndarray.zeros, ndarray.waitall) == (mx.nd.array, mx.nd.zeros, mx.nd.waitall)
    with pytest.raises(AttributeError, match=r"minpy\.ndarray\.ndarray has no name 'nosuch'\."):
        _ = ndarray.nosuch
    with _NumpyArrayScope(True), _NumpyShapeScope(True):
        assert mx.util.is_np_array()
        assert mx.util.is_np_shape()
    assert not mx.util.is_np_array()
    assert with_array_function_protocol(test_names_that_libraries_import) is test_names_that_libraries_import
    assert with_array_ufunc_protocol(test_names_that_libraries_import) is test_names_that_libraries_import
    assert (_get_builtin_op("_np_sum"), _get_builtin_op("_npx_relu")) == (mx.np.sum, mx.npx.relu)
    assert _get_builtin_op("_np_linalg_svd") is mx.np.linalg.svd
    assert _get_builtin_op("_npi_add") is None
    with pytest.raises(ValueError, match=r"Cannot find operator nosuch in module minpy\.numpy"):
        _get_builtin_op("_np_nosuch")


def test_the_functions_of_numpy_that_answer_with_our_arrays() -> None:
    from minpy import numpy_dispatch_protocol as protocol

    assert (len(protocol._NUMPY_ARRAY_FUNCTION_LIST), len(protocol._NUMPY_ARRAY_UFUNC_LIST)) == (105, 57)
    x = mx.np.array([0.5, 0.25])
    for name in protocol._NUMPY_ARRAY_UFUNC_LIST:
        ufunc = getattr(np, name)
        given = [x, x][: ufunc.nin] if name != "matmul" else [x, x]
        if name in ("lcm", "invert", "bitwise_not", "bitwise_and", "bitwise_xor", "bitwise_or"):
            given = [mx.np.array([1, 2], dtype="int32")] * ufunc.nin
        with np.errstate(invalid="ignore"):
            assert isinstance(ufunc(*given), mx.np.ndarray), name


def test_cuda_has_no_capability_here() -> None:
    with pytest.raises(ValueError, match="expected the context of a GPU"):
        mx.npx.get_cuda_compute_capability(mx.cpu())
    assert mx.test_utils.get_cuda_compute_capability is mx.util.get_cuda_compute_capability
    assert issubclass(ContextError, ValueError)


def test_a_dummy_iterator_gives_one_batch_again_and_again() -> None:
    real = mx.io.NDArrayIter(mx.nd.arange(12).reshape((6, 2)), mx.nd.zeros(6), batch_size=3)
    dummy = mx.test_utils.DummyIter(real)
    assert isinstance(dummy, mx.io.DataIter)
    assert (dummy.batch_size, dummy.provide_data, dummy.provide_label) == (3, real.provide_data, real.provide_label)
    batches = [batch for _, batch in zip(range(5), dummy, strict=False)]
    assert all(batch is dummy.the_batch for batch in batches)
    assert dummy.the_batch.data[0].asnumpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    dummy.reset()
    assert dummy.next() is dummy.the_batch


def test_mnist_from_local_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    for function in (mx.test_utils.get_mnist, mx.test_utils.get_mnist_ubyte):
        with pytest.raises(FileMissingError, match=r"no 'train-images-idx3-ubyte', also not with \.gz, in .*data, "):
            function()
    with pytest.raises(FileMissingError, match=r"there is no \S+mnist\.pkl\.gz\. It is not downloaded; put a copy"):
        mx.test_utils.get_mnist_pkl()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mnist.pkl.gz").write_bytes(b"")
    mx.test_utils.get_mnist_pkl()
    for name, count in (("train", 6), ("t10k", 4)):
        pictures = bytes(index * 7 % 256 for index in range(count * 784))
        (tmp_path / "data" / f"{name}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 2051, count, 28, 28) + pictures
        )
        (tmp_path / "data" / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 2049, count) + bytes(range(count))
        )
    found = mx.test_utils.get_mnist()
    assert {key: (value.shape, value.dtype.name, float(value.sum())) for key, value in found.items()} == {
        "train_data": ((6, 1, 28, 28), "float32", pytest.approx(2347.85888671875)),
        "train_label": ((6,), "int8", 15.0),
        "test_data": ((4, 1, 28, 28), "float32", pytest.approx(1564.2353515625)),
        "test_label": ((4,), "int8", 6.0),
    }
    mx.test_utils.get_mnist_ubyte()
    train, validation = mx.test_utils.get_mnist_iterator(2, (784,))
    assert (train.provide_data[0].shape, validation.provide_data[0].shape) == ((2, 784), (2, 784))
    train, _ = mx.test_utils.get_mnist_iterator(2, (1, 28, 28))
    assert train.provide_data[0].shape == (2, 1, 28, 28)
