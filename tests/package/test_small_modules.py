"""The small modules that scripts import at the top: what golden cases cannot show, and what they say of bad input."""

from __future__ import annotations

import array
import copy
import ctypes
import logging
import os
import pickle
import re
import threading

import numpy as np
import pytest

import minpy as mx
from minpy import base, engine, error, libinfo, log, nd, registry, rtc, runtime, util
from minpy.core.errors import ArgumentError, MissingPartError

# -- bad input -----------------------------------------------------------------------------------------------------


class Shape:
    def __init__(self, size=1):
        self.size = size


class Square(Shape):
    pass


register = registry.get_register_func(Shape, "shape")
create = registry.get_create_func(Shape, "shape")
register(Square)

WRONG = {
    "check_call": (
        lambda: base.check_call(-1),
        r"check_call: a C function returned -1; there is no C library of MXNet here",
    ),
    "_LIB": (
        lambda: base._LIB.MXGetVersion(None),
        r"mx\.base\._LIB\.MXGetVersion is of MXNet's C library, which there is none of here: operators are NumPy",
    ),
    "register_error": (
        lambda: error.register(int),
        r"register_error: expected a class of exceptions, got type <class 'int'>",
    ),
    "register": (
        lambda: register(int),
        r"register: expected a class derived from Shape, to be a shape; got type <class 'int'>",
    ),
    "create unknown": (
        lambda: create("sqare"),
        (
            r"create: there is no shape 'sqare'\. Did you mean 'square'\? There are 'square'\. Others have to be "
            r"registered first, with shape\.register\."
        ),
    ),
    "create nothing": (lambda: create(), r"create: which shape\? Give a name: 'square'\."),
    "create number": (lambda: create(3), r"create: expected the name of a shape, or a Shape; got int 3\."),
    "create instance": (
        lambda: create(Square(), 2, size=3),
        r"create: Square is made already, and cannot take further arguments \(2, size\); give its name instead,",
    ),
    "create dict": (lambda: create({"size": 3}), r"create: \{'size': 3\} must have an entry 'shape', and stand alone:"),
    "create JSON": (lambda: create("[bad"), r"create: '\[bad' is no JSON that names a shape: Expecting value"),
    "create list": (
        lambda: create('["square"]'),
        r"must be a list of the shape's name and a dict of its arguments, and stand",
    ),
    "getenv": (lambda: util.getenv(3), r"getenv: the name must be a string, got int 3\."),
    "setenv": (lambda: util.setenv("X", 3), r"setenv: the value must be a string, got int 3\."),
    "get_gpu_memory": (
        lambda: util.get_gpu_memory(1),
        r"get_gpu_memory: there is no gpu\(1\): this build computes on the CPU",
    ),
    "gpu_memory_info": (
        lambda: mx.context.gpu_memory_info(1),
        r"gpu_memory_info: there is no gpu\(1\): .* minpy\.num_gpus\(\) is 0\. Ask `if minpy\.num_gpus\(\)` first\.",
    ),
    "compute_capability": (
        lambda: util.get_cuda_compute_capability(mx.cpu()),
        r"get_cuda_compute_capability: expected the context of a GPU, such as minpy\.gpu\(0\); got Context cpu\(0\)\.",
    ),
    "feature": (
        lambda: runtime.Features().is_enabled("cudda"),
        r"is_enabled: there is no feature 'CUDDA'\. Did you mean 'CUDA'.* There are CUDA, CUDNN, ",
    ),
    "bulk": (lambda: engine.set_bulk_size("3"), r"set_bulk_size: expected an integer, got str '3'\."),
    "seed": (lambda: mx.random.seed("3"), r"random\.seed: the seed is str '3'; expected an integer\."),
    "seed of": (
        lambda: mx.random.seed(3, ctx="cpu"),
        r"random\.seed: ctx is str 'cpu'; expected a context such as minpy\.cpu",
    ),
    "library": (
        libinfo.find_lib_path,
        r"there is no shared library \(libmxnet\): minpy is Python and NumPy, in .*minpy\.",
    ),
    "configuration": (libinfo.find_conf_path, r"there is no configuration \(tvmop\.conf\): "),
    "CudaModule": (
        lambda: rtc.CudaModule("x"),
        r"mx\.rtc\.CudaModule: CUDA kernels need a GPU, and this build computes on the",
    ),
    "CudaKernel": (lambda: rtc.CudaKernel(0, "x", [], []), r"mx\.rtc\.CudaKernel: CUDA kernels need a GPU"),
    "old backward": (
        lambda: mx.contrib.autograd.backward(nd.ones(1)),
        r"contrib\.autograd\.backward: outputs must be a list or tuple of NDArrays, got float32 \(1,\)\. Write \[y\]",
    ),
    "old grad": (
        lambda: mx.contrib.autograd.grad(lambda x: x)(3),
        r"grad_and_loss: argument 0 is int 3, and is differentiated by; expected an NDArray\.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    function, text = WRONG[name]
    with pytest.raises(mx.MXNetError, match=text):
        function()


@pytest.mark.parametrize("module", ["base", "contrib", "torch", "registry"])
def test_unknown_names_are_attribute_errors(module):
    with pytest.raises(AttributeError, match=r"'nothing_like_this'"):
        _ = getattr(mx, module).nothing_like_this


def test_torch_says_how_arrays_get_to_pytorch():
    with pytest.raises(AttributeError, match=r"minpy\.torch has no function 'abs'\. .* torch\.from_dlpack\(x\)"):
        _ = mx.th.abs


# -- mx.base -------------------------------------------------------------------------------------------------------


def test_errors_of_symbols_and_sparse_arrays_say_what_was_called():
    text = r"^reshape \(Reshape as an operator\) is not defined for symbols, only .*\. It was given int, str\.$"
    with pytest.raises(mx.MXNetError, match=text):
        raise base.NotImplementedForSymbol(nd.NDArray.reshape, "Reshape", 1, "a")
    with pytest.raises(mx.MXNetError, match=r"^reshape is not defined for sparse arrays, only for dense arrays\.$"):
        raise base.NotSupportedForSparseNDArray(nd.NDArray.reshape, None)


def test_errors_are_registered_by_name():
    class First(mx.MXNetError):
        pass

    class Second(mx.MXNetError):
        pass

    try:
        assert error.register(First) is First
        assert error.register("Another", Second) is Second
        assert error.register("Third")(First) is First
        assert [base.error_types[name] for name in ("First", "Another", "Third")] == [First, Second, First]
    finally:
        for name in ("First", "Another", "Third"):
            base.error_types.pop(name, None)
    assert issubclass(error.InternalError, mx.MXNetError)
    assert base.error_types["InternalError"] is error.InternalError


def test_arrays_of_c():
    numbers = array.array("f", [1, 2])
    shared = base.c_array_buf(base.mx_float, numbers)
    shared[1] = 7
    assert numbers.tolist() == [1, 7]
    assert list(base.c_str_array(["a", "ü"])) == [b"a", "ü".encode()]
    assert base.c_str("ü").value == "ü".encode()
    assert base.NDArrayHandle is ctypes.c_void_p
    pointer = base.mx_float_p(base.mx_float(3))
    assert pointer.contents.value == 3


def test_classes_of_base():
    class Meta(type):
        pass

    class Made(base.with_metaclass(Meta, list)):
        @base.classproperty
        def name_of_it(cls):
            return cls.__name__

    assert type(Made) is Meta
    assert Made.__mro__[1] is list
    assert (Made.name_of_it, Made().name_of_it) == ("Made", "Made")


def test_the_folder_of_what_is_downloaded(monkeypatch):
    monkeypatch.delenv("MXNET_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert base.data_dir() == base.data_dir_default() == "/home/someone/.mxnet"
    monkeypatch.setenv("MXNET_HOME", "/models")
    assert base.data_dir() == "/models"


# -- mx.registry ---------------------------------------------------------------------------------------------------


def test_a_name_that_is_taken_goes_to_the_new_class():
    class Base:
        pass

    class One(Base):
        pass

    class Other(Base):
        pass

    add = registry.get_register_func(Base, "thing")
    add(One)
    add(One)
    with pytest.warns(UserWarning, match=r"the thing 'one' is now .*\.Other; it was .*\.One\."):
        add(Other, "One")
    assert registry.get_registry(Base) == {"one": Other}


# -- mx.util -------------------------------------------------------------------------------------------------------


def test_the_environment_is_that_of_the_process(monkeypatch):
    import os

    monkeypatch.setenv("MXNET_SOMETHING", "1")
    assert util.getenv("MXNET_SOMETHING") == "1"
    util.setenv("MXNET_SOMETHING", "2")
    assert os.environ["MXNET_SOMETHING"] == "2"
    util.setenv("MXNET_SOMETHING", None)
    util.setenv("MXNET_SOMETHING", None)
    assert util.getenv("MXNET_SOMETHING") is None


def test_set_module():
    def function():
        pass

    assert util.set_module("some.where")(function) is function
    assert function.__module__ == "some.where"
    assert util.set_module(None)(function).__module__ == "some.where"
    assert util.get_cuda_compute_capability(mx.gpu()) is None


# -- mx.runtime, mx.libinfo, mx.rtc --------------------------------------------------------------------------------


def test_features():
    features = runtime.Features()
    assert features.is_enabled("int64_tensor_size")
    assert re.match(r"^\[✖ CUDA, ✖ CUDNN, .*✔ LAPACK, ", repr(features))
    assert list(features.values()) == runtime.feature_list()
    assert pickle.loads(pickle.dumps(features)) == features == copy.deepcopy(features)
    name, enabled = runtime.Feature("X", False)
    assert (name, enabled) == ("X", False)


def test_parts_that_are_not_there_are_import_errors():
    for function in (
        libinfo.find_lib_path,
        libinfo.find_conf_path,
        lambda: rtc.CudaModule(""),
    ):
        with pytest.raises(MissingPartError) as caught:
            function()
        assert isinstance(caught.value, ImportError)


def test_headers_are_there():
    assert os.path.isfile(os.path.join(libinfo.find_include_path(), "mxnet", "lib_api.h"))


# -- mx.log --------------------------------------------------------------------------------------------------------


def test_loggers_write_where_and_what(tmp_path, capsys):
    path = tmp_path / "log.txt"
    logger = log.get_logger("minpy.tests.file", str(path), "w", log.DEBUG)
    try:
        logger.debug("of %d", 3)
        try:
            raise KeyError("gone")
        except KeyError:
            logger.exception("it failed")
        lines = path.read_text().splitlines()
        pattern = r"D\d{4} \d\d:\d\d:\d\d \d+ .*test_small_modules\.py:test_loggers_write_where_and_what:\d+\] of 3"
        assert re.fullmatch(pattern, lines[0]), lines[0]
        assert lines[1].endswith("it failed")
        assert lines[-1] == "KeyError: 'gone'"
        assert log.get_logger("minpy.tests.file", level=log.ERROR) is logger
        assert (len(logger.handlers), logger.level) == (1, log.DEBUG)
    finally:
        logger.handlers.pop().close()
    assert log.get_logger() is logging.getLogger()
    other = log.get_logger("minpy.tests.stream")
    other.warning("here")
    other.info("not here")
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown.startswith("W")
    with pytest.warns(DeprecationWarning, match=r"mx\.log\.getLogger is the old name of mx\.log\.get_logger\."):
        assert log.getLogger("minpy.tests.stream") is other


def test_lines_on_a_terminal_are_coloured(monkeypatch, capsys):
    import sys

    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    log.get_logger("minpy.tests.colour").error("red")
    assert re.match(r"\x1b\[31mE.*\]\x1b\[0m red\n", capsys.readouterr().err)


# -- mx.engine, mx.contrib.autograd --------------------------------------------------------------------------------


def test_bulks_are_restored_after_errors():
    before = engine.set_bulk_size(5)
    try:
        with pytest.raises(ZeroDivisionError), engine.bulk(9):
            _ = 1 / (engine.set_bulk_size(9) - 9)
        assert engine.set_bulk_size(5) == 5
    finally:
        engine.set_bulk_size(before)


def test_sections_are_of_their_thread():
    old = mx.contrib.autograd
    seen = []
    with old.train_section():
        thread = threading.Thread(target=lambda: seen.append(mx.autograd.is_recording()))
        thread.start()
        thread.join()
    assert seen == [False]
    assert not mx.autograd.is_recording()


def test_contrib_names_the_namespaces():
    assert mx.contrib.nd is mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.sym is mx.contrib.symbol is mx.sym.contrib


# -- DLPack --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_arrays_of_numpy_come_and_go_without_a_copy(dtype, shape):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    x = nd.from_dlpack(a)
    assert (type(x), x.shape, np.dtype(x.dtype)) == (nd.NDArray, shape, np.dtype(dtype))
    np.testing.assert_array_equal(x.asnumpy(), a)
    again = nd.from_dlpack(nd.to_dlpack_for_write(x))
    if a.size:
        again[...] = 1
        assert a.all()
        assert x.asnumpy().all()


def test_views_and_memory_that_outlives_its_first_owner():
    column = nd.from_dlpack(np.arange(6).reshape(2, 3)[:, 1])
    assert column.asnumpy().tolist() == [1, 4]
    kept = nd.from_dlpack(nd.array([1, 2, 3]).to_dlpack_for_read())
    assert (kept * 2).asnumpy().tolist() == [2, 4, 6]


def test_capsules_of_minpy_numpy():
    x = nd.from_dlpack(mx.np.ones(2))
    assert type(x) is nd.NDArray
    assert type(mx.np.ones(2).to_dlpack_for_read()).__name__ == "PyCapsule"


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="older capsules do not say that they are read-only"
)
def test_memory_that_may_not_be_written_to_is_not():
    a = np.ones(2)
    a.setflags(write=False)
    x = nd.from_dlpack(a)
    with pytest.raises(mx.MXNetError):
        x[:] = 3
    assert a.tolist() == [1, 1]


class Elsewhere:
    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **keywords):
        raise BufferError("not on the CPU.")


class Older:
    """What knows the protocol's first form only."""

    def __init__(self, values):
        self._values = values

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, stream=None):
        return self._values.__dlpack__()


