"""What operators return for every mix of inputs, what memory that is in, and what they say of other libraries' data."""

from __future__ import annotations

import itertools
import operator as signs
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import autograd as hips
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, gluon, nd
from minpy.core.errors import ArgumentError

X = np.arange(6, dtype="float32").reshape(2, 3)
# Kinds of inputs, and what they are to NumPy.
KINDS: dict[str, tuple[Callable[[], Any], Any]] = {
    "mx.np": (lambda: mx.np.array([1.0, 2.0]), np.array([1, 2], "float32")),
    "NDArray": (lambda: nd.array([1, 2]), np.array([1, 2], "float32")),
    "NumPy float64": (lambda: np.array([1.0, 2.0]), np.array([1.0, 2.0])),
    "NumPy float32": (lambda: np.array([1, 2], "float32"), np.array([1, 2], "float32")),
    "NumPy without axes": (lambda: np.array(2.0), np.array(2.0)),
    "list": (lambda: [1.0, 2.0], np.array([1.0, 2.0])),
    "NumPy scalar": (lambda: np.float32(2), np.float32(2)),
    "float": (lambda: 2.5, 2.5),
    "int": (lambda: 2, 2),
    "bool": (lambda: True, True),
}


@customop("numpy")
def added(x, y):
    assert not any(isinstance(one, (nd.NDArray, list)) for one in (x, y))
    return x + y


@customop("mxnet")
def added_in_nd(x, y):
    assert not any(isinstance(one, (np.ndarray, list)) for one in (x, y))
    return x + y


for operator in (added, added_in_nd):
    operator.def_grad(lambda ans, x, y: lambda g: g)
    operator.def_grad(lambda ans, x, y: lambda g: g * 1, 1)


def expected_class(kinds: tuple[str, str], value: Any) -> Any:
    """The class of the answer: that of the first of these kinds that is among the inputs."""
    if "mx.np" in kinds:
        return mx.np.ndarray
    if "NDArray" in kinds:
        return nd.NDArray
    return type(value)


@pytest.mark.parametrize("kinds", [*itertools.product(KINDS, repeat=2)], ids=" + ".join)
def test_every_mix_of_inputs(kinds: tuple[str, str]) -> None:
    (first, x), (second, y) = (KINDS[kind] for kind in kinds)
    expected = x + y
    got = added(first(), second())
    assert type(got) is expected_class(kinds, expected), type(got)
    raw = got.asnumpy() if isinstance(got, nd.NDArray) else np.asarray(got)
    np.testing.assert_array_equal(raw, expected)
    assert raw.dtype == np.asarray(expected).dtype, "as NumPy says for these values"
    in_nd = added_in_nd(first(), second())
    if {"mx.np", "NDArray"} & {*kinds}:
        assert type(in_nd) is expected_class(kinds, expected)
    np.testing.assert_array_equal(in_nd.asnumpy() if isinstance(in_nd, nd.NDArray) else in_nd, expected)


@pytest.mark.parametrize("operator", [added, added_in_nd], ids=["numpy", "mxnet"])
@pytest.mark.parametrize("kinds", [*itertools.product(["mx.np", "NDArray"], KINDS)], ids=" + ".join)
def test_gradients_of_every_mix(kinds: tuple[str, str], operator: Any) -> None:
    for order in (kinds, kinds[::-1]):
        inputs = [KINDS[kind][0]() for kind in order]
        variables = [one for one in inputs if isinstance(one, nd.NDArray)]
        for variable in variables:
            variable.attach_grad()
        with autograd.record():
            y = operator(*inputs)
        y.backward()
        assert [variable.grad.asnumpy().tolist() for variable in variables] == [[1, 1]] * len(variables)


# -- memory ------------------------------------------------------------------------------------------------------------

REMEMBERED = np.ones((2, 3), "float32")
KEPT: list[Any] = []


def keeping(x: Any) -> Any:
    KEPT[:] = [x + 1]
    return KEPT[0]


def twice(x: Any) -> Any:
    found = x + 1
    return found, found


def whole_and_row(x: Any) -> Any:
    found = x + 1
    return found, found[0]


# What functions return that is not theirs, and what the values are.
RETURNED: dict[str, Callable[[Any], Any]] = {
    "its input": lambda x: x,
    "a view": lambda x: x[:1],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape(-1),
    "its input twice": lambda x: (x, x),
    "a row and something new": lambda x: (x[0], x + 1),
    "something new twice": twice,
    "something new and a view of it": whole_and_row,
    "broadcast": lambda x: np.broadcast_to(x[0], (4, 3)),
    "what it remembers": lambda x: REMEMBERED,
    "what it keeps": keeping,
}


