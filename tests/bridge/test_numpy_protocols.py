"""NumPy's, autograd's and SciPy's functions on recorded arrays: the right gradient, or the right error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd as hips
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.core.errors import NoGradientError

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
POSITIVE = np.array([[0.3, 1.2, 2.1], [1.7, 0.4, 0.6]])
OTHER = np.array([[1.5, -0.7, 0.22]])


def tape_gradient(function: Callable[[Any], Any], x: np.ndarray, numpy_semantics: bool = False) -> np.ndarray:
    """Return the gradient of the sum of a function's result, by `record` and `backward`."""
    variable = nd.array(x, dtype="float64")
    if numpy_semantics:
        variable = variable.as_np_ndarray()
    variable.attach_grad()
    with mx.autograd.record():
        total = (function(variable) * 1.0).sum()
    total.backward()
    return variable.grad.asnumpy()


def numeric_gradient(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    gradient = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[index] += 1e-6
        behind[index] -= 1e-6
        gradient[index] = (np.sum(function(ahead)) - np.sum(function(behind))) / 2e-6
    return gradient


def both_ways(function: Callable[[Any], Any], x: np.ndarray) -> None:
    """Check values and gradients on NDArrays and on arrays with NumPy's semantics, and to second order."""
    expected = numeric_gradient(function, x)
    for numpy_semantics in (False, True):
        np.testing.assert_allclose(tape_gradient(function, x, numpy_semantics), expected, rtol=1e-5, atol=1e-7)
    variable = nd.array(x, dtype="float64")
    variable.attach_grad()
    with mx.autograd.record():
        total = (function(variable) * 1.0).sum()
        [first] = mx.autograd.grad(total, [variable], create_graph=True)
        again = (first * nd.array(OTHER * np.ones_like(x), dtype="float64")).sum()
    if again._node is None:
        return
    again.backward()
    step = 1e-5 * OTHER
    ahead, behind = (tape_gradient(function, x + sign * step) for sign in (1, -1))
    np.testing.assert_allclose(variable.grad.asnumpy(), (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-6)


UFUNCS = [
    "abs",
    "absolute",
    "arctan",
    "arcsinh",
    "cbrt",
    "conj",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "negative",
    "positive",
    "rad2deg",
    "radians",
    "reciprocal",
    "sin",
    "sinc",
    "sinh",
    "square",
    "tan",
    "tanh",
]
POSITIVE_UFUNCS = ["log", "log10", "log1p", "log2", "sqrt"]


@pytest.mark.parametrize("name", UFUNCS)
def test_unary_ufuncs(name: str) -> None:
    both_ways(getattr(np, name), X)


@pytest.mark.parametrize("name", POSITIVE_UFUNCS)
def test_ufuncs_of_positive_numbers(name: str) -> None:
    both_ways(getattr(np, name), POSITIVE)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_ufuncs_of_fractions(name: str) -> None:
    both_ways(getattr(np, name), X / 3)


BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "arctan2",
    "logaddexp",
    "logaddexp2",
    "mod",
    "remainder",
]


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufuncs(name: str) -> None:
    """With broadcasting, the array standing first and second."""
    function = getattr(np, name)
    both_ways(lambda x: function(x, OTHER), X)
    if name not in ("mod", "remainder"):
        both_ways(lambda x: function(OTHER, x), X)


def test_power() -> None:
    both_ways(lambda x: np.power(x, OTHER), POSITIVE)
    both_ways(lambda x: np.power(abs(OTHER), x), POSITIVE)
    both_ways(lambda x: x**3, X)


@pytest.mark.parametrize("attributes", [{}, {"axis": 1}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "amax", "amin", "var", "std"])
def test_reductions(name: str, attributes: dict[str, Any]) -> None:
    both_ways(lambda x: getattr(np, name)(x, **attributes), X)


def test_reductions_of_ufuncs() -> None:
    both_ways(lambda x: np.add.reduce(x, axis=1), X)
    both_ways(lambda x: np.multiply.reduce(x), X)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: np.where(OTHER > 0, x * x, 3 * x),
    "where of itself": lambda x: np.where(x > 0, x, 0.1 * x),
    "clip": lambda x: np.clip(x, -1, 1.5),
    "clip below": lambda x: np.clip(x, -1, None),
    "nested": lambda x: np.log(np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)), axis=1)),
    "concatenate": lambda x: np.concatenate([x, 2 * x], axis=0),
    "stack": lambda x: np.stack([x, x * x]),
    "transpose": lambda x: np.transpose(x) * OTHER.T,
    "reshape": lambda x: np.reshape(x, (3, 2)) ** 2,
    "dot": lambda x: np.dot(x, OTHER.T),
    "matmul": lambda x: np.matmul(x, OTHER.T) ** 2,
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "tensordot": lambda x: np.tensordot(x, x, axes=([1], [1])),
    "outer": lambda x: np.outer(x, x),
    "cumsum": lambda x: np.cumsum(x, axis=1) ** 2,
    "sort": lambda x: np.sort(x, axis=1) * OTHER,
    "linalg.norm": lambda x: np.linalg.norm(x),
    "linalg.inv": lambda x: np.linalg.inv(x @ x.T + np.eye(2)),
    "linalg.det": lambda x: np.linalg.det(x @ x.T),
    "abs of fft": lambda x: np.abs(np.fft.fft(x)),
    "round": lambda x: np.round(x) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function = FUNCTIONS[name]
    expected = numeric_gradient(function, X)
    found = tape_gradient(function, X, numpy_semantics=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["exp", "sum", "mean", "max", "where", "dot", "einsum", "tanh", "logaddexp"])