def test_what_cannot_be_taken_says_why():
    with pytest.raises(
        mx.MXNetError, match=r"from_dlpack: expected a DLPack capsule, or an array .*; got int 3\. Use nd\.array"
    ):
        nd.from_dlpack(3)
    with pytest.raises(mx.MXNetError, match=r"from_dlpack: NumPy cannot hold .*: not on the CPU\. Move it to the CPU"):
        nd.from_dlpack(Elsewhere())
    with pytest.raises(mx.MXNetError, match=r"to_dlpack_for_read: expected an NDArray, got float64 \(2,\)"):
        nd.to_dlpack_for_read(np.ones(2))
    capsule = nd.to_dlpack_for_read(nd.ones(2))
    nd.from_dlpack(capsule)
    with pytest.raises(mx.MXNetError, match=r"from_dlpack: the capsule has been taken already: .* Ask for another one"):
        nd.from_dlpack(capsule)


def test_the_first_form_of_the_protocol():
    a = np.zeros(2)
    nd.from_dlpack(Older(a))[0] = 4
    assert a.tolist() == [4, 0]


def test_pytorch_shares_memory_both_ways():
    torch = pytest.importorskip("torch")
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    tensor = torch.from_dlpack(x)
    tensor[0, 0] = 9
    assert x[0, 0].asscalar() == 9
    again = nd.from_dlpack(tensor.T)
    again[1, 1] = 7
    assert x[1, 1].asscalar() == tensor[1, 1].item() == 7
    assert torch.from_dlpack(nd.to_dlpack_for_read(x)).shape == (2, 3)
    with pytest.raises(
        mx.MXNetError, match=r"from_dlpack: NumPy cannot hold torch\.bfloat16 \(2,\): .* to a dtype that NumPy"
    ):
        nd.from_dlpack(torch.zeros(2, dtype=torch.bfloat16))
    with pytest.raises(mx.MXNetError, match=r"from_dlpack: NumPy cannot hold .*requires? gradient"):
        nd.from_dlpack(torch.zeros(2, requires_grad=True))


