"""The bridge to HIPS autograd: our operators inside its functions, and its functions on recorded arrays."""

from __future__ import annotations

import gc
import threading

import autograd
import autograd.core
import autograd.differential_operators
import autograd.numpy as anp
import autograd.tracer
import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.special
from autograd.test_util import check_grads

import minpy as mx
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    MutationError,
    NoGradientError,
    ShapeError,
)
from minpy.core.operator import Operator

FRONT_ENDS = ["nd", "np"]


def recorded(value, front_end="nd"):
    x = mx.nd.array(value, dtype="float64")
    if front_end == "np":
        x = x.as_np_ndarray()
    x.attach_grad()
    return x


# -- our operators inside autograd -------------------------------------------------------------------------------------


@mx.customop("numpy")
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


@mx.customop("mxnet")
def nd_cube(x):
    return x * x * x


nd_cube.def_grad(lambda ans, x: lambda g: 3 * x * x * g)


@mx.customop("numpy")
def scale(x, factor, *, power=1):
    return x * factor**power


scale.def_grad(lambda ans, x, factor, *, power=1: lambda g: g * factor**power)
scale.def_grad(lambda ans, x, factor, *, power=1: lambda g: g * x * power * factor ** (power - 1), argnum=1)


@mx.customop("numpy")
def both(x, y):
    return x * y, np.sin(x)


@both.def_grad()
def _(ans, x, y):
    return lambda g: g[0] * y + g[1] * np.cos(x)


both.def_grad(lambda ans, x, y: lambda g: g[0] * x, argnum=1)


@mx.customop("numpy")
def with_jvp(x, y):
    return x * y


with_jvp.def_grad(lambda ans, x, y: lambda g: g * y)
with_jvp.def_grad(lambda ans, x, y: lambda g: g * x, argnum=1)
with_jvp.def_jvp(lambda ans, x, y: lambda t: t * y)
with_jvp.def_jvp(lambda ans, x, y: lambda t: x * t, argnum=1)


X = np.array([0.3, -0.7, 1.2])
Y = np.array([[0.5, 1.5, -0.4], [1.1, 0.2, 0.9]])

INSIDE = {
    "customop": (sigmoid, X),
    "mxnet": (nd_cube, X),
    "broadcast": (lambda x: scale(x, Y), X),
    "attribute": (lambda x: scale(X, x, power=3), X + 2),
    "keyword": (lambda x: scale(factor=x, x=X), X),
    "same twice": (lambda x: scale(x, x), X),
    "tuple": (lambda x: both(x, 2 * x)[0] * both(x, X)[1], X),
    "jvp": (lambda x: with_jvp(x, anp.sin(x)), X),
    "chain": (lambda x: sigmoid(anp.sin(nd_cube(sigmoid(x)))), X),
    "array": (lambda x: scale(x, mx.nd.array(X, dtype="float64")), X),
    "nd.broadcast_mul": (lambda x: mx.nd.broadcast_mul(x, Y) / mx.nd.broadcast_add(x, 3 * np.ones(3)), X),
    "nd.tanh": (lambda x: mx.nd.tanh(mx.nd.exp(x)), X),
    "nd.sum": (lambda x: mx.nd.sum(mx.nd.broadcast_mul(x, Y), axis=1), X),
    "nd.transpose": (lambda x: mx.nd.transpose(x) * 2, Y),
    "0-d": (lambda x: sigmoid(x), np.float64(0.4)),
}


@pytest.mark.parametrize("name", INSIDE)
def test_inside_autograd_in_both_modes_to_second_order(name):
    function, x = INSIDE[name]
    check_grads(function, modes=["rev", "fwd"], order=2)(x)


