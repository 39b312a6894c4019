"""`mx.test_utils`: the checks accept what is right, and say clearly what is wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import test_utils
from minpy.core.errors import ArgumentError, CheckError, ContextError, FileAccessError, ShapeError

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])
Y = np.array([[2.0, 3.0, -1.0], [0.5, 4.0, 1.0]])
ONES = np.ones((2, 3))


@mx.customop("numpy")
def wrong_square(data: Any) -> Any:
    """Return the square, with a gradient that is half of what it should be."""
    return data * data


wrong_square.def_grad(lambda ans, x: lambda g: g * x)


def product() -> Any:
    """Return x * y + x."""
    x, y = mx.sym.var("x"), mx.sym.var("y")
    return mx.sym.elemwise_add(mx.sym.elemwise_mul(x, y, name="xy"), x, name="sum")


def text_of(function: Any, *args: Any, **kwargs: Any) -> str:
    """Return the text of the failure of a check."""
    with pytest.raises(AssertionError) as caught:
        function(*args, **kwargs)
    assert isinstance(caught.value, CheckError)
    assert isinstance(caught.value, mx.MXNetError)
    return str(caught.value)


# -- comparisons -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        (X, X, {}),
        (X, X + 1e-6, {"rtol": 1e-3}),
        (X.astype("float32"), X + 9e-4, {}),
        (X.astype("float16"), X.astype("float32") + 0.05, {}),
        (mx.nd.array(X), X, {}),
        (np.zeros((2, 3)), np.zeros(3), {}),
        (np.zeros((2, 3)), 0.0, {}),
        ([1.0, 2.0], (1.0, 2.0), {}),
        (1.0, 1.0, {}),
        (np.zeros((0, 3)), np.zeros((0, 3)), {}),
        ([np.inf, -np.inf, 1], [np.inf, -np.inf, 1], {}),
        ([np.nan, 1], [np.nan, 1], {"equal_nan": True}),
        ([1, 2], [1.0, 2.00001], {}),
        ([True, False], [True, False], {}),
        (np.array([2**62 + 1]), np.array([2**62 + 1]), {}),
        ([1 + 1j], [1 + 1.0000001j], {}),
    ],
)
def test_what_is_almost_equal(a, b, options):
    assert test_utils.almost_equal(a, b, **options) is True
    assert test_utils.assert_almost_equal(a, b, **options) is None


@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        (X, X + 1e-3, {}),
        (X.astype("float32"), X + 1.3e-3, {"rtol": 0}),
        (np.zeros(3), np.full(3, 1e-6), {}),
        ([1, 2], [1, 3], {}),
        ([True, False], [True, True], {}),
        ([np.nan, 1], [np.nan, 1], {}),
        ([np.nan, 1], [0.0, 1], {"equal_nan": True}),
        ([np.inf], [-np.inf], {}),
        ([np.inf], [1.0], {"rtol": 1e9}),
        ([1.0], [np.inf], {}),
        (np.zeros((2, 3)), np.zeros(2), {}),
        (np.zeros((1, 3)), np.zeros(3), {"use_broadcast": False}),
        (np.uint8([0]), np.uint8([255]), {"atol": 10}),
        ([1 + 1j], [1 + 2j], {}),
    ],
)
def test_what_is_not_almost_equal(a, b, options):
    assert test_utils.almost_equal(a, b, **options) is False
    text_of(test_utils.assert_almost_equal, a, b, **options)


def test_a_failure_shows_the_worst_elements_first():
    text = text_of(test_utils.assert_almost_equal, X, X + np.array([[0, 1e-3, 0], [0.5, 0, 0]]), names=("got", "want"))
    assert text.splitlines() == [
        (
            "got and want differ in 2 of 6 elements (33.3%), at worst at (1, 0): got is 3.0, want is 3.5. The "
            "difference of 0.5 exceeds the tolerance atol 1e-20 + rtol 1e-05 * |want| = 3.5e-05 by a factor of "
            "1.43e+04."
        ),
        "  (1, 0): got 3.0, want 3.5",
        "  (0, 1): got -1.0, want -0.999",
        "  got: array([[ 0.5 , -1.  ,  2.  ],",
        "           [ 3.  ,  0.25, -0.5 ]])",
        "  want: array([[ 0.5  , -0.999,  2.   ],",
        "           [ 3.5  ,  0.25 , -0.5  ]])",
    ]


def test_a_failure_lists_as_many_elements_as_wanted_and_cuts_large_arrays():
    text = text_of(test_utils.assert_almost_equal, np.zeros(1000), np.arange(1000.0), 0, 0, mismatches=(3, 5))
    rows = text.splitlines()
    assert rows[0].startswith(
        "a and b differ in 999 of 1000 elements (99.9%), at worst at (999,): a is 0.0, b is 999.0"
    )
    assert rows[1:4] == [f"  ({index},): a 0.0, b {index}.0" for index in (999, 998, 997)]
    assert rows[4].startswith("  a: array([0., 0., 0., ..., 0., 0., 0.]")
    assert len(rows) == 6


def test_failures_with_nan_infinity_integers_and_scalars():
    text = text_of(test_utils.assert_almost_equal, [1.0, np.nan], [1.5, 1.0])
    assert "at worst at (1,): a is nan, b is 1.0. The difference of nan exceeds" in text
    text = text_of(test_utils.assert_almost_equal, [1, 2], [1, 3])
    assert text.startswith(
        "a and b differ in 1 of 2 elements (50%), at worst at (1,): a is 2, b is 3. The difference of 1 exceeds the "
        "tolerance atol 0 + rtol 0 * |b| = 0.\n"
    )
    text = text_of(test_utils.assert_almost_equal, 1.0, 2.0)
    assert text.startswith("a and b differ in 1 of 1 elements (100%), a is 1.0, b is 2.0.")


def test_failures_of_shapes():
    text = text_of(test_utils.assert_almost_equal, np.zeros((2, 3)), np.zeros(2))
    assert text == "a has shape (2, 3), b has shape (2,); these do not broadcast."
    text = text_of(test_utils.assert_almost_equal, np.zeros((1, 3)), np.zeros(3), use_broadcast=False)
    assert text == "a has shape (1, 3), b has shape (3,); they must be equal, as use_broadcast is False."
    with pytest.raises(ArgumentError, match=r"^b is str 'one'; expected an array of numbers\.$"):
        test_utils.assert_almost_equal(1.0, "one")


def test_where_neither_is_nan():
    test_utils.assert_almost_equal_ignore_nan([np.nan, 1.0, 2.0], [3.0, np.nan, 2.0])
    text = text_of(test_utils.assert_almost_equal_ignore_nan, [np.nan, 1.0], [3.0, 2.0])
    assert text.startswith("a and b differ in 1 of 2 elements (50%), at worst at (1,): a is 1.0, b is 2.0.")


def test_same_and_same_array():
    x = mx.nd.array([1, 2])
    assert test_utils.same(x, np.array([1.0, 2.0]))
    assert not test_utils.same(x, np.array([[1.0, 2.0]]))
    assert not test_utils.same(np.array([np.nan]), np.array([np.nan]))
    assert test_utils.same_array(x, x[:])
    assert not test_utils.same_array(x, x.copy())


def test_exceptions():
    test_utils.assert_exception(lambda: 1 / 0, ZeroDivisionError)
    test_utils.assert_exception(int, ValueError, "x")
    assert text_of(test_utils.assert_exception, int, ValueError, "1") == "int did not raise ValueError."
    with pytest.raises(IndexError):
        test_utils.assert_exception(lambda: [][0], ValueError)


# -- defaults and random arrays ----------------------------------------------------------------------------------------


def test_tolerances_are_those_of_mxnet():
    assert [test_utils.get_rtol(dtype=d) for d in ("float16", "float32", "float64", "int8", "bool")] == [
        *(1e-2, 1e-4, 1e-5, 0, 0)
    ]
    assert [test_utils.get_atol(dtype=d) for d in ("float16", "float32", "float64", "int8", "bool")] == [
        *(1e-1, 1e-3, 1e-20, 0, 0)
    ]
    assert (test_utils.get_rtol(), test_utils.get_atol(), test_utils.get_rtol(0.5)) == (1e-5, 1e-20, 0.5)
    assert test_utils.default_numeric_eps() == {
        np.dtype("float16"): 0.015625,
        np.dtype("float32"): 0.001953125,
        np.dtype("float64"): 6.103515625e-05,
    }
    assert test_utils.default_dtype() is np.float32


def test_default_context():
    try:
        test_utils.set_default_context(mx.cpu(1))
        assert test_utils.default_context() == mx.current_context() == mx.cpu(1)
        assert mx.nd.zeros(2).context == mx.cpu(1)
        with mx.cpu(2):
            assert test_utils.default_context() == mx.cpu(2)
        assert test_utils.default_context() == mx.cpu(1)
    finally:
        test_utils.set_default_context(mx.cpu(0))
    with pytest.raises(ContextError, match=r"cannot allocate on gpu\(0\)"):
        test_utils.set_default_context(mx.gpu())
    assert list(test_utils.list_gpus()) == []


def test_random_arrays():
    assert isinstance(test_utils.rand_ndarray((2, 3)), mx.nd.NDArray)
    assert test_utils.rand_ndarray((2, 3)).dtype == np.float32
    assert test_utils.rand_ndarray((2, 3), dtype="float64").dtype == np.float64
    np.random.seed(3)
    first = test_utils.rand_ndarray((4,)).asnumpy()
    np.random.seed(3)
    assert test_utils.same(first, test_utils.rand_ndarray((4,)))
    with pytest.raises(ArgumentError, match=r"^rand_ndarray: storage 'csr' is not supported; arrays are dense"):
        test_utils.rand_ndarray((2, 3), "csr", density=0.5)
    one = test_utils.random_arrays((2, 3))
    assert (one.shape, one.dtype) == ((2, 3), np.float32)
    assert [x.shape for x in test_utils.random_arrays((2,), (), (1, 2))] == [(2,), (), (1, 2)]
    assert test_utils.random_arrays() == []


def test_random_shapes():
    shapes = {test_utils.rand_shape_2d(2, 3) for _ in range(200)}
    assert shapes == {(a, b) for a in (1, 2) for b in (1, 2, 3)}
    assert {test_utils.rand_shape_nd(1, 2, allow_zero_size=True) for _ in range(100)} == {(0,), (1,), (2,)}
    assert all(type(length) is int for length in test_utils.rand_shape_3d())
    assert len(test_utils.rand_shape_nd(5)) == 5


# -- checks of symbols -------------------------------------------------------------------------------------------------


def test_simple_forward():
    x = mx.sym.var("x")
    result = test_utils.simple_forward(x * 2, x=X)
    assert isinstance(result, np.ndarray)
    assert test_utils.same(result, X * 2)
    first, second = test_utils.simple_forward(mx.sym.Group([x * 2, x + 1]), x=mx.nd.array(X))
    assert test_utils.same(first, X * 2)
    assert test_utils.same(second, X + 1)
    norm = mx.sym.BatchNorm(x, fix_gamma=False, eps=0.0, name="bn")
    given = {"bn_gamma": np.ones(3), "bn_beta": np.zeros(3), "bn_moving_mean": np.ones(3), "bn_moving_var": np.ones(3)}
    test_utils.assert_almost_equal(test_utils.simple_forward(norm, x=X, **given), X - 1, rtol=1e-3)
    with pytest.raises(ArgumentError, match=r"^simple_forward: the symbol is int 3; expected a Symbol\.$"):
        test_utils.simple_forward(3)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ([X, Y], [X * Y + X]),
        ((X, Y), (X * Y + X,)),
        ({"x": X, "y": Y}, {"sum_output": X * Y + X}),
        ([mx.nd.array(X), Y], [mx.nd.array(X * Y + X)]),
        ([X, Y], [None]),
    ],
)
def test_forward_that_is_right(location, expected):
    outputs = test_utils.check_symbolic_forward(product(), location, expected)
    assert isinstance(outputs[0], mx.nd.NDArray)
    assert test_utils.almost_equal(outputs[0], X * Y + X)


def test_forward_that_is_wrong():
    wrong = X * Y + X
    wrong[1, 0] += 1
    text = text_of(test_utils.check_symbolic_forward, product(), [X, Y], [wrong])
    assert text.startswith(
        "check_symbolic_forward: output 'sum_output' is wrong: EXPECTED_sum_output and FORWARD_sum_output differ in 1 "
        "of 6 elements (16.7%), at worst at (1, 0): EXPECTED_sum_output is 5.5, FORWARD_sum_output is 4.5. The "
        "difference of 1 exceeds the tolerance atol 0.001 + rtol 0.0001 * |FORWARD_sum_output| = 0.00145 by a factor "
        "of 690."
    )
    assert test_utils.check_symbolic_forward(product(), [X, Y], [wrong], atol=1.1)
    x = mx.sym.var("x")
    group = mx.sym.Group([mx.sym.exp(x, name="a"), mx.sym.square(x, name="b")])
    text = text_of(test_utils.check_symbolic_forward, group, [X], [np.exp(X), X])
    assert text.startswith("check_symbolic_forward: output 'b_output' is wrong: ")
    assert text.endswith("\nRight: a_output.")
    text = text_of(test_utils.check_symbolic_forward, x * 0 + np.nan, [X], [X * np.nan])
    assert "differ in 6 of 6 elements (100%)" in text
    test_utils.check_symbolic_forward(x * 0 + np.nan, [X], [X * np.nan], equal_nan=True)


def test_forward_in_other_dtypes_with_states_and_outside_of_training():
    x = mx.sym.var("x")
    assert test_utils.check_symbolic_forward(x * 2, [X], [X * 2], dtype="float64")[0].dtype == np.float64
    assert test_utils.check_symbolic_forward(x * 2, [X], [X * 2], dtype=None)[0].dtype == np.float64
    assert test_utils.check_symbolic_forward(x * 2, [X], [X * 2], dtype="asnumpy")[0].dtype == np.float64
    norm = mx.sym.BatchNorm(x, fix_gamma=False, eps=0.0, name="bn")
    location, states = [X, np.ones(3), np.zeros(3)], [np.ones(3), np.full(3, 4.0)]
    test_utils.check_symbolic_forward(norm, location, [(X - 1) / 2], rtol=1e-3, aux_states=states)
    by_name = {"bn_moving_var": np.full(3, 4.0), "bn_moving_mean": np.ones(3)}
    test_utils.check_symbolic_forward(norm, location, [(X - 1) / 2], rtol=1e-3, aux_states=by_name)
    with pytest.raises(ArgumentError) as caught:
        test_utils.check_symbolic_forward(norm, location, [X])
    assert str(caught.value) == (
        "check_symbolic_forward: aux_states has 0 values; the symbol has 2 auxiliary states: bn_moving_mean, "
        "bn_moving_var."
    )


@pytest.mark.parametrize(
    ("out_grads", "expected", "options"),
    [
        ([ONES], [Y + 1, X], {}),
        ([ONES * 2], [2 * (Y + 1), 2 * X], {}),
        ({"sum_output": ONES}, {"x": Y + 1}, {}),
        ([mx.nd.array(ONES)], [mx.nd.array(Y + 1), None], {}),
        ([ONES], [Y + 1, X], {"grad_req": "add"}),
        ([ONES], [Y + 1, X], {"grad_req": "null"}),
        ([ONES], [Y + 1, ONES * 7], {"grad_req": {"x": "write"}}),
        ([ONES], [Y + 1, X], {"grad_req": ["write", "add"]}),
        ([ONES], [Y + 1, X], {"dtype": "float64"}),
    ],
)
def test_backward_that_is_right(out_grads, expected, options):
    gradients = test_utils.check_symbolic_backward(product(), [X, Y], out_grads, expected, **options)
    assert all(isinstance(gradient, mx.nd.NDArray) for gradient in gradients.values())
    assert set(gradients) == ({"x", "y"} if isinstance(expected, list) and expected[1] is not None else {"x"})


def test_backward_that_is_wrong():
    text = text_of(test_utils.check_symbolic_backward, product(), [X, Y], [ONES], [Y + 1, X + np.diag([1, 0, 0])[:2]])
    assert text.startswith(
        "check_symbolic_backward: the gradient of 'y' is wrong: EXPECTED_y and BACKWARD_y differ in 1 of 6 elements "
        "(16.7%), at worst at (0, 0): EXPECTED_y is 1.5, BACKWARD_y is 0.5."
    )
    assert text.endswith("\nRight: x.")
    text = text_of(test_utils.check_symbolic_backward, product(), [X, Y], [ONES], [Y, Y], grad_req="add")
    assert "the gradient of 'x' is wrong" in text
    assert "the gradient of 'y' is wrong" in text
    assert "grad_req is 'add': what was there before is subtracted." in text
    x = mx.sym.var("x")
    text = text_of(test_utils.check_symbolic_backward, wrong_square(x), [X], [ONES], [2 * X])
    assert "EXPECTED_x and BACKWARD_x differ in 6 of 6 elements (100%)" in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numeric_gradients_that_are_right(dtype):
    x = mx.sym.var("x")
    test_utils.check_numeric_gradient(product(), [X, Y], dtype=dtype)
    test_utils.check_numeric_gradient(product(), {"y": Y, "x": mx.nd.array(X)}, dtype=dtype)
    test_utils.check_numeric_gradient(product(), [X, Y], grad_nodes=["y"], dtype=dtype)
    requests = {"x": "add", "y": "null"}
    test_utils.check_numeric_gradient(product(), [X, Y], grad_nodes=requests, dtype=dtype)
    test_utils.check_numeric_gradient(mx.sym.Group([mx.sym.tanh(x), mx.sym.exp(x)]), [X], dtype=dtype, rtol=1e-3)
    layer = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
    location = [X, np.random.standard_normal((2, 3)), np.zeros(2)]
    test_utils.check_numeric_gradient(layer, location, dtype=dtype, numeric_eps=1e-2, rtol=1e-2, atol=1e-3)


def test_numeric_gradients_with_states():
    norm = mx.sym.BatchNorm(mx.sym.var("x"), fix_gamma=False, name="bn")
    location = [np.random.standard_normal((6, 3)), np.ones(3), np.zeros(3)]
    states = {"bn_moving_mean": np.zeros(3), "bn_moving_var": np.ones(3)}
    test_utils.check_numeric_gradient(norm, location, states, dtype="float64")
    text = text_of(test_utils.check_numeric_gradient, norm, location, states, use_forward_train=False, dtype="float64")
    assert text.startswith(
        "check_numeric_gradient: the gradient of 'x' is wrong: NUMERICAL_x and BACKWARD_x differ in "
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numeric_gradients_that_are_wrong(dtype):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = mx.sym.elemwise_mul(wrong_square(x), y)
    text = text_of(test_utils.check_numeric_gradient, net, [X, Y], dtype=dtype)
    assert re.match(
        r"check_numeric_gradient: the gradient of 'x' is wrong: NUMERICAL_x and BACKWARD_x differ in 6 of 6 elements "
        r"\(100%\), at worst at \(\d, \d\): NUMERICAL_x is -?\d",
        text,
    )
    assert text.endswith("\nRight: y.")
    assert test_utils.check_numeric_gradient(net, [X, Y], grad_nodes=["y"], dtype=dtype) is None
    text = text_of(test_utils.check_numeric_gradient, mx.sym.BlockGrad(x) * x, [X], dtype=dtype)
    assert "NUMERICAL_x and BACKWARD_x differ in 6 of 6" in text


def test_rounding_does_not_make_right_gradients_wrong():
    conv = mx.sym.Convolution(mx.sym.var("x"), kernel=(3, 3), num_filter=3, name="conv")
    for seed in range(5):
        np.random.seed(seed)
        location = [np.random.standard_normal(shape) for shape in ((2, 2, 5, 5), (3, 2, 3, 3), (3,))]
        test_utils.check_numeric_gradient(conv, location)


def test_operators_that_refuse_float64_are_differentiated_in_their_own_dtype():
    @mx.customop("numpy")
    def only_float32(data: Any) -> Any:
        if data.dtype != np.float32:
            raise TypeError("float32, please")
        return data * data

    only_float32.def_grad(lambda ans, x: lambda g: g * 2 * x)
    test_utils.check_numeric_gradient(only_float32(mx.sym.var("x")), [X])
    with pytest.warns(UserWarning, match="is defined already"):
        only_float32.def_grad(lambda ans, x: lambda g: g * 3 * x)
    text = text_of(test_utils.check_numeric_gradient, only_float32(mx.sym.var("x")), [X])
    assert "NUMERICAL_x and BACKWARD_x differ in 6 of 6" in text


def test_a_gradient_that_is_written_against_grad_req_is_wrong():
    class Rude(type(product())):
        """A symbol whose executor writes all gradients, whatever was asked for."""

        __slots__ = ()

        def bind(self, ctx, args, args_grad=None, grad_req="write", aux_states=None):
            return super().bind(ctx, args, args_grad, "write", aux_states)

    rude = Rude(product().values)
    text = text_of(test_utils.check_symbolic_backward, rude, [X, Y], [ONES], [Y + 1, X], grad_req={"x": "write"})
    assert text.startswith("check_symbolic_backward: the gradient of 'y' is wrong: ")
    assert "grad_req is 'null': backward must not write this gradient." in text
    text = text_of(test_utils.check_symbolic_backward, rude, [X, Y], [ONES], [Y + 1, X], grad_req="add")
    assert text.count("is wrong") == 2
    text = text_of(test_utils.check_numeric_gradient, rude, [X, Y], grad_nodes={"x": "write", "y": "null"})
    assert "BEFORE_y and BACKWARD_y differ" in text


def test_random_outputs_cannot_be_differentiated():
    net = mx.sym.Dropout(mx.sym.var("x"), p=0.5)
    text = text_of(test_utils.check_numeric_gradient, net, [np.ones((8, 8))])
    assert text.startswith("check_numeric_gradient: the outputs are not the same in every run: ")
    assert text.endswith("check without the random operators, or with use_forward_train=False.")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: test_utils.check_symbolic_forward(product(), [X], [X]),
            "check_symbolic_forward: location has 1 values; the symbol has 2 arguments: x, y.",
        ),
        (
            lambda: test_utils.check_symbolic_forward(product(), {"x": X}, [X]),
            "check_symbolic_forward: location lacks 'y'; the symbol's arguments are x, y.",
        ),
        (
            lambda: test_utils.check_symbolic_forward(product(), {"x": X, "yy": Y}, [X]),
            "check_symbolic_forward: location has 'yy'; the symbol's arguments are x, y. Did you mean 'y'?",
        ),
        (
            lambda: test_utils.check_symbolic_forward(product(), X, [X]),
            "check_symbolic_forward: location is float64 (2, 3); expected a list or a dict of arrays.",
        ),
        (
            lambda: test_utils.check_symbolic_forward(product(), [X, Y], []),
            "check_symbolic_forward: expected has 0 values; the symbol has 1 outputs: sum_output.",
        ),
        (
            lambda: test_utils.check_symbolic_backward(product(), [X, Y], ONES, [Y, X]),
            "check_symbolic_backward: out_grads is float64 (2, 3); expected a list or a dict of arrays.",
        ),
        (
            lambda: test_utils.check_symbolic_backward(product(), [X, Y], [ONES], {"z": X}),
            "check_symbolic_backward: expected has 'z'; the symbol's arguments are x, y.",
        ),
        (
            lambda: test_utils.check_symbolic_backward(product(), [X, Y], [ONES], [Y, X], grad_stypes={"x": "csr"}),
            "check_symbolic_backward: storage 'csr' is not supported; arrays are dense: 'default'.",
        ),
        (
            lambda: test_utils.check_numeric_gradient(product(), [X, Y], grad_nodes=["q"]),
            "check_numeric_gradient: grad_nodes has 'q'; the symbol's arguments are x, y.",
        ),
        (
            lambda: test_utils.check_numeric_gradient(product(), [X, Y], grad_nodes="x"),
            "check_numeric_gradient: grad_nodes is 'x'; expected a list or dict: ['x'].",
        ),
        (
            lambda: test_utils.check_numeric_gradient(product(), [X, Y], dtype="int32"),
            "check_numeric_gradient: dtype is 'int32'; expected one of float16, float32, float64.",
        ),
        (
            lambda: test_utils.check_numeric_gradient(3, [X]),
            "check_numeric_gradient: the symbol is int 3; expected a Symbol.",
        ),
    ],
)
def test_what_does_not_fit_the_symbol(call, text):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert str(caught.value) == text


def test_gradients_of_the_wrong_shape():
    with pytest.raises(ShapeError, match=r"sum_output has shape \(3,\); expected \(2, 3\)"):
        test_utils.check_symbolic_backward(product(), [X, Y], [np.ones(3)], [Y, X])


# -- files -------------------------------------------------------------------------------------------------------------


def test_download(tmp_path):
    source = tmp_path / "source.txt"
    source.write_bytes(b"one")
    folder = tmp_path / "new" / "folder"
    path = test_utils.download(source.as_uri(), dirname=str(folder))
    assert path == str(folder / "source.txt")
    assert (folder / "source.txt").read_bytes() == b"one"
    source.write_bytes(b"two")
    test_utils.download(source.as_uri(), dirname=str(folder))
    assert (folder / "source.txt").read_bytes() == b"one"
    test_utils.download(source.as_uri(), dirname=str(folder), overwrite=True)
    assert (folder / "source.txt").read_bytes() == b"two"
    named = test_utils.download(source.as_uri() + "#part", fname="other.txt", dirname=str(folder))
    assert named == str(folder / "other.txt")


def test_download_that_fails(tmp_path):
    url = (tmp_path / "missing.txt").as_uri()
    with pytest.raises(FileAccessError, match=rf"^download: {re.escape(url)} was not fetched in 1 attempt\(s\): "):
        test_utils.download(url, dirname=str(tmp_path / "to"), retries=1)
    assert list((tmp_path / "to").iterdir()) == []
    with pytest.raises(
        ArgumentError, match=r"^download: 'http://host/' does not end in the name of a file; pass fname="
    ):
        test_utils.download("http://host/")
