"""What the operator table does not say: integers, numbers as operands, ties, edge values, and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.core.errors import ArgumentError, DTypeError, MissingDependencyError, NoGradientError, ShapeError
from minpy.ops import registry

NAN = float("nan")
INFINITY = float("inf")


def gradient(function: Callable[[Any], Any], values: Any) -> list[Any]:
    x = nd.array(values)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward()
    return x.grad.asnumpy().tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sqrt", [1, 1, 2]), ("exp", [2, 7, 148]), ("reciprocal", [1, 0, 0]), ("sigmoid", [0, 0, 0]), ("log2", [0, 1, 2])],
)
def test_integers_keep_their_dtype(name: str, expected: list[int]) -> None:
    result = getattr(nd, name)(nd.array([1, 2, 5], dtype="int32"))
    assert result.dtype == np.int32
    assert result.asnumpy().tolist() == expected


def test_quotients_of_integers_are_truncated() -> None:
    x = nd.array([7, -7], dtype="int32")
    for quotient in (
        x / 2,
        x / nd.array([2, 2], dtype="int32"),
        nd.divide(x, 2),
        nd.elemwise_div(x, nd.array([2, 2], dtype="int32")),
    ):
        assert quotient.dtype == np.int32
        assert quotient.asnumpy().tolist() == [3, -3]
    assert (x.as_np_ndarray() / 2).asnumpy().tolist() == [3.5, -3.5], "NumPy's semantics"


def test_numbers_are_cast_to_the_arrays_dtype() -> None:
    x = nd.array([2, 3, -2], dtype="int32")
    assert nd.maximum(x, -1.5).asnumpy().tolist() == [2, 3, -1]
    assert nd.lesser(x, 2.5).asnumpy().tolist() == (x < 2.5).asnumpy().tolist() == [0, 0, 1]
    assert nd.add(2.9, x).dtype == np.int32
    assert nd.clip(x, -0.5, 2.5).asnumpy().tolist() == [2, 2, 0]
    half = nd.array([1, 2], dtype="float16")
    assert nd.maximum(half, 1.5).dtype == nd.maximum(1.5, half).dtype == np.float16
    assert nd.maximum(1, 2) == 2


def test_reductions_keep_integer_dtypes() -> None:
    assert nd.sum(nd.array([200, 100], dtype="uint8")).asnumpy().tolist() == [44]
    mean = nd.mean(nd.array([1, 2], dtype="int32"))
    assert (mean.dtype, mean.asscalar()) == (np.int32, 1)
    assert nd.argmax(nd.array([1, 3], dtype="int32")).dtype == np.int32
    assert nd.norm(nd.array([3, 4], dtype="int64")).asnumpy().tolist() == [5]


@pytest.mark.parametrize("axis", [None, (), (0, 1), [0, 1]])
def test_reductions_over_everything_have_shape_one(axis: Any) -> None:
    x = nd.ones((2, 3))
    for operator in (nd.sum, nd.mean, nd.prod, nd.max, nd.min, nd.norm, nd.nansum, nd.nanprod):
        assert operator(x, axis=axis).shape == (1,)
        assert operator(x, axis=axis, keepdims=True).shape == (1, 1)
    assert nd.sum(x, axis=(), exclude=True).shape == (1,)


def test_float16_accumulates_in_float32() -> None:
    many = nd.ones((70000,), dtype="float16")
    assert nd.mean(many).asscalar() == 1
    assert nd.norm(nd.full((4,), 300, dtype="float16")).asscalar() == 600


def test_ties() -> None:
    assert gradient(lambda x: nd.max(x, axis=1), [[1, 2, 2], [3, 0, 3]]) == [[0, 1, 1], [1, 0, 1]]
    assert gradient(lambda x: nd.min(x), [[1, 2], [1, 3]]) == [[1, 0], [1, 0]]
    assert gradient(lambda x: nd.maximum(x, 1), [0, 1, 2]) == [0, 1, 1]
    assert gradient(lambda x: nd.maximum(1, x), [0, 1, 2]) == [0, 0, 1]
    assert gradient(lambda x: nd.minimum(x, nd.ones(3)), [0, 1, 2]) == [1, 1, 0]
    assert gradient(lambda x: nd.clip(x, 2, 3), [1, 2, 2.5, 3, 4]) == [0, 1, 1, 1, 0]
    assert gradient(nd.relu, [-1, 0, 1]) == [0, 0, 1]
    assert gradient(nd.abs, [-2, 0, 3]) == [-1, 0, 1]
    assert nd.argmax(nd.array([1, 5, 5])).asscalar() == 1


def test_halves() -> None:
    x = nd.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    assert nd.round(x).asnumpy().tolist() == [-3, -2, -1, 1, 2, 3]
    assert nd.rint(x).asnumpy().tolist() == [-3, -2, -1, 0, 1, 2]
    assert np.round(x).asnumpy().tolist() == [-2, -2, 0, 0, 2, 2]
    exact = nd.array([0.49999997, 8388609.0, -INFINITY])
    assert nd.round(exact).asnumpy().tolist() == [0, 8388609, -INFINITY]


def test_zeros_in_products_and_norms() -> None:
    """Where the formula divides by zero, the gradient is what it is in the limit."""
    assert gradient(lambda x: nd.prod(x, axis=1), [[0, 2, 3], [0, 0, 5]]) == [[6, 0, 0], [0, 0, 0]]
    assert gradient(lambda x: nd.norm(x, axis=1), [[0, 0], [3, 4]]) == [[0, 0], [np.float32(0.6), np.float32(0.8)]]
    assert gradient(lambda x: x**0, [0, 2]) == [0, 0]
    assert gradient(lambda x: x**2, [-1, 0]) == [-2, 0]


def test_not_a_number() -> None:
    x = nd.array([[1, NAN], [2, 3]])
    assert nd.nansum(x, axis=1).asnumpy().tolist() == [1, 5]
    assert gradient(nd.nansum, [1, NAN, 2]) == [1, 0, 1]
    assert gradient(nd.nanprod, [2, NAN, 5]) == [5, 0, 2]
    assert np.isnan(nd.max(x, axis=1).asnumpy()).tolist() == [True, False]
    assert np.isnan(nd.maximum(x, 2).asnumpy()).tolist() == [[False, True], [False, False]]
    assert nd.where(nd.array([NAN, 0]), nd.array([1, 1]), nd.array([2, 2])).asnumpy().tolist() == [1, 2]
    assert gradient(lambda v: nd.where(nd.array([1, 0]), nd.sqrt(v), v), [4, 4]) == [0.25, 1]


def test_sigmoid_does_not_overflow() -> None:
    for dtype in ("float16", "float32", "float64"):
        assert nd.sigmoid(nd.array([-1000, 0, 1000], dtype=dtype)).asnumpy().tolist() == [0, 0.5, 1]


def test_add_n_gives_each_its_gradient() -> None:
    assert gradient(lambda x: nd.add_n(x, x, nd.ones(2), x), [1, 2]) == [3, 3]


def test_aliases_are_the_same_operator() -> None:
    assert nd.sum is nd.sum_axis
    assert nd.max is nd.max_axis
    assert nd.min is nd.min_axis
    assert nd.add_n is nd.ElementWiseSum
    assert nd.trunc is nd.fix
    assert nd.broadcast_add is nd.broadcast_plus is nd.add
    assert nd.broadcast_sub is nd.broadcast_minus is nd.subtract


def test_methods_are_operators() -> None:
    x = nd.array([[1, 2], [3, 4]])
    assert x.sum(axis=1).asnumpy().tolist() == [3, 7]
    assert x.clip(2, 3).asnumpy().tolist() == [[2, 2], [3, 3]]
    assert x.argmax(axis=1).asnumpy().tolist() == [1, 1]
    assert x.square().sqrt().max().asscalar() == 4


# -- errors ------------------------------------------------------------------------------------------------------------

MATRIX = nd.ones((2, 3))
VECTOR = nd.ones((3,))

ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: nd.elemwise_add(MATRIX, VECTOR),
        ShapeError,
        r"elemwise_add: the shapes differ: lhs \(2, 3\) and rhs \(3,\) must be equal. Use broadcast_add",
    ),
    (lambda: nd.add_n(MATRIX, MATRIX, VECTOR), ShapeError, r"add_n: .* args\[0\] \(2, 3\) and args\[2\] \(3,\)"),
    (lambda: nd.add_n(), ShapeError, r"add_n: no array given"),
    (lambda: nd.broadcast_add(MATRIX, nd.ones((2,))), ShapeError, r"broadcast_add: shapes do not broadcast.*axis -1"),
    (lambda: nd.sum(MATRIX, axis=2), ShapeError, r"sum: axis 2 does not exist in an array of shape \(2, 3\)"),
    (lambda: nd.mean(MATRIX, axis=(1, -1)), ShapeError, r"mean: axis \(1, -1\) names an axis .* twice"),
    (lambda: nd.argmax(MATRIX, axis=(0, 1)), ArgumentError, r"argmax: axis is tuple of 2: \[int 0, int 1\]; expected"),
    (lambda: nd.argmax_channel(VECTOR), ShapeError, r"argmax_channel: axis 1 does not exist"),
    (lambda: nd.norm(MATRIX, ord=3), ArgumentError, r"norm: ord must be 1 or 2, got 3"),
    (lambda: nd.where(VECTOR, MATRIX, VECTOR), ShapeError, r"where: .* x \(2, 3\) and y \(3,\) do not fit"),
    (lambda: nd.clip(MATRIX, a_min=0), ArgumentError, r"clip: attribute 'a_max' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=[text[:20] for _, _, text in ERRORS])
def test_errors(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_special_functions_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    np.testing.assert_allclose(nd.erf(nd.array([0, 1])).asnumpy(), [0, 0.8427008], rtol=1e-6)
    with pytest.raises(MissingDependencyError, match=r"gammaln needs SciPy.*pip install scipy"):
        nd.gammaln(nd.array([1]))


INTEGERS = nd.array([[-3, 0, 2]], dtype="int32")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        *(
            ("Activation", partial(nd.Activation, act_type=kind))
            for kind in ("sigmoid", "tanh", "softrelu", "softsign")
        ),
        *(("LeakyReLU", partial(nd.LeakyReLU, act_type=kind)) for kind in ("leaky", "elu", "selu", "gelu")),
        ("hard_sigmoid", nd.hard_sigmoid),
        ("SoftmaxOutput", lambda data: nd.SoftmaxOutput(data, nd.array([1]))),
        ("LogisticRegressionOutput", lambda data: nd.LogisticRegressionOutput(data, data)),
        ("LayerNorm", lambda data: nd.LayerNorm(data, nd.ones(3), nd.zeros(3))),
    ],
)
def test_layers_that_integers_cannot_pass_say_so(name: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(DTypeError) as caught:
        call(INTEGERS)
    expected = f"{name}: data has dtype int32; expected a floating-point dtype. Use data.astype('float32')."
    assert str(caught.value) == expected


@pytest.mark.parametrize("kind", ["relu", "sigmoid", "tanh", "softrelu", "softsign"])
def test_activations_of_numbers_are_those_of_arrays(kind: str) -> None:
    assert nd.Activation(0.5, act_type=kind) == nd.Activation(np.array([0.5]), act_type=kind)[0]


def test_integers_are_rectified_exactly() -> None:
    assert nd.Activation(INTEGERS, act_type="relu").asnumpy().tolist() == [[0, 0, 2]]


# -- second order, where rules might read what they may not ------------------------------------------------------------


def second_order(function: Callable[..., Any], *values: Any) -> list[Any]:
    """Return the gradients of the sum of the first argument's gradient."""
    arrays = [nd.array(value, dtype="float64") for value in values]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        [first] = mx.autograd.grad(function(*arrays), [arrays[0]], create_graph=True, retain_graph=True)
    first.backward()
    return [array.grad.asnumpy().tolist() for array in arrays]