@pytest.mark.parametrize("name", ["customop", "mxnet", "tuple", "jvp", "nd.tanh"])
def test_four_nested_elementwise_grads(name):
    function, x = INSIDE[name]
    plain = {
        "customop": lambda x: 1 / (1 + anp.exp(-x)),
        "mxnet": lambda x: x**3,
        "tuple": lambda x: x * 2 * x * anp.sin(x),
        "jvp": lambda x: x * anp.sin(x),
        "nd.tanh": lambda x: anp.tanh(anp.exp(x)),
    }[name]
    for _ in range(4):
        function, plain = autograd.elementwise_grad(function), autograd.elementwise_grad(plain)
        np.testing.assert_allclose(function(x), plain(x), rtol=1e-10, atol=1e-12)


def test_jacobian_hessian_hvp_value_and_grad_and_checkpoint():
    s = sigmoid(X)
    d1, d2 = s * (1 - s), s * (1 - s) * (1 - 2 * s)
    np.testing.assert_allclose(autograd.jacobian(sigmoid)(X), np.diag(d1))
    np.testing.assert_allclose(autograd.hessian(lambda x: anp.sum(sigmoid(x)))(X), np.diag(d2))
    hvp, _ = autograd.make_hvp(lambda x: anp.sum(sigmoid(x)))(X)
    np.testing.assert_allclose(hvp(np.ones(3)), d2)
    value, gradient = autograd.value_and_grad(lambda x: anp.sum(sigmoid(x)))(X)
    np.testing.assert_allclose(value, s.sum())
    np.testing.assert_allclose(gradient, d1)
    checkpointed = autograd.checkpoint(lambda x: anp.sum(sigmoid(x) ** 2))
    np.testing.assert_allclose(autograd.grad(checkpointed)(X), 2 * s * d1)
    np.testing.assert_allclose(autograd.make_jvp(sigmoid)(X)(np.ones(3))[1], d1)
    np.testing.assert_allclose(autograd.differential_operators.make_jvp_reversemode(sigmoid)(X)(np.ones(3)), d1)


def test_a_tuple_of_outputs_is_a_tuple_of_boxes():
    def loss(x):
        product, sine = both(x, X)
        return anp.sum(product * sine)

    np.testing.assert_allclose(autograd.grad(loss)(X), X * np.sin(X) + X * X * np.cos(X))
    product, sine = autograd.make_jvp(lambda x: both(x, X))(X)(np.ones(3))[1]
    np.testing.assert_allclose(product, X)
    np.testing.assert_allclose(sine, np.cos(X))


def test_one_of_several_outputs_used():
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(both(x, X)[1]))(X), np.cos(X))
    np.testing.assert_allclose(autograd.grad(lambda y: anp.sum(both(X, y)[1]))(X), 0)


def test_operators_with_hidden_outputs():
    op = Operator(lambda x: (x * 2, x * 3, x * x), name="op", visible_outputs=2)
    op.def_grad(lambda ans, x: lambda g: 2 * g[0] + 3 * g[1] + 2 * x * g[2])
    check_grads(lambda x: op(x)[0] * op(x)[1], modes=["rev", "fwd"], order=2)(X)
    single = Operator(lambda x: (x * x, x * 3), name="single", visible_outputs=1)
    single.def_grad(lambda ans, x: lambda g: 2 * x * g[0])
    check_grads(single, modes=["rev", "fwd"], order=2)(X)


def test_integer_inputs_and_zero_gradients():
    @mx.customop("numpy")
    def pick(x, index):
        return x[index]

    pick.def_grad(lambda ans, x, index: lambda g: np.bincount(index, g, len(x)))
    index = np.array([0, 2, 2])
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(pick(x, index)))(X), [1, 0, 2])

    @mx.customop("numpy")
    def rounded(x, y):
        return np.round(x) * y

    rounded.def_grad_zero(0).def_grad(lambda ans, x, y: lambda g: g * np.round(x), argnum=1)
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(rounded(x, x)))(X), np.round(X))
    check_grads(lambda x: rounded(X, x), modes=["rev", "fwd"], order=1)(X)

    @mx.customop("numpy")
    def largest(x):
        return np.argmax(x)

    np.testing.assert_allclose(autograd.grad(lambda x: x[int(largest(x)._value)])(X), [0, 0, 1])


