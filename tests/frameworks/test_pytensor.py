"""`to_pytensor`: operators of minpy in PyTensor."""

import pickle
import warnings

import numpy as np
import pytest

import minpy as mx
from minpy.core.errors import ArgumentError
from minpy.frameworks import to_pytensor

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pytensor.tensor as pt
    from pytensor.gradient import pushforward, verify_grad

pytestmark = pytest.mark.filterwarnings("ignore")
MODE = pytensor.compile.mode.Mode(linker="py", optimizer="fast_run")
DRAWS = np.random.default_rng(0)
X, Y, W, CLASSES = DRAWS.random((4, 3)) + 0.5, DRAWS.random((4, 3)) + 0.5, DRAWS.random(3) + 0.5, np.array([0, 2, 1, 1])


@mx.customop("numpy")
def softplus(x, *, beta: float = 1.0):
    return np.logaddexp(0, beta * x) / beta


softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))


@mx.customop("numpy")
def scaled(x, w, *, power: int = 2):
    return x * w**power


scaled.def_grad(lambda ans, x, w, *, power: lambda g: g * w**power)
scaled.def_grad(lambda ans, x, w, *, power: lambda g: g * x * power * w ** (power - 1), argnum=1)


@mx.customop("numpy")
def polar(x, y):
    return np.hypot(x, y), np.arctan2(y, x)


@polar.def_multiple_grad
def _gradients_of_polar(ans, x, y):
    r = ans[0]
    return lambda g: (g[0] * x / r - g[1] * y / r**2, g[0] * y / r + g[1] * x / r**2)


@mx.customop("numpy")
def energy(x, *, axis: int = -1):
    return np.sum(x * x, axis=axis)


energy.def_grad(lambda ans, x, *, axis: lambda g: 2 * x * np.expand_dims(g, axis))


@mx.customop("numpy")
def pick(scores, classes):
    return scores[np.arange(scores.shape[0]), classes]


@pick.def_grad(argnum=0)
def _gradient_of_scores(ans, scores, classes):
    return lambda g: np.where(np.arange(scores.shape[1]) == classes[:, None], g[:, None], 0)


pick.def_grad_zero(1)


@mx.customop("numpy")
def large(x):
    return np.array([value for value in x if value > 1])


large.def_grad(lambda ans, x: lambda g: np.where(x > 1, 1.0, 0.0))

OPERATORS = {
    "elementwise with an attribute": (softplus, (X,), {"beta": 2.0}),
    "two inputs that broadcast": (scaled, (X, W), {"power": 3}),
    "several outputs": (polar, (X, Y), {}),
    "a reduction over an axis": (energy, (X,), {"axis": 0}),
    "integer inputs": (pick, (X, CLASSES), {}),
    "built in": (mx.nd.tanh, (X,), {}),
    "built in, with a kernel": (mx.nd.softmax, (X,), {"axis": 1}),
    "a product": (mx.nd.dot, (X, Y.T.copy()), {}),
}
in_table = pytest.mark.parametrize("title", OPERATORS)


def variables_of(arrays):
    return [pt.tensor(dtype=array.dtype.name, shape=(None,) * array.ndim) for array in arrays]


def of_floats(title):
    """Return (a function of the floating-point inputs to one variable, these inputs)."""
    operator, arrays, attributes = OPERATORS[title]
    floats = [index for index, array in enumerate(arrays) if array.dtype.kind == "f"]
    function = to_pytensor(operator)

    def call(*values):
        inputs = list(arrays)
        for index, value in zip(floats, values, strict=True):
            inputs[index] = value
        result = function(*inputs, **attributes)
        return sum((index + 1) * part for index, part in enumerate(result)) if isinstance(result, list) else result

    return call, [arrays[index] for index in floats]


@in_table
def test_values_are_those_of_the_operator(title):
    operator, arrays, attributes = OPERATORS[title]
    variables = variables_of(arrays)
    result = to_pytensor(operator)(*variables, **attributes)
    expected = operator(*arrays, **attributes)
    assert isinstance(result, list) == isinstance(expected, tuple)
    results, references = (result, expected) if isinstance(result, list) else ([result], [expected])
    got = pytensor.function(variables, results, mode=MODE)(*arrays)
    for variable, value, reference in zip(results, got, references, strict=True):
        assert variable.type.dtype == reference.dtype
        np.testing.assert_allclose(value, reference)


@in_table
def test_gradients_agree_with_numbers(title):
    call, arrays = of_floats(title)
    verify_grad(call, arrays, rng=np.random.default_rng(1), mode=MODE)