def test_functions_of_autograd_numpy(name: str) -> None:
    """`autograd.numpy` is what code for HIPS autograd imports: its functions are recorded too."""
    calls: dict[str, Callable[[Any], Any]] = {
        "where": lambda x: anp.where(OTHER > 0, x * x, x),
        "dot": lambda x: anp.dot(x, OTHER.T),
        "einsum": lambda x: anp.einsum("ij,ij->i", x, x),
        "logaddexp": lambda x: anp.logaddexp(x, OTHER),
    }
    function = calls.get(name, getattr(anp, name))
    expected = hips.grad(lambda x: anp.sum(function(x)))(X)
    np.testing.assert_allclose(tape_gradient(function, X), expected, rtol=1e-10)


def test_ties() -> None:
    """`numpy.max` shares the gradient among the largest, as autograd does; `nd.max` gives each of them all of it."""
    x = np.array([[2.0, 2.0, 1.0]])
    np.testing.assert_array_equal(tape_gradient(lambda v: np.max(v, axis=1), x), [[0.5, 0.5, 0]])
    np.testing.assert_array_equal(tape_gradient(lambda v: nd.max(v, axis=1), x), [[1, 1, 0]])
    np.testing.assert_array_equal(tape_gradient(lambda v: np.maximum(v, 2), x), [[1, 1, 0]])


@pytest.mark.parametrize("name", ["greater", "less_equal", "equal", "logical_and"])
def test_comparisons_are_boolean_and_not_recorded(name: str) -> None:
    variable = nd.array(X)
    variable.attach_grad()
    with mx.autograd.record():
        result = getattr(np, name)(variable, OTHER)
    assert result.dtype == np.bool_
    assert result._node is None
    np.testing.assert_array_equal(result.asnumpy(), getattr(np, name)(X.astype("float32"), OTHER))


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "trunc", "rint", "round", "fix"])
def test_steps_have_a_gradient_of_zero(name: str) -> None:
    np.testing.assert_array_equal(tape_gradient(lambda x: getattr(np, name)(x) + x, X), np.ones_like(X))


def test_structure_is_not_recorded() -> None:
    variable = nd.array(X)
    variable.attach_grad()
    with mx.autograd.record():
        assert np.shape(variable) == (2, 3)
        assert np.ndim(variable) == 2
        assert np.allclose(variable, X, atol=1e-6)
        assert np.argsort(variable, axis=1).asnumpy().tolist() == np.argsort(X, axis=1).tolist()
        assert np.zeros_like(variable)._node is None


def test_numpy_semantics_give_scalars() -> None:
    assert np.sum(nd.array(X).as_np_ndarray()).shape == ()
    assert nd.sum(nd.array(X)).shape == (1,)


# -- SciPy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["erf", "gammaln", "gamma", "psi", "expit", "logit"])
def test_scipy_functions(name: str) -> None:
    special = pytest.importorskip("scipy.special")
    function = getattr(special, name)
    x = POSITIVE / 3
    np.testing.assert_allclose(tape_gradient(function, x), numeric_gradient(function, x), rtol=1e-5)


def test_scipy_logsumexp() -> None:
    special = pytest.importorskip("scipy.special")
    with_axis = lambda x: special.logsumexp(x, axis=1)
    expected = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    try:
        found = tape_gradient(with_axis, X)
    except NoGradientError:
        pytest.skip("this SciPy converts its arguments: an error, as it must be")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_scipy_function_without_a_rule() -> None:
    special = pytest.importorskip("scipy.special")
    variable = nd.array(X)
    variable.attach_grad()
    with mx.autograd.record(), pytest.raises(NoGradientError, match=r"no gradient.*@customop\('numpy'\).*detach"):
        special.zeta(variable, 2.0)


def test_scipy_function_that_converts_its_argument() -> None:
    """A function that knows no protocols would give a silent constant: it is an error while recording."""
    linalg = pytest.importorskip("scipy.linalg")
    variable = nd.array(X @ X.T + np.eye(2))
    variable.attach_grad()
    with mx.autograd.record(), pytest.raises(NoGradientError, match=r"no gradient|converted to a NumPy array"):
        linalg.hilbert(2) @ linalg.fractional_matrix_power(variable, 0.5)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_function_without_a_rule_says_what_to_do() -> None:
    variable = nd.array(X)
    variable.attach_grad()
    with mx.autograd.record(), pytest.raises(NoGradientError, match=r"nextafter has no gradient.*customop"):
        np.nextafter(variable, OTHER)
    assert np.nextafter(variable, OTHER).shape == (2, 3), "outside of record nothing needs a gradient"


def test_conversion_while_recording_is_an_error() -> None:
    variable = nd.array(X)
    variable.attach_grad()
    with mx.autograd.record():
        y = variable * 2
        with pytest.raises(NoGradientError, match=r"converted to a NumPy array.*asnumpy\(\)"):
            np.asarray(y)
        assert y.asnumpy().shape == (2, 3)


def test_out_is_written() -> None:
    out = nd.zeros((2, 3))
    assert np.exp(nd.array(X), out=out) is out
    np.testing.assert_allclose(out.asnumpy(), np.exp(X), rtol=1e-6)


def test_flatten_copies_and_ravel_does_not() -> None:
    array = mx.np.ones((2, 2))
    array.flatten()[0] = 5
    assert array[0, 0] == 1
    array.ravel()[0] = 5
    assert array[0, 0] == 5
    np.testing.assert_array_equal(mx.np.array([[1.0, 2.0], [3.0, 4.0]]).flatten("F"), [1, 3, 2, 4])
    np.testing.assert_array_equal(mx.grad(lambda x: np.sum(x.flatten() ** 2))(np.array([[1.0, 2.0]])), [[2, 4]])