def test_methods_keywords_and_multiple_rules():
    class Layer:
        @mx.customop("numpy")
        def square(self, x):
            return x * x

        square.def_grad(lambda ans, self, x: lambda g: 2 * x * g)

    check_grads(Layer().square, modes=["rev", "fwd"], order=2)(X)

    @mx.customop("numpy")
    def scaled(x, *, factor=2.0):
        return x * factor

    scaled.def_grad(lambda ans, x, *, factor=2.0: lambda g: g * factor)
    scaled.def_grad_kw(lambda ans, x, *, factor=2.0: lambda g: np.sum(g * x), "factor")
    check_grads(lambda x: scaled(X, factor=x), modes=["rev", "fwd"], order=1)(3.0)

    @mx.customop("mxnet")
    def pair(x, y):
        return x * y, mx.nd.exp(x)

    pair.def_multiple_grad(lambda ans, x, y: lambda g: (g[0] * y + g[1] * ans[1], g[0] * x))
    check_grads(lambda x: pair(x, x)[0] * pair(x, X)[1], modes=["rev", "fwd"], order=2)(X)


def test_comparison_operators_are_constants():
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(x * mx.nd.broadcast_greater(x, 0 * X)))(X), [1, 0, 1])


def test_float32_keeps_its_dtype():
    gradient = autograd.grad(lambda x: anp.sum(sigmoid(x)))(X.astype("float32"))
    assert gradient.dtype == np.float32
    assert autograd.grad(sigmoid)(0.0) == 0.25


def test_a_missing_rule_says_how_to_define_it():
    @mx.customop("numpy")
    def halved(x, y):
        return x / 2 + y

    halved.def_grad(lambda ans, x, y: lambda g: g / 2)
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(halved(x, X)))(X), 0.5)
    with pytest.raises(NoGradientError, match=r"no gradient for argument 1 \(y\).*halved.def_grad\(rule, argnum=1\)"):
        autograd.grad(lambda x: anp.sum(halved(X, x)))(X)


def test_a_rule_that_changes_its_input_is_caught():
    @mx.customop("numpy")
    def squared(x):
        return x * x

    @squared.def_grad()
    def rule(ans, x):
        def gradient(g):
            x[0] = 5
            return 2 * x * g

        return gradient

    with pytest.raises(MutationError, match="changes one of its inputs in place"):
        autograd.grad(lambda x: anp.sum(squared(x)))(X)


def test_a_wrong_forward_mode_rule_is_named():
    @mx.customop("numpy")
    def doubled(x):
        return 2 * x

    doubled.def_grad(lambda ans, x: lambda g: 2 * g)
    doubled.def_jvp(lambda ans, x: lambda t: np.ones(7))
    with pytest.raises(GradientError, match=r"doubled: the forward-mode rule of argument x .*\(7,\); expected \(3,\)"):
        autograd.make_jvp(doubled)(X)(np.ones(3))
    with pytest.raises(GradientError, match=r"tangent of shape \(7,\); expected \(3,\)"):
        mx.jvp(doubled, (X,), (np.ones(3),))
    with pytest.warns(UserWarning, match="is defined already"):
        doubled.def_jvp(lambda ans, x: 2 * x)
    with pytest.raises(GradientError, match="expected a function of the argument's tangent"):
        mx.jvp(doubled, (X,), (np.ones(3),))