def in_symbol(op: Any, x: Any) -> Any:
    count = len(op(X)) if isinstance(op(X), tuple) else 1
    symbol = op(mx.sym.var("x"))
    assert len(symbol.list_outputs()) == count
    executor = symbol.bind(mx.cpu(), {"x": x})
    for _ in range(3):
        found = executor.forward()
    return found


def hybridized(op: Any, x: Any) -> Any:
    class Net(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return op(x)

    net = Net()
    net.hybridize()
    for _ in range(3):
        found = net(x)
    return found


def compiled(op: Any, x: Any) -> Any:
    function = mx.compile(lambda x: op(x))
    for _ in range(3):
        found = function(x)
    return found


def recorded(op: Any, x: Any) -> Any:
    x.attach_grad()
    with autograd.record():
        return op(x)


def in_hips(op: Any, x: Any) -> Any:
    seen = []

    def loss(x: Any) -> Any:
        found = op(x)
        parts = [found] if hasattr(found, "dtype") else [*found]
        seen[:] = [getattr(one, "_value", one) for one in parts]
        return anp.sum(x) + sum(anp.sum(one) for one in parts)

    hips.grad(loss)(x)
    return seen


RUN: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "NumPy": (np.array, lambda op, x: op(x)),
    "NDArray": (nd.array, lambda op, x: op(x)),
    "mx.np": (mx.np.array, lambda op, x: op(x)),
    "recorded": (nd.array, recorded),
    "symbol": (nd.array, in_symbol),
    "hybridized": (nd.array, hybridized),
    "compiled": (np.array, compiled),
    "HIPS": (lambda x: x.astype("float64"), in_hips),
}


KEEPS = (
    r"as it is written, because it cannot become a graph: it calls keeping, an operator of a user: .* because it "
    r"changes a list or a dict that it did not make \(line \d+ of test_mixed_inputs.py\)"
)


@pytest.mark.parametrize("run", RUN)
@pytest.mark.parametrize("returned", RETURNED)
def test_what_is_returned_has_memory_of_its_own(returned: str, run: str) -> None:
    function = RETURNED[returned]
    make, call = RUN[run]
    op = customop("numpy")(function)
    op.def_grad_zero()
    x = make(X)
    is_called = returned == "what it keeps" and run in ("hybridized", "compiled")  # what it stores is not captured
    with pytest.warns(UserWarning, match=KEEPS) if is_called else nullcontext([None]) as seen:
        found = call(op, x)
    assert len(seen) == 1
    outputs = [getattr(one, "_data", one) for one in (found if isinstance(found, (tuple, list)) else [found])]
    expected = function(X)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    for got, value in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(got, value)
        assert got.flags.writeable
    others = [getattr(x, "_data", x), REMEMBERED, *(np.asarray(one) for one in KEPT)]
    for position, one in enumerate(outputs):
        assert not any(np.shares_memory(one, other) for other in [*others, *outputs[:position]])
    before = [np.array(one) for one in (getattr(x, "_data", x), *outputs[1:])]
    outputs[0][...] = 77
    for one, value in zip((getattr(x, "_data", x), *outputs[1:]), before, strict=True):
        np.testing.assert_array_equal(one, value)


def test_an_array_that_passes_through_has_a_gradient_of_its_own() -> None:
    through = customop("numpy")(lambda x: x)
    through.def_grad(lambda ans, x: lambda g: g)  # what it returns is what it was given, too
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        y = (2 * x + 3 * through(x)).sum()
    y.backward()
    assert set(x.grad.asnumpy().ravel()) == {5}


# -- what is no array --------------------------------------------------------------------------------------------------


def test_lists_of_arrays_are_refused_where_their_gradient_would_be_lost() -> None:
    @customop("mxnet")
    def stacked(parts):
        return nd.stack(*parts)

    stacked.def_grad(lambda ans, parts: lambda g: g)
    message = (
        "stacked: parts is a list of arrays, through which no gradient would flow. Give each array as an input of its "
        "own: def stacked(*parts), called with stacked(*arrays)."
    )
    for parts in ([nd.ones(2), nd.ones(2)], [mx.np.ones(2)], [mx.sym.var("a"), mx.sym.var("b")]):
        with pytest.raises(ArgumentError) as caught:
            stacked(parts)
        assert str(caught.value) == message

    @customop("mxnet")
    def scaled(x, *, by):
        return x * by[0]

    scaled.def_grad(lambda ans, x, *, by: lambda g: g * by[0])
    x, factor = nd.ones(2), nd.ones(2)
    factor.attach_grad()
    with (
        autograd.record(),
        pytest.raises(ArgumentError, match="scaled: by is a list with an array in it, through which no gradient"),
    ):
        scaled(x, by=[factor])
    assert scaled(x, by=[nd.full(2, 3)]).asnumpy().tolist() == [3, 3], "a constant"