@in_table
def test_gradients_of_gradients_agree_with_numbers(title):
    call, arrays = of_floats(title)

    def slope(*values):
        return pytensor.grad(pt.sin(call(*values)).sum(), values[0])

    verify_grad(slope, arrays, rng=np.random.default_rng(1), mode=MODE)


@in_table
def test_forward_mode_is_that_of_the_transpose(title):
    call, arrays = of_floats(title)
    variables = variables_of(arrays)
    tangents = variables_of(arrays)
    result = call(*variables)
    pushed = [pushforward(result, variables, tangents, use_op_pushforward=direct) for direct in (True, False)]
    direct, twice = pytensor.function([*variables, *tangents], pushed, mode=MODE)(*arrays, *arrays)
    np.testing.assert_allclose(direct, twice)


@in_table
def test_shapes_are_told_without_a_call(title):
    operator, arrays, attributes = OPERATORS[title]
    variables = variables_of(arrays)
    result = to_pytensor(operator)(*variables, **attributes)
    for output in result if isinstance(result, list) else [result]:
        compiled = pytensor.function(variables, output.shape, on_unused_input="ignore", mode=MODE)
        called = [node for node in compiled.maker.fgraph.toposort() if type(node.op).__name__ == "MinpyOp"]
        expected = operator(*arrays, **attributes)
        assert tuple(compiled(*arrays)) == (expected[0] if isinstance(expected, tuple) else expected).shape
        assert not called


def test_what_does_not_hang_on_unknown_lengths_is_known():
    x = pt.tensor(dtype="float64", shape=(4, None))
    assert to_pytensor(energy)(x, axis=1).type.shape == (4,)
    assert to_pytensor(energy)(x, axis=0).type.shape == (None,)
    assert to_pytensor(softplus)(x).type.shape == (4, None)


def test_shapes_that_hang_on_values_are_found_by_a_run():
    x = pt.dvector()
    result = to_pytensor(large)(x)
    assert result.type.shape == (None,)
    values = np.array([0.5, 1.5, 2.5])
    compiled = pytensor.function([x], [result, result.shape[0]], mode=MODE)
    got, length = compiled(values)
    np.testing.assert_array_equal(got, [1.5, 2.5])
    assert length == 2


def test_third_order():
    x = pt.dscalar()
    result = to_pytensor(scaled)(1.0, x, power=4)
    for _ in range(3):
        result = pytensor.grad(result, x)
    assert pytensor.function([x], result, mode=MODE)(2.0) == pytest.approx(48.0)


def test_equal_calls_are_computed_once():
    x = pt.dvector()
    function = to_pytensor(softplus)
    compiled = pytensor.function([x], function(x, beta=2.0) + function(x, beta=2.0) * function(x), mode=MODE)
    calls = [node for node in compiled.maker.fgraph.toposort() if type(node.op).__name__ == "MinpyOp"]
    assert len(calls) == 2


def test_compiled_functions_pickle():
    x = pt.dvector()
    slope = pytensor.grad(to_pytensor(softplus)(x, beta=2.0).sum(), x)
    compiled = pickle.loads(pickle.dumps(pytensor.function([x], slope, mode=MODE)))
    np.testing.assert_allclose(compiled(np.zeros(2)), 0.5)


def test_float32_and_numbers_and_keywords():
    x = pt.fvector()
    result = to_pytensor(scaled)(x, w=np.float32(2.0))
    assert result.type.dtype == "float32"
    np.testing.assert_allclose(pytensor.function([x], result, mode=MODE)(np.ones(3, "float32")), 4.0)


def test_a_gradient_that_is_not_defined_says_how_to_define_it():
    half = mx.customop("numpy")(lambda x, y: x * y)
    half.__name__ = "half"
    half.def_grad(lambda ans, x, y: lambda g: g * y)
    x, y = pt.dvector(), pt.dvector()
    result = to_pytensor(half)(x, y).sum()
    pytensor.grad(result, x)
    with pytest.raises(Exception, match=r"half has no gradient for argument 1 \(y\)"):
        pytensor.grad(result, y)


def test_what_is_no_operator_is_refused():
    with pytest.raises(ArgumentError, match=r"to_pytensor takes an operator of minpy, got .*@customop\('numpy'\)"):
        to_pytensor(np.sin)


def test_inputs_that_it_does_not_take():
    fixed = mx.customop("numpy")(lambda x: x.reshape(7, 11))
    with pytest.raises(ArgumentError, match=r"(?s)lengths that are not known \(None\) tried as 2 and 3.*def_shape"):
        to_pytensor(fixed)(pt.dvector())
    assert to_pytensor(fixed)(pt.tensor(dtype="float64", shape=(77,))).type.shape == (7, 11)