def test_forward_mode_rules_are_used_and_broadcast():
    calls = []

    @mx.customop("numpy")
    def plus(x, y):
        return x + y

    plus.def_jvp(lambda ans, x, y: lambda t: calls.append(1) or t)
    plus.def_jvp(lambda ans, x, y: lambda t: t, argnum=1)
    expected = np.broadcast_to(np.arange(3.0), (2, 3))
    np.testing.assert_array_equal(autograd.make_jvp(lambda x: plus(x, Y))(X)(np.arange(3.0))[1], expected)
    plus.def_grad(lambda ans, x, y: lambda g: g)
    np.testing.assert_array_equal(mx.jvp(lambda x: plus(x, Y), (X,), (np.arange(3.0),))[1], expected)
    assert len(calls) == 2


def test_no_growth_of_autograds_tables():
    tables = (autograd.core.primitive_vjps, autograd.core.primitive_jvps, autograd.tracer.trace_primitives_map)
    gradient = autograd.grad(autograd.grad(lambda x: sigmoid(x) * mx.nd.tanh(x)))
    gradient(0.5)
    sizes = [len(table) for table in tables]
    for _ in range(1000):
        autograd.grad(sigmoid)(0.5)
    gradient(0.5)
    assert [len(table) for table in tables] == sizes


def test_one_call_follows_either_autograd_or_our_tape():
    y = recorded(X)
    with mx.autograd.record():
        with pytest.raises(ArgumentError, match="traced by HIPS autograd and another is recorded"):
            autograd.grad(lambda x: anp.sum(scale(x, y)))(X)
        with pytest.raises(ArgumentError, match="traced by HIPS autograd and another is recorded"):
            autograd.grad(lambda x: anp.sum(np.concatenate([x, y])))(X)
        np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(scale(x, y.detach())))(X), X)
    assert autograd.tracer.trace_stack.top >= -1
    np.testing.assert_allclose(autograd.grad(lambda x: anp.sum(scale(x, y)))(X), X)


def test_boxes_meet_arrays_in_numpys_functions():
    y = mx.nd.array(X, dtype="float64")
    for function in (
        lambda x: x * y,
        lambda x: y * x,
        lambda x: np.arctan2(y, x),
        lambda x: np.concatenate([x, y]),
        lambda x: np.where(X > 0, x, y),
    ):
        gradient = autograd.grad(lambda x, function=function: anp.sum(function(x) ** 2))(X)
        assert type(gradient) is np.ndarray
        check_grads(function, modes=["rev"], order=1)(X)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_autograd_takes_arrays_and_gives_numpys(front_end):
    x = recorded(X, front_end)
    gradient = autograd.grad(lambda x: anp.sum(sigmoid(x) * x))(x)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, autograd.grad(lambda x: anp.sum(sigmoid(x) * x))(X))
    with mx.autograd.record(), pytest.raises(NoGradientError, match=r"minpy\.grad and its kin"):
        autograd.grad(lambda x: anp.sum(x))(x)
    with pytest.raises(TypeError, match="of an array it traces and of a minpy"):
        autograd.grad(lambda x: anp.sum(anp.dot(x, recorded(X, front_end))))(X)


# -- autograd's functions on recorded arrays ---------------------------------------------------------------------------

random = np.random.default_rng(3)
SMALL = random.uniform(0.3, 0.9, (3, 3))
OTHER = random.uniform(0.3, 0.9, (3, 3))
MIXED = random.normal(size=(3, 3))
TALL = random.normal(size=(4, 3))
VECTOR = random.normal(size=4)
POSITIVE = MIXED @ MIXED.T + 3 * np.eye(3)

UNARY = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh exp exp2 expm1 log log2 log10 log1p sqrt square "
    "cbrt reciprocal negative absolute fabs sinc deg2rad radians cumsum ravel transpose fliplr flipud rot90 flip triu "
    "tril trace diag diagonal sum mean prod std var max min ptp squeeze median copy nan_to_num atleast_3d"
)
BINARY = (
    "add subtract multiply divide power maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 mod matmul dot "
    "inner outer kron tensordot cross vdot"
)
SPECIAL = "expit logit gammaln gamma digamma erf erfc erfinv j0 y0 i0 rgamma"


