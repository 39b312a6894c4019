"""What newcomers to native operators get wrong, and what they are told.

Operators that are written for float32 and say so nowhere, as those of old libraries, are played by NumPy, which reads
and writes the memory of other dtypes as C++ does that calls `data<float>()`.
"""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from native.building import build

import minpy as mx
from minpy import customop, nd, sym
from minpy.core.errors import CheckError, LibraryError
from minpy.library import native_operator, write_checks
from minpy.library.building import diagnostics, processes
from minpy.symbol.contents import contents
from minpy.test_utils import check_numeric_gradient

_garbage = itertools.count(1)


@customop("mxnet")
def squared_float(x):
    x = np.ascontiguousarray(x)
    y = np.full(x.shape, next(_garbage), x.dtype)  # memory that was used before
    y.view(np.float32).reshape(-1)[: x.size] = x.view(np.float32).reshape(-1)[: x.size] ** 2
    return y


@squared_float.def_grad
def squared_float_gradient(ans, x):
    return lambda g: 2 * g * x


@squared_float.def_shape
def squared_float_shape(x):
    return x


X = np.random.RandomState(0).rand(3, 4) + 0.5


def test_numeric_gradients_of_what_reads_float32_alone():
    check_numeric_gradient(squared_float(sym.var("x")), [X], rtol=1e-2, atol=1e-2)


def test_numeric_gradients_that_are_wrong_are_found_there_too():
    x = sym.var("x")
    with pytest.raises(AssertionError, match="the gradient of 'x' is wrong: NUMERICAL_x and BACKWARD_x differ"):
        check_numeric_gradient(squared_float(sym.BlockGrad(x)) + x, [X], rtol=1e-2, atol=1e-2)


def test_numeric_gradients_are_still_computed_in_float64():
    """Steps that float32 would drown: 1000 + x."""
    x = sym.var("x")
    check_numeric_gradient(sym.sum(1000 + x * x) / 16, [X], numeric_eps=1e-4, rtol=1e-3, atol=1e-4)


def test_check_says_that_forward_is_for_float32():
    with pytest.raises(
        mx.MXNetError,
        match=r"squared_float\.check: two calls with the same float64 inputs differ, and with float32 inputs they do "
        "not: forward is written for float32",
    ):
        squared_float.check(X)


def test_check_of_random_operators_is_as_it_was():
    @customop("numpy")
    def noisy(x):
        return x + next(_garbage)

    assert "random: two calls differ" in noisy.check(X)["forward"].note


def test_scripts_may_import_the_c_library():
    from minpy.base import _LIB

    assert not hasattr(_LIB, "__wrapped__")
    with pytest.raises(mx.MXNetError, match=r"mx\.base\._LIB\.MXLoadLib is of MXNet's C library"):
        _LIB.MXLoadLib("lib.so", 1)


# -- memory under watch --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library():
    mx.library.load(build("operators.c", flags=["-DABI=11", '-DTAG=""']), verbose=False)


@pytest.fixture
def says(library, monkeypatch):
    """Let the output of raw_affine be of another shape than the input's: forward writes as many as it gets."""

    def say(shape):
        monkeypatch.setattr(native_operator.NativeOperator, "output_kinds", lambda self, kinds: [(shape, kinds[0][1])])
        nd.raw_affine._configured.clear()

    yield say
    nd.raw_affine._configured.clear()


def test_check_finds_what_is_written_beyond_an_output_and_nothing_is_hit(says):
    says((1,))
    with pytest.raises(
        CheckError, match=r"raw_affine: forward has written beyond the end of output \(float64 \(1,\)\)"
    ):
        nd.raw_affine.check(np.arange(3.0))


def test_check_finds_what_is_not_written(says):
    says((2, 3))
    with pytest.raises(
        CheckError, match=r"forward has not written all of output \(float64 \(2, 3\)\): not the element at \[1, 2\]"
    ):
        nd.raw_affine.check(np.arange(5.0))


def test_watched_calls_compute_what_others_do(library):
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    meant = nd.raw_affine(x.T, scale=2, shift=1).asnumpy()
    with write_checks.watching():
        np.testing.assert_array_equal(nd.raw_affine(x.T, scale=2, shift=1).asnumpy(), meant)
        np.testing.assert_array_equal(nd.raw_affine(np.zeros((0, 3))), np.zeros((0, 3)))
        mean = nd.zeros(1)
        nd.raw_running(nd.array([2.0, 4.0]), mean)
        assert mean.asnumpy() == [1.5]
        x.attach_grad()
        with mx.autograd.record():
            y = nd.raw_affine(x, scale=3)
        y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 2), 3))
    assert not write_checks.WATCH.depth


def test_watching_is_of_one_thread():
    found = []
    with write_checks.watching():
        thread = threading.Thread(target=lambda: found.append(write_checks.WATCH.depth))
        thread.start()
        thread.join()
    assert found == [0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int64"])
def test_watched_arrays_have_room_for_the_widest_dtype(dtype):
    x = np.arange(6).astype(dtype).reshape(2, 3)
    watched = write_checks.Watched([x, x[:, ::-1]], [np.empty((2, 3), dtype), np.empty((0,), dtype)])
    assert all(array.flags.carray for array in [*watched.inputs, *watched.outputs])
    np.testing.assert_array_equal(watched.inputs[1], x[:, ::-1])
    assert watched.changed(()) is watched.overrun() is None
    watched.outputs[0][...] = x
    assert watched.unwritten() is None
    behind = watched._output_padding[0]
    assert watched.outputs[0].nbytes + behind.nbytes >= 6 * 8 + 64
    behind[-1] = 0
    assert watched.overrun() == (False, 0)
    watched.inputs[1][0, 0] = 9
    assert watched.changed(()) == 1
    assert watched.changed((1,)) is None


# -- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("a.cc:4:17: error: ‘mxnet’ has not been declared", 'Begin the source with #include "lib_api.h".'),
        ("a.cc:4:17: error: use of undeclared identifier 'mxnet'", 'Begin the source with #include "lib_api.h".'),
        ("a.cc:6:1: error: ‘MXReturnValue’ does not name a type", "using namespace mxnet::ext;"),
        (
            "a.cc:6:1: error: unknown type name 'MXReturnValue'; did you mean 'mxnet::ext::MXReturnValue'?",
            "using namespace",
        ),
        (
            "a.cc:6:1: error: ‘MXTensor’ was not declared in this scope; did you mean ‘mxnet::ext::MXTensor’?",
            "using namesp",
        ),
    ],
)
def test_advice_on_what_beginners_forget(said, advice):
    assert advice in (diagnostics._advice(said) or "")


