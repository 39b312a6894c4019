"""The functions of `mx.sym` that are no operators: creation, draws, operators with numbers, gradients as symbols."""

from __future__ import annotations

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd, sym
from minpy.core.errors import ArgumentError, NotRecordedError

CREATED = [
    (lambda: sym.zeros((2, 3)), "_zeros", np.zeros((2, 3))),
    (lambda: sym.ones(2, dtype="float64"), "_ones", np.ones(2)),
    (lambda: sym.full((2, 1), 3), "_full", np.full((2, 1), 3.0)),
    (lambda: sym.arange(1, 6, 2, repeat=2), "_arange", [1.0, 1, 3, 3, 5, 5]),
    (lambda: sym.arange(3), "_arange", [0.0, 1, 2]),
    (lambda: sym.eye(2, 3, 1), "_eye", np.eye(2, 3, 1)),
    (lambda: sym.linspace(0, 1, 3), "_linspace", [0.0, 0.5, 1]),
]


@pytest.mark.parametrize(("make", "kind", "expected"), CREATED, ids=[row[1] + str(i) for i, row in enumerate(CREATED)])
def test_creation(make, kind, expected):
    symbol = make()
    assert symbol.values[0].node.kind == kind
    assert symbol.infer_shape()[1] == [np.shape(expected)]
    (array,) = symbol.eval()
    np.testing.assert_array_equal(array.asnumpy(), expected)
    assert symbol.infer_type()[1] == [array.dtype]


def test_unknown_lengths_of_created_arrays_follow_from_their_use():
    x = sym.var("x")
    for made in (sym.zeros((0, 3)), sym.random.uniform(1, 1, shape=(0, 3)) - 1):
        (result,) = (x + made).eval(x=nd.ones((2, 3)))
        np.testing.assert_array_equal(result.asnumpy(), np.ones((2, 3)))


NUMBERS = [
    (lambda x: sym.maximum(x, 2), "_maximum_scalar", [2, 2, 4]),
    (lambda x: sym.maximum(2, x), "_maximum_scalar", [2, 2, 4]),
    (lambda x: sym.power(2, x), "_rpower_scalar", [2, 4, 16]),
    (lambda x: sym.pow(x, 2), "_power_scalar", [1, 4, 16]),
    (lambda x: sym.hypot(x, 0), "_hypot_scalar", [1, 2, 4]),
    (lambda x: sym.greater(2, x), "_lesser_scalar", [1, 0, 0]),
    (lambda x: sym.broadcast_sub(lhs=1, rhs=x), "_rminus_scalar", [0, -1, -3]),
    (lambda x: 2 - x, "_rminus_scalar", [1, 0, -2]),
    (lambda x: 8 / x, "_rdiv_scalar", [8, 4, 2]),
    (lambda x: x % 3, "_mod_scalar", [1, 2, 1]),
    (lambda x: 5 % x, "_rmod_scalar", [0, 1, 1]),
    (lambda x: x >= 2, "_greater_equal_scalar", [0, 1, 1]),
    (lambda x: -x, "_mul_scalar", [-1, -2, -4]),
    (lambda x: abs(x), "abs", [1, 2, 4]),
]


@pytest.mark.parametrize(("make", "kind", "expected"), NUMBERS, ids=[f"{row[1]}{i}" for i, row in enumerate(NUMBERS)])
def test_operators_with_a_number(make, kind, expected):
    symbol = make(sym.var("x"))
    assert symbol.values[0].node.kind == kind
    np.testing.assert_array_equal(symbol.eval(x=nd.array([1, 2, 4]))[0].asnumpy(), expected)


def test_two_numbers_are_refused():
    with pytest.raises(ArgumentError, match=r"sym\._equal: .* expected a Symbol, or a Symbol and a number"):
        sym._equal(1, 2)


def test_functions_of_two_numbers_answer_with_a_number():
    assert (sym.maximum(3, 4), sym.minimum(left=3, right=4), sym.pow(3, exp=4), sym.power(2, 3)) == (4, 3, 81, 8)
    assert sym.hypot(3, 4) == 5.0


def test_draws_are_those_of_nd_random():
    x = sym.var("x")
    for make, eager in (
        (sym.random.normal(1, 2, shape=(2, 3)), lambda: nd.random.normal(1, 2, shape=(2, 3))),
        (sym.random.exponential(3, shape=(4,)), lambda: nd.random.exponential(3, shape=(4,))),
        (sym.random.randint(0, 9, shape=(5,)), lambda: nd.random.randint(0, 9, shape=(5,))),
    ):
        mx.random.seed(3)
        (drawn,) = make.eval()
        mx.random.seed(3)
        np.testing.assert_array_equal(drawn.asnumpy(), eager().asnumpy())
    assert sym.random.uniform(x, x + 1, shape=(2,)).values[0].node.kind == "_sample_uniform"
    executor = sym.random.uniform(shape=(8,)).bind(mx.cpu())
    assert (executor.forward()[0].asnumpy() != executor.forward()[0].asnumpy()).any()