def symmetric(x):
    return (x + np.transpose(x)) / 2


CASES = {
    **{name: (getattr(np, name), SMALL) for name in UNARY.split() if hasattr(np, name)},
    **{name: ((lambda f: lambda x: f(x, OTHER) + f(OTHER, x))(getattr(np, name)), SMALL) for name in BINARY.split()},
    **{f"scipy.special.{name}": (getattr(scipy.special, name), SMALL[0]) for name in SPECIAL.split()},
    "scipy.special.beta": (lambda x: scipy.special.beta(x, OTHER[0]), SMALL[0]),
    "sum axis": (lambda x: np.sum(x, axis=0, keepdims=True), SMALL),
    "sum dtype": (lambda x: np.sum(x * x, dtype="float64"), SMALL),
    "multiply dtype": (lambda x: np.multiply(x, x, dtype="float64"), SMALL),
    "mean axes": (lambda x: np.mean(x, axis=(0, 1)), SMALL),
    "var ddof": (lambda x: np.var(x, axis=0, ddof=1), SMALL),
    "max axis": (lambda x: np.max(x, axis=1), SMALL),
    "sort": (lambda x: np.sort(x, axis=0), TALL),
    "median axis": (lambda x: np.median(x, axis=0, keepdims=True), TALL),
    "partition": (lambda x: np.partition(x, 1), VECTOR),
    "einsum": (lambda x: np.einsum("ij,jk->ik", x, x), SMALL),
    "einsum three": (lambda x: np.einsum("ij,kj,k->i", x, OTHER, x[0]), SMALL),
    "tensordot axes": (lambda x: np.tensordot(x, x, axes=([0], [0])), SMALL),
    "concatenate": (lambda x: np.concatenate([x, x * x, OTHER], axis=1), SMALL),
    "stack": (lambda x: np.stack([x, x * x], axis=-1), SMALL),
    "vstack": (lambda x: np.vstack([x, x[0]]), SMALL),
    "hstack": (lambda x: np.hstack([x, x * x]), SMALL),
    "column_stack": (lambda x: np.column_stack([x, x[0] * x]), SMALL),
    "sum of a number": (lambda x: np.sum(x[0] * x[1], axis=-1) + np.prod(x[2] ** 2, axis=0), SMALL),
    "vstack, dtype=None": (lambda x: np.vstack([x, x[0] * x], dtype=None, casting="same_kind"), SMALL),
    "append": (lambda x: np.append(x, x * x), SMALL),
    "split": (lambda x: np.split(x, 3)[0] * np.split(x, 3)[2], SMALL),
    "array_split": (lambda x: np.array_split(x, 2)[0], SMALL),
    "where": (lambda x: np.where(MIXED > 0, x * x, -x), SMALL),
    "clip": (lambda x: np.clip(x, 0.4, 0.7), SMALL),
    "clip keyword": (lambda x: np.clip(a=OTHER, a_min=x, a_max=2.0), SMALL),
    "take": (lambda x: np.take(x, [0, 2, 2], axis=1), SMALL),
    "take flat": (lambda x: np.take(x, [[0, 5]]), SMALL),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.array([[0], [1], [2]]), 1), SMALL),
    "take_along_axis broadcast": (lambda x: np.take_along_axis(x, np.array([[0, 2]]), 1), SMALL),
    "index": (lambda x: x[1:, [0, 2, 2]], SMALL),
    "diag of vector": (np.diag, VECTOR),
    "diagonal offset": (lambda x: np.diagonal(x, 1), TALL),
    "trace offset": (lambda x: np.trace(x, offset=1), TALL),
    "pad": (lambda x: np.pad(x, ((1, 2), (0, 1)), "constant"), SMALL),
    "roll": (lambda x: np.roll(x, 1, axis=0), SMALL),
    "moveaxis": (lambda x: np.moveaxis(x, 0, 1), TALL),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 1), TALL),
    "expand_dims": (lambda x: np.expand_dims(x, 1), TALL),
    "reshape": (lambda x: np.reshape(x, (6, 2)), TALL),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), SMALL),
    "tile": (lambda x: np.tile(x, (2, 2)), SMALL),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 3)), SMALL),
    "diff": (lambda x: np.diff(x), SMALL),
    "add.reduce": (lambda x: np.add.reduce(x, axis=1), SMALL),
    "maximum.reduce": (lambda x: np.maximum.reduce(x), SMALL),
    "add.accumulate": (lambda x: np.add.accumulate(x), SMALL),
    "multiply.outer": (lambda x: np.multiply.outer(x, OTHER[0]), VECTOR),
    "fft": (lambda x: np.abs(np.fft.fft(x)), VECTOR),
    "ifft": (lambda x: np.real(np.fft.ifft(np.fft.fft(x) ** 2)), VECTOR),
    "rfft irfft": (lambda x: np.fft.irfft(np.fft.rfft(x) ** 2), VECTOR),
    "fft2": (lambda x: np.imag(np.fft.fft2(x)) ** 2, TALL),
    "solve": (lambda x: np.linalg.solve(x, OTHER) + np.linalg.solve(POSITIVE, x), POSITIVE),
    "inv": (np.linalg.inv, POSITIVE),
    "det": (np.linalg.det, POSITIVE),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], POSITIVE),
    "norm": (np.linalg.norm, MIXED),
    "norm axis": (lambda x: np.linalg.norm(x, axis=1), MIXED),
    "norm nuclear": (lambda x: np.linalg.norm(x, "nuc"), MIXED),
    "cholesky": (lambda x: np.linalg.cholesky(symmetric(x)), POSITIVE),
    "eigh": (lambda x: np.linalg.eigh(symmetric(x))[0], MIXED),
    "eigh vectors": (lambda x: np.linalg.eigh(symmetric(x))[1] ** 2, MIXED),
    "svd": (lambda x: np.linalg.svd(x, compute_uv=False), TALL),
    "svd vectors": (lambda x: np.linalg.svd(x, full_matrices=False)[0] ** 2, TALL),
    "qr": (lambda x: np.linalg.qr(x)[0] + np.linalg.qr(x)[1][0], TALL),
    "pinv": (np.linalg.pinv, TALL),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3) + np.linalg.matrix_power(x, -1), POSITIVE),
    "multi_dot": (lambda x: np.linalg.multi_dot([x, OTHER, x]), SMALL),
    "anp.concatenate": (lambda x: anp.concatenate([x, x * x]), SMALL),
    "anp.einsum": (lambda x: anp.einsum("ij,ik->jk", x, x), SMALL),
    "anp.vstack": (lambda x: anp.vstack([x, x * x]), SMALL),
    "anp.where": (lambda x: anp.where(MIXED > 0, anp.sin(x), x), SMALL),
}