def test_histograms_ask_for_edges_or_a_number_and_ends() -> None:
    x = mx.nd.array([0, 1])
    with pytest.raises(ArgumentError, match="bin_cnt is given beside the data; give either the edges, bins="):
        mx.nd._internal._histogram(x, bin_cnt=2)
    with pytest.raises(ArgumentError, match="bins, bin_cnt, range is given beside the data"):
        mx.nd._internal._histogram(x, x, bin_cnt=2, range=(0, 1))
    with pytest.raises(ArgumentError, match=r"sym\.histogram: bins is int.* and range is None; give bins as a Symbol"):
        mx.sym.histogram(mx.sym.var("x"), bins=3)
    assert mx.nd.op.reset_arrays is mx.nd.reset_arrays
    assert mx.nd.contrib.uniform is mx.nd.random.uniform
    assert mx.nd.sparse.op is mx.nd.op


def test_booleans_have_gradients_of_zeros_and_ones() -> None:
    x = mx.nd.array([1, 0], dtype="bool")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.abs(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [True, False]


def test_a_recorded_call_with_too_many_outs_says_so() -> None:
    x = mx.nd.array([1.5, 2.0])
    x.attach_grad()
    with (
        mx.autograd.record(),
        pytest.raises(ArgumentError, match=r"out has 2 array\(s\), the call returns 1"),
    ):
        np.cumsum(x, out=(mx.nd.zeros(2), mx.nd.zeros(2)))