def test_ragged_lists() -> None:
    doubled = customop("numpy")(lambda x: 2 * x)
    for call in (doubled, nd.exp):
        with pytest.raises(ArgumentError) as caught:
            call([[1, 2], [3]])
        name = call.signature.inputs[0]
        assert str(caught.value).startswith(f"{call.__name__}: {name} is list of 2: ")
        assert "It is ragged: make all rows equally long (pad them)." in str(caught.value)
    with pytest.raises(ArgumentError, match=r"ragged: source\[0\] has length 2, source\[1\] has length 1"):
        nd.array([[1, 2], [3]])


def test_a_function_of_numpy_that_returns_an_array_of_ours() -> None:
    forgetful = customop("numpy")(lambda x: nd.array(x))
    with pytest.raises(ArgumentError) as caught:
        forgetful(X)
    assert str(caught.value) == (
        "<lambda>: its forward is an array of minpy's, NDArray float32 (2, 3); what is made with @customop('numpy') is "
        "given NumPy arrays, and returns them. Write it with NumPy's functions, or with nd's as a @customop('mxnet')."
    )


def test_tables_and_columns_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[5, 7])
    doubled = customop("numpy")(lambda x: 2 * x)
    assert type(doubled(table)) is np.ndarray
    assert doubled(table["a"]).tolist() == [2, 4]
    assert type(nd.exp(table)) is np.ndarray
    for answer in (nd.ones((2, 2)) + table, table + nd.ones((2, 2))):
        assert type(answer) is nd.NDArray
        assert answer.asnumpy().tolist() == [[2, 4], [3, 5]]
    assert gluon.loss.L2Loss()(nd.ones((2, 2)), table).asnumpy().tolist() == [1, 2.5]
    net = gluon.nn.Dense(2)
    net.initialize()
    with pytest.raises(ArgumentError) as caught:
        net(table)
    assert "An input of a block is DataFrame (2, 2)" in str(caught.value)
    assert str(caught.value).endswith("Make an NDArray of it first: mx.nd.array(x).")
    words = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for call, argument in ((doubled, "x"), (nd.exp, "data")):
        with pytest.raises(ArgumentError) as caught:
            call(words)
        assert str(caught.value) == (
            f"{call.__name__}: {argument} is DataFrame (2, 2), of which NumPy makes an array of dtype object; expected "
            "numbers. Convert it first, column by column, or with astype('float32')."
        )


def test_data_sets_of_pandas_go_by_position_not_by_label() -> None:
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([10.0, 20.0, 30.0], index=[2, 0, 1])  # as after shuffling
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=[2, 0, 1])
    data = gluon.data.ArrayDataset(table, labels)
    assert [(row.tolist(), label) for row, label in data] == [([1, 4], 10), ([2, 5], 20), ([3, 6], 30)]
    assert list(gluon.data.SimpleDataset(labels)) == [10, 20, 30]
    (batch,) = gluon.data.DataLoader(data, 3)
    assert batch[1].asnumpy().tolist() == [10, 20, 30]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("number", [2.5, 3, -1, True])
@pytest.mark.parametrize("make", [mx.nd.array, mx.np.array], ids=["nd", "np"])
def test_a_number_on_the_left_is_an_array_of_that_number(make: Any, number: Any, dtype: str) -> None:
    values = np.array([[0.5, 1.0, 2.0], [3.0, 4.0, 1.5]])
    names = ["add", "sub", "mul", "truediv", "mod", "lt", "le", "gt", "ge", "eq", "ne"]
    for name in names if number < 0 else [*names, "pow"]:
        function = getattr(signs, name)
        x, full = make(values, dtype=dtype), make(np.full(values.shape, number), dtype=dtype)
        x.attach_grad()
        outcomes = []
        for left in (number, full):
            with np.errstate(all="ignore"), autograd.record():
                y = function(left, x)
            if y._node is not None:
                y.backward()
            outcomes.append((y.asnumpy(), x.grad.asnumpy(), y._node is None))
        for got, expected in zip(*outcomes, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=name, strict=True)