def difference(function, x, step=1e-5):
    """Return the gradient of a scalar function by central differences."""
    result = np.zeros_like(x)
    for position in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[position] = step
        result[position] = (function(x + shift) - function(x - shift)) / (2 * step)
    return result


def gradient_on_tape(function, weights, x, front_end, seed=None):
    x = recorded(x, front_end)
    with mx.autograd.record():
        y = function(x)
        assert type(y) is type(x)
        loss = (y * weights).sum()
        if seed is not None:
            [first] = mx.autograd.grad(loss, x, create_graph=True)
            loss = (first * seed).sum()
    if seed is not None and loss._node is None:  # the first gradient is constant
        return np.zeros(x.shape)
    loss.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("name", CASES)
def test_numpy_functions_are_recorded_to_second_order(name):
    function, x = CASES[name]
    value = np.asarray(function(x))
    weights = np.cos(np.arange(value.size)).reshape(value.shape) + 0.1
    seed = np.sin(1.0 + np.arange(x.size)).reshape(x.shape)
    expected = difference(lambda x: np.sum(function(x) * weights), x)
    for front_end in FRONT_ENDS:
        np.testing.assert_allclose(gradient_on_tape(function, weights, x, front_end), expected, rtol=1e-5, atol=1e-6)
    second = difference(lambda x: np.sum(gradient_on_tape(function, weights, x, "np") * seed), x)
    np.testing.assert_allclose(gradient_on_tape(function, weights, x, "nd", seed), second, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.interp(x, [0, 1], [1, 2], period=3),
        lambda x: np.ldexp(x, [1, 2, 3]),
        lambda x: np.unique(x),
        lambda x: np.bincount([0, 1, 1], weights=x),
        lambda x: np.histogram(x),
        lambda x: np.modf(x),
        lambda x: np.linalg.lstsq(np.eye(3), x, rcond=None),
        lambda x: np.sum(x, where=[True, False, True]),
        lambda x: np.sum(x, initial=3.0),
        lambda x: np.add.reduceat(x, [0, 1]),
        lambda x: scipy.special.ndtr(x),
    ],
)
def test_functions_without_a_rule_are_errors_on_recorded_arrays(function):
    x = recorded(X)
    with mx.autograd.record(), pytest.raises(NoGradientError, match=r"has no gradient.*(detach|numpy\.where)"):
        function(x)
    function(x)
    with mx.autograd.record():
        function(x.detach())


