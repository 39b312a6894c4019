"""What operators of native libraries are given: arrays of every layout and dtype, attributes, random states."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from native.building import build
from native.watching import Watched
from numpy.lib.stride_tricks import as_strided

import minpy as mx
from minpy import nd, sym
from minpy.core.errors import ArgumentError, DTypeError, MXNetError

DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64"]


@pytest.fixture(autouse=True)
def library():
    path = build("operators.c", flags=["-DABI=11", '-DTAG=""'])
    mx.library.load(path, verbose=False)
    watched = Watched(path)
    states = watched.states
    yield watched
    assert watched.faults == []
    assert watched.blocks == 0
    assert watched.states == states, "states are left over"


# -- arrays ------------------------------------------------------------------------------------------------------------


def misaligned(values):
    raw = np.zeros(values.nbytes + 1, "uint8")
    view = raw[1:].view(values.dtype).reshape(values.shape)
    view[...] = values
    return view


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


BASE = np.arange(24, dtype="float64").reshape(4, 6) + 1
LAYOUTS = {
    "contiguous": BASE,
    "rows": BASE[1:3],
    "columns": BASE[:, 1:4],
    "steps": BASE[::2, ::3],
    "backwards": BASE[::-1, ::-1],
    "transposed": BASE.T,
    "fortran": np.asfortranarray(BASE),
    "broadcast": np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),
    "overlapping": as_strided(np.arange(5.0), (3, 3), (8, 8)),
    "misaligned": misaligned(BASE),
    "read_only": read_only(BASE),
    "byte_swapped": BASE.astype(">f8"),
    "field": np.array([(1.0, 2), (3.0, 4)], [("a", "f8"), ("b", "i8")])["a"],
    "no_rows": np.zeros((0, 3)),
    "no_columns": np.zeros((3, 0)),
    "empty_backwards": np.zeros((4, 0))[::-1],
    "no_axes": np.array(5.0),
    "one": np.ones((1, 1, 1, 1)),
    "many_axes": np.ones((1,) * 9 + (2,)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = LAYOUTS[layout]
    kept = x.copy()
    got = nd.raw_affine(x, scale=2, shift=1)
    assert got.shape == x.shape
    assert got.dtype == np.float64
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, 2 * kept + 1)
    np.testing.assert_array_equal(x, kept)
    description = nd.raw_description(x)
    assert list(description[:6]) == [x.ndim, x.size > 0, 0, 0, 1, x.size]
    assert list(description[6 : 6 + min(x.ndim, 6)]) == list(x.shape[:6])


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("byte_swapped",)])
def test_layouts_of_recorded_arrays_and_their_gradients(layout):
    x = (
        nd.from_numpy(LAYOUTS[layout].copy(), zero_copy=False)
        if layout != "no_axes"
        else nd.array(5.0, dtype="float64")
    )
    x = x.astype("float64")
    x.attach_grad()
    with mx.autograd.record():
        y = nd.raw_affine(x, scale=2)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full(x.shape, 2.0))


@pytest.mark.parametrize(
    "layout", ["columns", "steps", "backwards", "transposed", "fortran", "misaligned", "contiguous"]
)
def test_out_of_any_layout(layout):
    shape = LAYOUTS[layout].shape
    base = {
        "columns": np.zeros((4, 6))[:, 1:4],
        "steps": np.zeros((4, 6))[::2, ::3],
        "backwards": np.zeros((4, 6))[::-1, ::-1],
    }
    base |= {
        "transposed": np.zeros((4, 6)).T,
        "fortran": np.zeros((4, 6), order="F"),
        "misaligned": misaligned(np.zeros((4, 6))),
    }
    out = base.get(layout, np.zeros(shape))
    x = np.random.RandomState(0).rand(*shape)
    assert nd.raw_affine(x, scale=3, out=out) is out
    np.testing.assert_array_equal(out, 3 * x)


@pytest.mark.parametrize(
    ("x", "out"),
    [
        (lambda m: m, lambda m: m),
        (lambda m: m[1:], lambda m: m[:-1]),
        (lambda m: m[:-1], lambda m: m[1:]),
        (lambda m: m[::-1], lambda m: m),
    ],
    ids=["itself", "before", "behind", "backwards"],
)
def test_out_that_shares_memory_with_an_input(x, out):
    memory = np.arange(6.0)
    expected = 2 * x(memory) + 1
    nd.raw_affine(x(memory), scale=2, shift=1, out=out(memory))
    np.testing.assert_array_equal(out(memory), expected)


def test_an_output_of_several_that_shares_memory_with_an_input():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    product, total = x * y, x + 2 * y
    nd.raw_pair(x, y, out=[x, y])
    np.testing.assert_array_equal(x, product)
    np.testing.assert_array_equal(y, total)


def test_read_only_outputs_are_refused_before_the_call(library):
    out = read_only(np.zeros(3))
    with pytest.raises((ValueError, MXNetError)):
        nd.raw_affine(np.ones(3), out=out)
    np.testing.assert_array_equal(out, np.zeros(3))


def test_nothing_is_copied_that_is_contiguous():
    x = np.arange(12.0).reshape(3, 4)
    for view, offset in ((x, 0), (x[1:], 32), (x[2], 64), (x.reshape(2, 6), 0)):
        assert nd.raw_address(view)[0] == x.ctypes.data + offset
    y = nd.array(x, dtype="float64")
    assert (
        nd.raw_address(y).asnumpy()[0] == y.asnumpy().ctypes.data
        or nd.raw_address(y).asnumpy()[0] == y._data.ctypes.data
    )
    assert nd.raw_address(x[:, ::2])[0] != x.ctypes.data


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    x = np.array([[1, 2, 3], [100, 5, 0]], dtype)
    for array in (x, nd.array(x, dtype=dtype), mx.np.array(x, dtype=dtype)):
        got = nd.raw_copy(array)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got if isinstance(got, np.ndarray) else got.asnumpy(), x)
        target = nd.raw_cast(array, dtype=DTYPES.index(dtype))
        assert target.dtype == np.dtype(dtype)
    assert nd.raw_description(x)[4] == DTYPES.index(dtype)
    for number, other in enumerate(DTYPES):
        got = nd.raw_cast(x, dtype=number)
        assert got.dtype == np.dtype(other)
        np.testing.assert_array_equal(got, x.astype(other))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_of_every_floating_dtype(dtype):
    x = nd.array([1, 2, 3], dtype=dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.raw_affine(x, scale=2)
    y.backward()
    assert x.grad.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 2, 2])


def test_float16_is_exact():
    x = np.array([0.0, -0.0, 1, -2.5, 65504, 6e-8, 6.1e-5, np.inf, -np.inf, np.nan], "float16")
    np.testing.assert_array_equal(nd.raw_affine(x), x)


UNSUPPORTED = [
    "bool",
    "int16",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "datetime64[s]",
    "S3",
    "U3",
    "V4",
]


@pytest.mark.parametrize("dtype", UNSUPPORTED)
def test_dtypes_that_libraries_do_not_know(dtype, library):
    x = np.zeros(3, dtype)
    with library.calls() as calls, pytest.raises(DTypeError) as caught:
        nd.raw_affine(x)
    assert "forward raw_affine" not in calls
    text = str(caught.value)
    assert "raw_affine" in text
    assert np.dtype(dtype).name in text or dtype in text
    assert "float32" in text, "it says which dtypes there are"


def test_objects_and_what_is_no_array():
    for wrong in (np.array([1, "x"], object), np.array([1.0, None]), "text", None, {}):
        with pytest.raises((MXNetError, TypeError)):
            nd.raw_affine(wrong)


def test_lists_and_numbers_are_arrays():
    for value in ([1.0, 2.0], (1.0, 2.0), 3.0, np.float64(4)):
        np.testing.assert_array_equal(nd.raw_affine(value, scale=2), 2 * np.asarray(value))


def test_integers_where_a_gradient_is_asked_for_elsewhere():
    table, rows = nd.arange(6).reshape((3, 2)), nd.array([2, 0, 2], dtype="int32")
    table.attach_grad()
    with mx.autograd.record():
        loss = nd.raw_rows(table * 2, rows).sum()
    loss.backward()
    np.testing.assert_array_equal(table.grad.asnumpy(), [[2, 2], [0, 0], [4, 4]])


def test_integer_outputs_end_gradients():
    x = nd.array([1.0, 5.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        position = nd.raw_largest(x)
        y = (x * x).sum()
    assert position.dtype == np.int64
    assert position.shape == ()
    assert int(position.asnumpy()) == 1
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 10, 4])


def test_without_inputs():
    np.testing.assert_array_equal(np.asarray(nd.raw_count_up(count=3).asnumpy()), [0, 1, 2])
    node = sym.raw_count_up(count=4)
    assert node.list_inputs() == []
    np.testing.assert_array_equal(node.bind(mx.cpu(), {}).forward()[0].asnumpy(), [0, 1, 2, 3])


def test_extra_inputs():
    inputs = [np.full(2, float(k)) for k in range(1, 5)]
    got = nd.raw_sum(*inputs, count=2, __ext_extra_inputs__=2)
    np.testing.assert_array_equal(got, [10, 10])
    with pytest.raises(ArgumentError, match=r"raw_sum takes 4 input"):
        nd.raw_sum(*inputs[:2], count=2, __ext_extra_inputs__=2)
    arrays = [nd.array(one) for one in inputs]
    for one in arrays:
        one.attach_grad()
    with mx.autograd.record():
        y = nd.raw_sum(*arrays, count=2, __ext_extra_inputs__=2)
    y.backward(nd.array([3.0, 4.0]))
    for one in arrays:
        np.testing.assert_array_equal(one.grad.asnumpy(), [3, 4])


def test_versions_count_writes():
    x, y = nd.zeros(2), nd.zeros(2)
    before = nd.raw_versions(x, y).asnumpy()
    x[:] = 1
    after = nd.raw_versions(x, y).asnumpy()
    assert after[0] > before[0]
    nd.raw_affine(x, out=y)
    assert nd.raw_versions(x, y).asnumpy()[1] > after[1]


def test_versions_are_never_those_of_other_contents():
    """A library that compares them must not take what NumPy has written, unseen, for what it had before."""
    x = np.zeros(2)
    seen = []
    for value in range(3):
        x[:] = value
        seen += list(nd.raw_versions(x, x))
        nd.raw_affine(x, out=x)
    assert sorted(set(seen)) == seen[::2], "they grow, and one array has one version in a call"
    where = {}
    for _ in range(50):  # memory that is used again is not the same array
        fresh = np.empty(2)
        version = int(nd.raw_versions(fresh, fresh)[0])
        assert version not in where.setdefault(fresh.ctypes.data, set())
        where[fresh.ctypes.data].add(version)
        del fresh


# -- attributes --------------------------------------------------------------------------------------------------------


def shown(array):
    return bytes(np.asarray(array if isinstance(array, np.ndarray) else array.asnumpy())).decode()


ATTRIBUTES = {
    "flag": (True, "True"),
    "pair": ((1, 2), "(1, 2)"),
    "single": ((1,), "(1,)"),
    "nothing": (None, "None"),
    "real": (1.5, "1.5"),
    "tiny": (1e-20, "1e-20"),
    "spaces": ("he llo", "he llo"),
    "listed": ([1, "x"], "[1, 'x']"),
    "empty": ("", ""),
    "letters": ("grün ✓ 🙂", "grün ✓ 🙂"),
    "quotes": ("a \"b\" 'c' \\ \n\t", "a \"b\" 'c' \\ \n\t"),
    "long": ("x" * 10000, "x" * 10000),
    "data": ("taken", "taken"),
    "self": ("taken", "taken"),
    "ctx": ("cpu(0)", "cpu(0)"),
    "axis": (-1, "-1"),
    "is_train": (False, "False"),
}


@pytest.mark.parametrize("key", ATTRIBUTES)
def test_attributes_are_strings(key):
    value, text = ATTRIBUTES[key]
    x = nd.zeros(1)
    assert shown(nd.raw_attributes(x, **{key: value})) == f"{key}={text};"
    assert shown(nd.raw_attributes(np.zeros(1), **{key: value})) == f"{key}={text};"
    node = sym.raw_attributes(sym.var("x"), name="n", **{key: value})
    assert shown(node.eval(x=x)[0]) == f"{key}={text};"
    assert shown(sym.load_json(node.tojson()).eval(x=x)[0]) == f"{key}={text};"


def test_names_are_no_attributes():
    assert shown(nd.raw_attributes(nd.zeros(1), name="given")) == ""
    assert shown(nd.raw_attributes(nd.zeros(1), b=1, a=2, out=None)) == "a=2;b=1;"
    node = sym.raw_attributes(sym.var("x"), name="given", b=1)
    assert node.name == "given"
    assert shown(node.eval(x=nd.zeros(1))[0]) == "b=1;"


def test_what_is_noted_at_a_node_arrives_with_its_underscores():
    with mx.AttrScope(ctx_group="dev1", lr_mult="2", __mine__="3"):
        node = sym.raw_attributes(sym.var("x"), own=1, attr={"wd_mult": "4"})
    expected = "__ctx_group__=dev1;__lr_mult__=2;__mine__=3;__wd_mult__=4;own=1;"
    assert shown(node.eval(x=nd.zeros(1))[0]) == expected
    assert shown(sym.load_json(node.tojson()).eval(x=nd.zeros(1))[0]) == expected


def test_attributes_that_c_cannot_hold():
    for attributes in ({"key": "a\0b"}, {"a\0b": 1}, {"key": "\ud800"}):
        with pytest.raises(ArgumentError, match="raw_attributes"):
            nd.raw_attributes(nd.zeros(1), **attributes)


def test_arrays_by_name_are_refused():
    with pytest.raises(ArgumentError, match="given by position"):
        nd.raw_affine(data=nd.zeros(1))
    with pytest.raises(ArgumentError, match="raw_affine"):
        sym.raw_affine(data=sym.var("x"))


def test_many_attributes_do_not_fill_the_memory_of_operators():
    x = np.ones(1)
    for number in range(600):
        assert nd.raw_affine(x, scale=number)[0] == number


# -- inference ---------------------------------------------------------------------------------------------------------


def test_graphs_infer_what_the_library_fills_in():
    x, weight = sym.var("x"), sym.var("w")
    y = sym.raw_dense(x, weight, hidden=5, name="d")
    assert y.infer_shape(x=(4, 3)) == ([(4, 3), (5, 3)], [(4, 5)], [])
    assert y.infer_type(x="float64") == ([np.float64, np.float64], [np.float64], [])
    z = sym.raw_affine(y) + sym.var("b")
    assert z.infer_shape(x=(4, 3), b=(4, 5)) == ([(4, 3), (5, 3), (4, 5)], [(4, 5)], [])
    executor = z.simple_bind(mx.cpu(), x=(4, 3), b=(4, 5))
    assert executor.arg_dict["w"].shape == (5, 3)


def test_states_are_inferred():
    y = sym.raw_remember(sym.var("m"), sym.var("x"), sym.var("c"))
    assert y.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [(2, 3), (1,)])
    arguments, results, states = y.infer_type(x="float16")
    assert (arguments, results, states) == ([np.float16], [np.float16], [np.float16, np.int32])


def test_what_nobody_knows_stays_unknown():
    y = sym.raw_affine(sym.var("x"))
    assert y.infer_shape_partial()[1] in ([()], [None])
    with pytest.raises(MXNetError):
        y.simple_bind(mx.cpu())


def test_inference_refused_in_a_graph_names_the_operator():
    y = sym.raw_rows(sym.var("table"), sym.var("rows"), name="lookup")
    with pytest.raises(MXNetError) as caught:
        y.infer_shape(table=(3, 2), rows=(2, 2))
    assert "raw_rows" in str(caught.value)
    assert "needs a table (2-D) and indices (1-D), got 2-D and 2-D" in str(caught.value)


# -- order -------------------------------------------------------------------------------------------------------------

PRELUDE = {"parseAttrs", "inferShape", "inferType", "inferSType", "mutateInputs"}


def computing(calls):
    return [line for line in calls if line.split()[0] not in PRELUDE]


def test_the_order_of_calls(library):
    """What is asked about the same attributes, shapes and dtypes may be remembered: so it is asked once, or never."""
    x = nd.ones(3)
    with library.calls() as first:
        nd.raw_affine(x, scale=123.25)
    assert first[0] == "parseAttrs raw_affine"
    assert first[-1] == "forward raw_affine"
    assert first.index("inferShape raw_affine") < first.index("forward raw_affine")
    assert first.index("inferType raw_affine") < first.index("forward raw_affine")
    with library.calls() as second:
        nd.raw_affine(x, scale=123.25)
    assert computing(second) == ["forward raw_affine"]
    with library.calls() as other:
        nd.raw_running(x, nd.ones(1), momentum=123.25)
    assert other[0] == "parseAttrs raw_running"
    assert "mutateInputs raw_running" in other
    assert computing(other) == ["forward raw_running"]


def test_the_order_of_calls_with_a_state(library):
    x = nd.ones(3)
    x.attach_grad()
    with library.calls() as calls:
        nd.raw_counted(x)
    assert computing(calls) == [
        f"{what} raw_counted" for what in ("createOpState", "statefulForward", "destroyOpState")
    ]
    with library.calls() as calls:
        with mx.autograd.record():
            y = nd.raw_counted(x)
        y.backward()
        del y
    expected = ["createOpState", "statefulForward", "statefulBackward", "destroyOpState"]
    assert computing(calls) == [f"{what} raw_counted" for what in expected]


def test_the_gradient_is_one_call_also_without_forward_again(library):
    x = nd.ones((2, 2))
    x.attach_grad()
    with library.calls() as calls:
        with mx.autograd.record():
            y = nd.raw_pair(x, x)
        mx.autograd.backward(y)
    assert computing(calls) == ["forward raw_pair", "backward raw_pair"]
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 2), 5))


def test_an_empty_recording_calls_no_gradient(library):
    with library.calls() as calls, mx.autograd.record():
        nd.raw_affine(nd.ones(2))
    assert computing(calls) == ["forward raw_affine"]


# -- resources ---------------------------------------------------------------------------------------------------------


def stream(seed, count):
    return np.frombuffer(np.random.RandomState(seed).bytes(4 * count), "<u4").astype("int64")


@pytest.mark.parametrize("state", [0, 1, 7, 1023])
def test_random_states_are_those_of_mxnet(state):
    mx.random.seed(42)
    expected = stream(42 * 127 + state, 1500)
    first = nd.raw_random(np.zeros(1), state=state, count=1000)
    second = nd.raw_random(np.zeros(1), state=state, count=500)
    np.testing.assert_array_equal(first, expected[:1000])
    np.testing.assert_array_equal(second, expected[1000:])
    mx.random.seed(42)
    np.testing.assert_array_equal(nd.raw_random(np.zeros(1), state=state, count=10), expected[:10])
    mx.random.seed(43)
    np.testing.assert_array_equal(nd.raw_random(np.zeros(1), state=state, count=10), stream(43 * 127 + state, 10))


@pytest.mark.parametrize("drawn", [0, 10])
def test_checks_repeat_what_is_drawn_and_leave_the_states_as_they_were(drawn):
    mx.random.seed(5)
    if drawn:
        nd.raw_random(np.zeros(1), state=3, count=drawn)
    report = nd.raw_random.check(np.zeros(1), state=3, count=4)
    assert "random, so every call repeats the same draws" in report["forward"].note
    assert report["bound symbol"].result == "ok"
    after = nd.raw_random(np.zeros(1), state=3, count=7)
    np.testing.assert_array_equal(after, stream(5 * 127 + 3, drawn + 7)[drawn:])


def test_random_states_of_a_large_seed():
    mx.random.seed(2**31 - 1)
    seed = ((2**31 - 1) * 127 + 5) % 2**32
    np.testing.assert_array_equal(nd.raw_random(np.zeros(1), state=5, count=10), stream(seed, 10))


@pytest.mark.parametrize("size", [0, 1, 63, 4096, 10**6])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_workspace(size, times):
    np.testing.assert_array_equal(nd.raw_workspace(np.ones(3), bytes=size, times=times), np.ones(3))


def test_workspace_of_less_than_nothing():
    with pytest.raises(MXNetError, match="cannot work in -5 bytes"):
        nd.raw_workspace(np.ones(3), bytes=-5)


def test_threads_compute_at_the_same_time(library):
    """Four calls wait for each other inside of the library: Python runs on meanwhile."""
    for name, attributes in (("raw_meet", {"parties": 4}), ("raw_stateful_meet", {"parties": 4})):
        library.forget_arrivals()
        results = [None] * 4

        def work(k, results=results, name=name, attributes=attributes):
            results[k] = getattr(nd, name)(np.full(3, float(k)), **attributes)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for k, result in enumerate(results):
            np.testing.assert_array_equal(result, np.full(3, float(k)))