def test_a_source_is_not_loaded_but_compiled(tmp_path):
    (tmp_path / "ops.cc").write_text("int x;")
    with pytest.raises(LibraryError, match=r"ops\.cc cannot be opened .* It is a source: mx\.library\.compile builds"):
        mx.library.load(tmp_path / "ops.cc")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_while_a_compiler_is_started_leaves_none_behind(monkeypatch):
    children = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            children.append(self)
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # those that run in the background ignore it
    try:
        monkeypatch.setattr(processes.subprocess, "Popen", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            processes.run([sys.executable, "-c", "import time; time.sleep(60)"])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert [child.returncode for child in children] == [-signal.SIGKILL]


# -- partitioners and passes ---------------------------------------------------------------------------------------


@customop("numpy")
def twice_tanh(x):
    return 2 * np.tanh(x)


twice_tanh.def_grad(lambda ans, x: lambda g: g * (2 - ans**2 / 2))


def test_a_pass_puts_a_customop_into_a_graph():
    @mx.graph.register_pass("newcomer-tanh", replace=True)
    def rewrite(graph):
        for node in graph:
            if node.op == "_mul_scalar" and node.inputs[0].node.op == "tanh":
                graph.replace(node, graph.add_node(twice_tanh, node.name, node.inputs[0].node.inputs))

    symbol = (mx.sym.tanh(mx.sym.exp(mx.sym.var("x"))) * 2).optimize_for("newcomer-tanh")
    assert "twice_tanh(" in symbol.debug_str()
    assert "tanh(exp" not in symbol.debug_str().replace("twice_tanh(", "")
    again = sym.load_json(symbol.tojson())
    np.testing.assert_allclose(again.eval(x=nd.array(X))[0].asnumpy(), 2 * np.tanh(np.exp(X)), rtol=1e-6)
    check_numeric_gradient(symbol, [X], dtype="float64")


@pytest.mark.parametrize(
    ("op", "name"), [(nd.exp, "exp"), (nd.FullyConnected, "FullyConnected"), (nd.add, "broadcast_add")]
)
def test_nodes_are_made_of_operators(op, name):
    graph = mx.graph.Graph()
    assert graph.add_node(op, "y", [graph.add_node("null", "x")]).op == name


def test_the_short_name_of_a_customop_is_answered_with_the_long_one():
    @mx.graph.register_pass("newcomer-short", replace=True)
    def rewrite(graph):
        graph.nodes[-1].op = "twice_tanh"

    with pytest.raises(
        mx.MXNetError, match=r"no operator 'twice_tanh'.*The @customop is called '[\w.]+:twice_tanh' in files"
    ):
        mx.sym.exp(mx.sym.var("x")).optimize_for("newcomer-short")


def test_a_group_that_reads_a_value_twice_is_explained():
    partitioner = mx.graph.register_partitioner("newcomer-group", ["tanh", "exp", "elemwise_add"], replace=True)
    partitioner.run(twice_tanh)
    x = mx.sym.var("x")
    symbol = mx.sym.tanh(x) + mx.sym.exp(x)
    with pytest.raises(
        mx.MXNetError,
        match=r"newcomer-group: twice_tanh, which runs its graph, takes 1 input\(s\) \(x\), and the group has 2 .*"
        r"optimize_for\(\.\.\., dedup_subgraph=True\) makes them one",
    ):
        symbol.optimize_for("newcomer-group").eval(x=nd.array(X))
    found = symbol.optimize_for("newcomer-group", dedup_subgraph=True).eval(x=nd.array(X))[0]
    np.testing.assert_allclose(found.asnumpy(), 2 * np.tanh(X), rtol=1e-6)


def test_a_file_whose_operator_is_not_loaded(tmp_path):
    text = mx.sym.exp(mx.sym.var("x")).tojson().replace('"exp"', '"my_swish"')
    with pytest.raises(
        mx.MXNetError, match=r"no operator 'my_swish'\..* native libraries that were loaded \(mx\.library\.load"
    ):
        sym.load_json(text)
    partitioner = mx.graph.register_partitioner("newcomer-file", ["exp"], replace=True)
    text = mx.sym.exp(mx.sym.var("x")).optimize_for(partitioner.name).tojson().replace("newcomer-file", "newcomer-gone")
    said = contents(text, "here")
    assert said.variables == ["x"]
    [unknown] = said.unknown
    assert (unknown.name, "register the partitioner that made it" in unknown.advice) == ("newcomer-gone", True)


def test_outputs_of_a_graph_may_be_nodes():
    graph = mx.graph.Graph()
    graph.outputs = [graph.add_node("exp", "y", [graph.add_node("null", "x")])]
    assert '"heads": [[1, 0, 0]]' in graph.json()
    assert mx.graph.Graph.from_json(graph.json()).node("y").op == "exp"