def test_the_exponents_part_of_a_powers_hessian_at_zero() -> None:
    """The derivative of y * x ** (y - 1) with respect to y is 1 / x where y is 0."""
    assert second_order(nd.broadcast_power, [2.0, 4.0], [0.0, 0.0])[1] == [0.5, 0.25]
    assert second_order(nd.broadcast_power, [0.0], [0.0])[0] == [0.0]


def test_output_layers_have_the_hessian_of_their_loss() -> None:
    x, label = [[0.5, -1.0]], [[1.0, 0.0]]
    assert second_order(nd.LinearRegressionOutput, x, label)[0] == [[0.5, 0.5]]
    assert second_order(nd.MAERegressionOutput, x, label)[0] == [[0, 0]]
    p = 1 / (1 + np.exp(-np.array(x)))
    np.testing.assert_allclose(second_order(nd.LogisticRegressionOutput, x, label)[0], p * (1 - p) / 2)


def test_softmax_output_has_no_second_order() -> None:
    with pytest.raises(NoGradientError) as caught:
        second_order(nd.SoftmaxOutput, [[0.5, -1.0]], [0])
    assert str(caught.value) == (
        "SoftmaxOutput has no second-order gradient: its gradient is that of a loss, and follows from the answer. "
        "For higher orders compute the loss, nd.softmax_cross_entropy(data, label)."
    )


def test_rules_of_unary_operators_may_take_any_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """What such a rule reads cannot be told from its code, so that all is kept."""
    monkeypatch.setitem(registry.FUNCTIONS, np.sin, registry.FUNCTIONS[np.sin])  # which the operator takes for itself
    sine = registry.operator(np.sin, name="_test_sine", public=False)
    sine.def_grad(lambda *given: lambda g: g * np.cos(given[1]))
    assert gradient(sine, [0.0, np.pi]) == [1, -1]