def test_the_gradient_of_a_symbol_is_a_symbol():
    x, y = sym.var("x"), sym.var("y")
    gradient = sym.tanh(x * y).gradient(["y", "x"])
    assert gradient.infer_shape(x=(2,), y=(2,)) == ([(2,), (2,)], [(2,), (2,)], [])
    values = {"x": nd.array([0.5, 1]), "y": nd.array([2, -1])}
    for array in values.values():
        array.attach_grad()
    with autograd.record():
        z = nd.tanh(values["x"] * values["y"])
    z.backward()
    for _ in range(3):
        of_y, of_x = gradient.eval(**values)
        np.testing.assert_allclose(of_y.asnumpy(), values["y"].grad.asnumpy(), rtol=1e-6)
        np.testing.assert_allclose(of_x.asnumpy(), values["x"].grad.asnumpy(), rtol=1e-6)
    with pytest.raises(ArgumentError, match=r"gradient: there is no argument 'z'; its arguments are x, y\."):
        (x * y).gradient(["z"])


def test_a_recorded_computation_is_a_symbol():
    x, w = nd.array([[1, 2]]), nd.array([[3, 4], [5, 6]])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = nd.softmax(nd.FullyConnected(x, w, no_bias=True, num_hidden=2))
    symbol = autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0", "var1"]
    np.testing.assert_allclose(symbol.eval(var0=x, var1=w)[0].asnumpy(), y.asnumpy())
    with pytest.raises(NotRecordedError, match=r"autograd\.get_symbol: this array"):
        autograd.get_symbol(nd.ones((2,)))


ARITHMETIC = ["+", "-", "*", "/", "%", "**", "==", "!=", ">", ">=", "<", "<="]
SCALARS = [2, 0, -3, 2.5, 0.1, True, np.float32(0.1), np.float64(0.3), np.int32(7)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("sign", ARITHMETIC)
def test_recorded_numbers_are_part_of_the_symbol(sign, dtype):
    x = nd.array([0.75, 1, 2, 4], dtype=dtype)
    x.attach_grad()
    for number in SCALARS:
        for text in (f"x {sign} number", f"number {sign} x"):
            if text.startswith("number") and isinstance(number, np.generic) and sign in ARITHMETIC[6:]:
                continue  # NumPy answers, with a bool
            with autograd.record(), np.errstate(all="ignore"):
                y = eval(text, {"x": x, "number": number})
            symbol = sym.load_json(autograd.get_symbol(y).tojson())
            assert symbol.list_arguments() == ["var0"], text
            with np.errstate(all="ignore"):
                (got,) = symbol.bind(mx.cpu(), {"var0": x}).forward()
            assert got.dtype == y.dtype
            np.testing.assert_array_equal(got.asnumpy(), y.asnumpy(), f"{text}, {number!r}")


@pytest.mark.parametrize("sign", ARITHMETIC[:6])
def test_numbers_beside_arrays_with_numpys_semantics(sign):
    x = mx.np.array([0.75, 1, 2, 4])
    x.attach_grad()
    for number in SCALARS[:6]:
        for text in (f"x {sign} number", f"number {sign} x"):
            with autograd.record(), np.errstate(all="ignore"):
                y = eval(text, {"x": x, "number": number})
            symbol = autograd.get_symbol(y)
            assert symbol.list_arguments() == ["var0"], text
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(symbol.eval(var0=nd.array(x.asnumpy()))[0].asnumpy(), y.asnumpy())


def test_a_number_that_was_rounded_is_written_in_as_few_digits():
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        y = 0.1 - x
    assert autograd.get_symbol(y).attr_dict()["_rminusscalar0"]["scalar"] == "0.1"


def test_a_number_is_what_it_was_when_it_was_recorded():
    x, number = nd.array([1, 2]), np.array(3, dtype="float32")
    x.attach_grad()
    with autograd.record():
        y = nd.broadcast_add(x, number) + (2 * x) // 1
    number[...] = 5
    symbol = autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0"]
    np.testing.assert_array_equal(symbol.eval(var0=x)[0].asnumpy(), y.asnumpy())


def test_arrays_without_gradients_stay_variables():
    x, w = nd.array([1, 2]), nd.array([3])
    x.attach_grad()
    with autograd.record():
        y = x + w
    assert autograd.get_symbol(y).list_arguments() == ["var0", "var1"]