def test_the_error_says_what_to_do():
    x = recorded(X)
    with mx.autograd.record():
        with pytest.raises(NoGradientError, match=r"numpy.add has no gradient with where=.*Select with numpy.where"):
            np.add(x, x, where=np.array([True, False, True]))
        with pytest.raises(NoGradientError) as error:
            np.median(x, overwrite_input=False)
        assert str(error.value) == (
            "numpy.median has no gradient with the keyword overwrite_input=, and was called on a recorded array. "
            "Write it as an operator with @customop('numpy') and def_grad, or call it on x.detach() if no gradient "
            "shall flow."
        )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipy.linalg.solve(np.eye(3), x),
        lambda x: scipy.ndimage.gaussian_filter(x, 1),
        lambda x: scipy.special.logsumexp(x),
        np.asarray,
        np.array,
        lambda x: np.array([x, x]),
        lambda x: anp.array(x),
    ],
)
def test_conversion_of_a_recorded_array_is_an_error(function):
    x = recorded(X)
    with mx.autograd.record(), pytest.raises(NoGradientError, match=r"converted to a NumPy array.*x\.asnumpy\(\)"):
        function(x)
    function(x)


def test_structural_functions_pass():
    x = recorded(X)
    with mx.autograd.record():
        assert np.shape(x) == (3,)
        assert np.ndim(x) == 1
        assert np.size(x) == 3
        assert np.result_type(x) == np.float64
        assert np.allclose(x, X)
        assert not np.iscomplexobj(x)
        np.testing.assert_array_equal(np.argsort(x).asnumpy(), np.argsort(X))
        zeros = np.zeros_like(x)
        assert type(zeros) is type(x)
        y = (x * np.ones_like(x)).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.ones(3))


def test_complex_intermediate_results():
    x = recorded(X, "np")
    with mx.autograd.record():
        z = x * np.exp(1j * x)
        y = np.sum(np.abs(z) ** 2 + np.real(z * np.conj(z)))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 4 * X)


def test_integer_arrays_beside_recorded_ones_at_second_order():
    x = recorded(X, "np")
    index = mx.nd.array([2, 0], dtype="int64").as_np_ndarray()
    with mx.autograd.record():
        y = np.sum(np.take(x, index) ** 3)
        [first] = mx.autograd.grad(y, x, create_graph=True)
        second = np.sum(first * first)
    second.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [36 * X[0] ** 3, 0, 36 * X[2] ** 3])


def test_a_function_that_depends_on_nothing():
    x = recorded(X, "np")
    with mx.autograd.record():
        y = np.sum(x * np.round(x) + np.sign(x))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.round(X))


def test_out_of_a_call():
    x, y = recorded(X), mx.nd.array(X, dtype="float64")
    target = mx.nd.zeros(3, dtype="float64")
    with mx.autograd.record():
        assert np.multiply(x, y, out=target) is target
        loss = np.sum(np.sin(target))
    loss.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), X * np.cos(X * X))
    with mx.autograd.record():
        with pytest.raises(MutationError, match="in-place change"):
            np.add(x, y, out=x)
        with pytest.raises(MutationError, match="out= is a NumPy array"):
            np.add(x, y, out=np.zeros(3))
        with pytest.raises(ShapeError, match=r"out has shape \(2,\), the result has \(3,\)"):
            np.add(x, y, out=mx.nd.zeros(2, dtype="float64"))
        with pytest.raises(MutationError, match="in place, which cannot be recorded"):
            np.add.at(x, [0], 1.0)
        with pytest.raises(MutationError, match=r"in-place change .* a variable"):
            np.copyto(x, X)
        with pytest.raises(MutationError, match=r"numpy.copyto changes an array of NumPy in place"):
            np.copyto(np.zeros(3), x)


def test_out_of_a_call_that_is_not_recorded():
    x = mx.nd.array(X, dtype="float64")
    assert np.add(x, 1, out=x) is x
    np.testing.assert_allclose(x.asnumpy(), X + 1)
    np.add(x, 1, out=x, where=np.array([True, False, False]))
    np.testing.assert_allclose(x.asnumpy(), X + 1 + [1, 0, 0])
    plain = np.zeros(3)
    assert np.sin(x, out=plain) is plain
    np.cumsum(x, out=x)
    np.copyto(x, X)
    np.testing.assert_allclose(x.asnumpy(), X)


def test_an_in_place_ufunc_is_noticed_at_backward():
    x, y = recorded(X), mx.nd.array(X, dtype="float64")
    with mx.autograd.record():
        loss = np.sum(np.arctan2(x, y))
    np.add(y, 1, out=y)
    with pytest.raises(MutationError, match="changed in place after it was recorded"):
        loss.backward()


def test_in_place_on_an_intermediate_array_with_numpy_semantics_is_recorded():
    x = recorded(X, "np")
    with mx.autograd.record():
        y = x * x
        np.multiply(y, x, out=y)
        loss = np.sum(y)
    loss.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * X * X)


def test_an_exception_leaves_no_trace_level():
    x = recorded(X)
    top = autograd.tracer.trace_stack.top
    with mx.autograd.record():
        with pytest.raises(ValueError, match="shapes"):
            np.dot(x, np.ones(5))
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.inv(np.reshape(x, (1, 3)))
        y = np.sum(np.dot(x, X))
    assert autograd.tracer.trace_stack.top == top
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), X)


def test_two_threads_differentiate_at_once():
    failures = []

    def work(offset):
        for _ in range(40):
            x = recorded(POSITIVE + offset * np.eye(3), "np")
            with mx.autograd.record():
                y = np.linalg.slogdet(x)[1]
                [first] = mx.autograd.grad(y, x, create_graph=True)
                z = np.sum(first * first)
            z.backward()
            inverse = np.linalg.inv(POSITIVE + offset * np.eye(3)).T
            if not np.allclose(x.grad.asnumpy(), -2 * inverse @ inverse.T @ inverse):
                failures.append(offset)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in (0, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_no_cycles_are_left():
    x = recorded(POSITIVE, "np")
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            with mx.autograd.record():
                y = np.linalg.det(x)
            y.backward()
        del y
        assert len(gc.get_objects()) - before < 60
    finally:
        gc.enable()
