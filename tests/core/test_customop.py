"""`@customop`: operators that users write, line by line of what is promised of them."""

from __future__ import annotations

import inspect
import pickle
import re
import traceback

import autograd as hips
import autograd.numpy as anp
import numpy
import numpy as np
import pytest

import minpy
from minpy import autograd, customop, nd
from minpy.core import Operator
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    MutationError,
    MXNetError,
    NoGradientError,
    OperatorError,
)

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.6]])
Y = np.array([[1.5, 0.25, -2.0], [0.7, -1.75, 1.1]])
# What is said of the gradients of both, after the docstring of the function.
BY_RULES = "Gradients\n---------\nx : by a rule\ny : by a rule"


@customop("numpy")
def my_softmax(x, y):
    probs = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
    probs /= numpy.sum(probs, axis=1, keepdims=True)
    N = x.shape[0]
    loss = -numpy.sum(numpy.log(probs[numpy.arange(N), y])) / N
    return loss  # noqa: RET504 - as printed in the documentation of MinPy


def my_softmax_grad(ans, x, y):
    def grad(g):
        N = x.shape[0]
        probs = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
        probs /= numpy.sum(probs, axis=1, keepdims=True)
        probs[numpy.arange(N), y] -= 1
        probs /= N
        return probs

    return grad


my_softmax.def_grad(my_softmax_grad)


@customop("numpy")
def multiply(x, y=2.0):
    """Multiply two arrays."""
    return x * y


multiply.def_grad(lambda ans, x, y: lambda g: g * y).def_grad(lambda ans, x, y: lambda g: g * x, argnum=1)


def numeric(function, x, step=1e-5):
    """Return the gradient of a scalar function by central differences."""
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        shift = np.zeros(x.shape)
        shift[index] = step
        result[index] = (function(x + shift) - function(x - shift)) / (2 * step)
    return result


def variable(value, dtype="float64"):
    array = nd.array(value, dtype=dtype)
    array.attach_grad()
    return array


def gradient(function, *values):
    """Return the gradients that `record` and `backward` give, as NumPy arrays."""
    arrays = [variable(value) for value in values]
    with autograd.record():
        output = function(*arrays)
    output.backward()
    found = [array.grad.asnumpy() for array in arrays]
    return found[0] if len(found) == 1 else found


# -- the page that this makes real -------------------------------------------------------------------------------------


def test_my_softmax_on_numpy_arrays():
    labels = np.array([2, 0])
    expected = numeric(lambda x: my_softmax(x, labels), X)
    assert isinstance(my_softmax(X, labels), float)
    for grad in (minpy.grad, hips.grad):
        found = grad(my_softmax)(X, labels)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_my_softmax_on_ndarrays():
    labels = np.array([2, 0])
    x = variable(X, "float32")
    with autograd.record():
        loss = my_softmax(x, nd.array(labels, dtype="int32"))
    loss.backward()
    assert type(loss) is nd.NDArray
    np.testing.assert_allclose(x.grad.asnumpy(), numeric(lambda x: my_softmax(x, labels), X), atol=1e-6)


def test_the_decorator_returns_an_instance_of_the_same_name():
    assert isinstance(my_softmax, Operator)
    assert my_softmax.__name__ == "my_softmax"


# -- what the function is given, and what the caller gets --------------------------------------------------------------


def seen_types(kind, *arguments, **keywords):
    seen = []

    @customop(kind)
    def look(x, y=None):
        seen.extend((type(x), type(y)))
        return x * 1

    result = look(*arguments, **keywords)
    return seen, type(result)


@pytest.mark.parametrize(
    ("kind", "arguments", "seen", "result"),
    [
        ("numpy", (X, Y), [np.ndarray, np.ndarray], np.ndarray),
        ("numpy", (nd.array(X), Y), [np.ndarray, np.ndarray], nd.NDArray),
        ("numpy", (X, nd.array(Y)), [np.ndarray, np.ndarray], nd.NDArray),
        ("numpy", (nd.array(X), 2.0), [np.ndarray, float], nd.NDArray),
        ("numpy", (X, 2.0), [np.ndarray, float], np.ndarray),
        ("mxnet", (X, Y), [nd.NDArray, nd.NDArray], np.ndarray),
        ("mxnet", (nd.array(X), Y), [nd.NDArray, nd.NDArray], nd.NDArray),
        ("mxnet", (nd.array(X), 2.0), [nd.NDArray, float], nd.NDArray),
        ("numpy", (nd.array(X), None), [np.ndarray, type(None)], nd.NDArray),
    ],
)
def test_any_mix_of_arguments(kind, arguments, seen, result):
    assert seen_types(kind, *arguments) == (seen, result)
    assert seen_types(kind, arguments[0], y=arguments[1]) == (seen, result)


def test_numpy_arrays_come_back_in_the_functions_own_type():
    assert type(multiply(np.float64(3.0), 2.0)) is np.float64
    assert multiply(3.0, 2.0) == 6.0


def test_boxes_of_hips_autograd():
    for argnum, expected in enumerate((Y, X)):
        np.testing.assert_allclose(hips.grad(lambda *a: anp.sum(multiply(*a)), argnum)(X, Y), expected)
    # A box by keyword, the same value twice: bound to positions before anything looks for traced values.
    assert hips.grad(lambda t: multiply(t, y=t))(3.0) == 6.0
    assert hips.grad(lambda t: multiply(y=t, x=t))(3.0) == 6.0
    np.testing.assert_allclose(hips.jacobian(lambda t: multiply(t, nd.array([1.0, 3.0])))(np.ones(2)), np.diag([1, 3]))


def test_a_recorded_array_beside_a_box_is_refused():
    x = variable(X)
    with autograd.record(), pytest.raises(ArgumentError, match=r"traced by HIPS autograd and another is recorded"):
        hips.grad(lambda y: multiply(x, y))(2.0)


def test_keywords_are_bound_to_positions():
    x, y = variable(X), variable(Y)
    with autograd.record():
        z = multiply(y=y, x=x)
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), Y)
    np.testing.assert_array_equal(y.grad.asnumpy(), X)


def test_defaults():
    np.testing.assert_array_equal(multiply(X), 2 * X)
    np.testing.assert_array_equal(gradient(multiply, X), np.full_like(X, 2))


@pytest.mark.parametrize(
    ("arguments", "keywords", "text"),
    [
        ((), {}, "multiply: argument 'x' is missing; its inputs are x, y."),
        ((1, 2, 3), {}, "multiply takes 2 positional argument(s) (x, y), got 3."),
        ((1,), {"x": 2}, "multiply: argument 'x' is given twice, by position and by keyword."),
        ((1,), {"z": 2}, "multiply has no argument 'z'; it takes x, y."),
    ],
)
def test_calls_that_do_not_fit(arguments, keywords, text):
    with pytest.raises(TypeError, match=re.escape(text)) as caught:
        multiply(*arguments, **keywords)
    assert isinstance(caught.value, ArgumentError)


def test_attributes_are_given_by_keyword():
    @customop("numpy")
    def scale(x, *, factor: float = 2.0):
        return x * factor

    scale.def_grad(lambda ans, x, *, factor=2.0: lambda g: g * factor)
    np.testing.assert_array_equal(gradient(lambda x: scale(x, factor=3.0), X), np.full_like(X, 3))
    np.testing.assert_array_equal(gradient(scale, X), np.full_like(X, 2))
    with pytest.raises(ArgumentError, match=r"Give factor by keyword\."):
        scale(X, 3.0)


def test_optional_inputs():
    @customop("numpy")
    def affine(x, weight, bias=None):
        y = x * weight
        return y if bias is None else y + bias

    affine.def_grad(lambda ans, x, weight, bias: lambda g: g * weight)
    affine.def_grad(lambda ans, x, weight, bias: lambda g: g * x, 1)
    affine.def_grad(lambda ans, x, weight, bias: lambda g: g, 2)
    np.testing.assert_array_equal(gradient(affine, X, Y)[1], X)
    np.testing.assert_array_equal(gradient(lambda x, w: affine(x, w, None), X, Y)[0], Y)
    np.testing.assert_array_equal(gradient(affine, X, Y, X)[2], np.ones_like(X))
    assert hips.grad(affine)(2.0, 3.0) == 3.0


def test_variadic_inputs():
    @customop("numpy")
    def total(first, *rest):
        return first + sum(rest)

    total.def_multiple_grad(lambda ans, first, *rest: lambda g: (g, *((n + 2) * g for n in range(len(rest)))))
    found = gradient(total, X, X, X)
    for number, part in enumerate(found):
        np.testing.assert_array_equal(part, np.full_like(X, number + 1))

    @customop("numpy")
    def sum_of_two_kinds(*xs):
        return xs[0] + xs[1]

    sum_of_two_kinds.def_grad(lambda ans, *xs: lambda g: g)
    with pytest.raises(NoGradientError, match=r"no gradient for argument 1 \(xs\[1\]\)"):
        gradient(sum_of_two_kinds, X, X)
    sum_of_two_kinds.def_grad(lambda ans, *xs: lambda g: 5 * g, argnum=1)
    np.testing.assert_array_equal(gradient(sum_of_two_kinds, X, X)[1], np.full_like(X, 5))


def test_several_outputs():
    @customop("numpy")
    def parts(x):
        return x * x, np.sum(x)

    parts.def_grad(lambda ans, x: lambda g: 2 * x * g[0] + g[1] * np.ones_like(ans[0]))
    squares, total = parts(X)
    np.testing.assert_array_equal(squares, X * X)
    x = variable(X)
    with autograd.record():
        squares, total = parts(x)
        head = squares.sum() + 3 * total
    assert type(squares) is type(total) is nd.NDArray
    head.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X + 3)
    with autograd.record():
        _, total = parts(x)  # an output that is not used has a gradient of zeros
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.ones_like(X))
    np.testing.assert_allclose(hips.grad(lambda x: anp.sum(parts(x)[0]) + 3 * parts(x)[1])(X), 2 * X + 3)


# -- both kinds --------------------------------------------------------------------------------------------------------


def test_an_mxnet_operator_is_not_recorded_op_by_op():
    @customop("mxnet")
    def exp_of(x):
        assert not autograd.is_recording()
        return nd.exp(x)

    exp_of.def_grad(lambda ans, x: lambda g: 7 * g * nd.ones(x.shape))
    np.testing.assert_array_equal(gradient(exp_of, X), np.full_like(X, 7))


def test_an_mxnet_rule_is_given_ndarrays():
    seen = set()

    @customop("mxnet")
    def square(x):
        return x * x

    @square.def_grad()
    def rule(ans, x):
        seen.update((type(ans), type(x)))

        def pull(g):
            seen.add(type(g))
            return 2 * g * x

        return pull

    np.testing.assert_array_equal(gradient(square, X), 2 * X)
    np.testing.assert_array_equal(hips.grad(lambda x: anp.sum(square(x)))(X), 2 * X)
    np.testing.assert_array_equal(minpy.grad(lambda x: np.sum(square(x)))(X), 2 * X)
    assert seen == {nd.NDArray}


# -- methods -----------------------------------------------------------------------------------------------------------


class Layer:
    def __init__(self, factor):
        self.factor = factor

    @customop("numpy")
    def scale(self, x, y):
        """Scale a product."""
        return self.factor * x * y

    @scale.def_grad
    def _scale_x(ans, self, x, y):
        return lambda g: self.factor * g * y

    @scale.def_grad(argnum=1)
    def _scale_y(ans, self, x, y):
        return lambda g: self.factor * g * x

    @customop("numpy")
    def without_rule(self, x):
        return x + self.factor


def test_methods():
    layer = Layer(3.0)
    found = gradient(layer.scale, X, Y)
    np.testing.assert_allclose(found[0], 3 * Y)
    np.testing.assert_allclose(found[1], 3 * X)
    np.testing.assert_allclose(gradient(lambda y: layer.scale(y=y, x=X), Y), 3 * X)
    assert hips.grad(layer.scale)(2.0, 5.0) == 15.0
    assert Layer.scale.__doc__ == f"Scale a product.\n\n{BY_RULES}"


def test_rules_of_variadic_inputs_are_among_those_that_are_defined():
    @customop("numpy")
    def total(*parts):
        return sum(parts)

    total.def_grad(lambda ans, *parts: lambda g: g)
    with pytest.raises(NoGradientError, match=r"for argument 1 \(parts\[1\]\); defined: 0 \(parts\[0\]\)\."):
        gradient(lambda x, y: total(x, y), X, Y)


def test_self_is_not_counted():
    with pytest.raises(NoGradientError, match=r"without_rule has no gradient for argument 0 \(x\); defined: none\."):
        gradient(Layer(1.0).without_rule, X)
    with pytest.raises(ArgumentError, match=r"scale has no argument 2; its arguments are 0 \(x\), 1 \(y\)\."):
        Layer.scale.def_grad(lambda ans, self, x, y: lambda g: g, argnum=2)


# -- an operator is still its function ---------------------------------------------------------------------------------


def test_name_docstring_signature_and_wrapped():
    assert multiply.__name__ == multiply.__qualname__ == "multiply"
    assert multiply.__doc__ == f"Multiply two arrays.\n\n{BY_RULES}"
    assert multiply.__wrapped__.__doc__ == "Multiply two arrays."
    assert multiply.__module__ == __name__
    assert str(inspect.signature(multiply)) == "(x, y=2.0)"
    assert inspect.unwrap(multiply) is multiply.forward
    assert multiply.__wrapped__(3, 4) == 12


def test_repr():
    assert repr(multiply) == "<Operator multiply(x, y), gradients: x, y>"
    assert repr(my_softmax) == "<Operator my_softmax(x, y), gradients: x>"
    assert repr(Layer.without_rule) == "<Operator without_rule(self, x), gradients: none>"
    assert repr(customop("numpy")(lambda *xs, k=1: xs[0])) == "<Operator <lambda>(*xs, k=), gradients: none>"


def test_pickle():
    assert pickle.loads(pickle.dumps(multiply)) is multiply
    assert pickle.loads(pickle.dumps(Layer.scale)) is Layer.scale


def test_importable_from_the_core():
    from minpy.core import customop as from_core

    assert from_core is customop is minpy.customop


def test_ufuncs_are_functions():
    op = customop("numpy")(np.arctan2)
    op.def_grad(lambda ans, y, x: lambda g: g * x / (x * x + y * y))
    op.def_grad(lambda ans, y, x: lambda g: -g * y / (x * x + y * y), 1)
    assert not op.check(X, Y).failures


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: customop(square_of), "customop needs to know what square_of is given: write @customop('numpy') for"),
        (lambda: customop("torch"), "customop('torch'): expected 'numpy' (NumPy arrays) or 'mxnet' (NDArrays)."),
        (lambda: customop("numpy")(3), "@customop('numpy') decorates a function, got int 3."),
    ],
)
def test_decorators_that_do_not_fit(make, text):
    with pytest.raises(ArgumentError, match=re.escape(text)):
        make()


def square_of(x):
    return x * x


# -- defining gradients ------------------------------------------------------------------------------------------------


def test_def_grad_returns_the_operator_and_the_decorator_the_rule():
    op = customop("numpy")(lambda x, y: x * y)

    def rule(ans, x, y):
        return lambda g: g * y

    assert op.def_grad(rule) is op
    assert op.def_grad()(rule) is rule
    assert op.def_grad(argnum=1)(rule) is rule
    np.testing.assert_array_equal(gradient(op, X, Y)[1], Y)


def test_def_grad_replaces_the_rule():
    op = customop("numpy")(square_of).def_grad(lambda ans, x: lambda g: g)
    with pytest.warns(UserWarning, match="the gradient of argument 0"):
        op.def_grad(lambda ans, x: lambda g: 2 * g * x)
    np.testing.assert_array_equal(gradient(op, X), 2 * X)


@pytest.mark.parametrize(
    ("define", "text"),
    [
        (lambda op: op.def_grad(square_of, argnum=2), "has no argument 2; its arguments are 0 (x), 1 (y)."),
        (lambda op: op.def_grad(square_of, argnum=-1), "argnum must be a position (0, 1, ...), got -1."),
        (lambda op: op.def_grad(square_of, argnum="x"), "argnum must be a position (0, 1, ...), got 'x'."),
        (lambda op: op.def_grad(3.0), ".def_grad: the rule is float 3.0; expected a function rule(ans, *args) that"),
        (lambda op: op.def_grad_kw(square_of, "z"), ".def_grad_kw: no parameter 'z'; it has x, y."),
        (lambda op: op.def_jvp("tangent"), ".def_jvp: the rule is str 'tangent'; expected a function"),
        (lambda op: op.def_multiple_grad((1, 2)), ".def_multiple_grad: the rule is tuple"),
    ],
)
def test_definitions_that_do_not_fit(define, text):
    op = customop("numpy")(lambda x, y: x * y)
    with pytest.raises(ArgumentError, match=re.escape(text)):
        define(op)


def test_def_grad_kw_of_a_keyword_only_argument():
    @customop("numpy")
    def scaled(x, *, scale=1.0):
        return x * scale

    scaled.def_grad(lambda ans, x, *, scale=1.0: lambda g: g * scale)
    assert scaled.def_grad_kw(lambda ans, x, *, scale=1.0: lambda g: g * x, "scale") is scaled
    found = gradient(lambda x, s: scaled(x, scale=s), X, Y)
    np.testing.assert_array_equal(found[0], Y)
    np.testing.assert_array_equal(found[1], X)
    np.testing.assert_array_equal(hips.grad(lambda s: anp.sum(scaled(X, scale=s)))(Y), X)


def test_def_grad_kw_of_an_input_is_def_grad():
    op = customop("numpy")(lambda x, y: x * y).def_grad_kw(lambda ans, x, y: lambda g: g * x, "y")
    np.testing.assert_array_equal(gradient(lambda y: op(X, y=y), Y), X)


def test_a_keyword_only_argument_without_a_rule():
    @customop("numpy")
    def scaled(x, *, scale):
        return x * scale

    with pytest.raises(NoGradientError, match=r"scaled has no gradient for argument .*scale"):
        gradient(lambda s: scaled(X, scale=s), Y)


def test_def_grad_zero():
    op = customop("numpy")(lambda x, y: x * y).def_grad(lambda ans, x, y: lambda g: g * y)
    assert op.def_grad_zero(1) is op
    x, y = variable(X), variable(Y)
    with autograd.record():
        z = op(x, y)
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), Y)
    np.testing.assert_array_equal(y.grad.asnumpy(), np.zeros_like(Y))
    assert hips.grad(op, 1)(2.0, 3.0) == 0.0


def test_zero_gradients_everywhere():
    op = customop("numpy")(np.sign).def_grad_zero()
    x = variable(X)
    with autograd.record():
        z = op(x) * x
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.sign(X))
    assert repr(op) == "<Operator sign(x), gradients: none (zero)>"


def test_def_multiple_grad():
    calls = []

    def rule(ans, x, y, z):
        calls.append(1)
        return lambda g: (g * z, g * x)

    op = customop("numpy")(lambda x, y, z: x * z).def_multiple_grad(rule, (0, 2)).def_grad_zero(1)
    found = gradient(op, X, Y, Y)
    np.testing.assert_array_equal(found[0], Y)
    np.testing.assert_array_equal(found[1], np.zeros_like(Y))
    np.testing.assert_array_equal(found[2], X)
    assert len(calls) == 1  # once for both
    assert repr(op) == "<Operator <lambda>(x, y, z), gradients: x, y, z>"


@pytest.mark.parametrize("kind", ["numpy", "mxnet"])
def test_def_jvp(kind):
    seen = set()

    def rule(ans, x):
        seen.add(type(x))
        return lambda t: 10 * t * x

    op = customop(kind)(square_of).def_jvp(rule)
    _, tangent = hips.make_jvp(op)(X)(np.ones_like(X))
    np.testing.assert_array_equal(tangent, 10 * X)
    assert seen == {nd.NDArray if kind == "mxnet" else np.ndarray}


def test_forward_mode_needs_no_rule_of_its_own():
    np.testing.assert_array_equal(hips.make_jvp(lambda x: multiply(x, Y))(X)(X)[1], X * Y)


def test_def_shape():
    op = customop("numpy")(square_of)

    def rule(shape):
        return shape

    assert op.def_shape(rule) is op
    assert op.shape_rule is rule


# -- inputs that need no gradient --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [np.array([2, 0]), nd.array([2, 0], dtype="int64"), [2, 0]])
def test_integer_inputs_need_no_rule(labels):
    found = gradient(lambda x: my_softmax(x, np.asarray(labels) if isinstance(labels, list) else labels), X)
    np.testing.assert_allclose(found, minpy.grad(my_softmax)(X, np.array([2, 0])), atol=1e-12)


def test_arrays_that_are_not_variables_need_no_rule():
    op = customop("numpy")(lambda x, y: x * y).def_grad(lambda ans, x, y: lambda g: g * y)
    np.testing.assert_array_equal(gradient(lambda x: op(x, nd.array(Y, dtype="float64")), X), Y)


def test_integer_outputs_stop_the_gradient():
    op = customop("numpy")(lambda x: np.argmax(x, axis=1))
    x = variable(X)
    with autograd.record():
        labels = op(x)
        loss = my_softmax(x, labels)
    loss.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), minpy.grad(my_softmax)(X, np.argmax(X, axis=1)))


def test_a_missing_rule():
    @customop("numpy")
    def softplus(x, beta):
        return np.log1p(np.exp(beta * x)) / beta

    softplus.def_grad(lambda ans, x, beta: lambda g: g / (1 + np.exp(-beta * x)))
    text = (
        "softplus has no gradient for argument 1 (beta); defined: 0 (x). Add one with softplus.def_grad(rule, "
        "argnum=1), or say it is zero with softplus.def_grad_zero(1)."
    )
    for differentiate in (
        lambda: gradient(softplus, X, Y),
        lambda: hips.grad(softplus, 1)(1.0, 2.0),
        lambda: minpy.grad(softplus, 1)(np.array(1.0), np.array(2.0)),
    ):
        with pytest.raises(NoGradientError) as caught:
            differentiate()
        assert str(caught.value) == text
        assert isinstance(caught.value, NotImplementedError)


def test_a_missing_rule_changes_no_gradient():
    op = customop("numpy")(lambda x, y: x * y).def_grad(lambda ans, x, y: lambda g: g * y)
    x, y = variable(X), variable(Y)
    with autograd.record():
        z = op(x, y)
    with pytest.raises(NoGradientError, match="argument 1"):
        z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.zeros_like(X))


# -- second order ------------------------------------------------------------------------------------------------------


@customop("numpy")
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


def test_second_order_on_ndarrays():
    x = variable(X)
    with autograd.record():
        y = sigmoid(x)
        [first] = autograd.grad(y, x, create_graph=True)
    first.backward()
    s = sigmoid(X)
    np.testing.assert_allclose(x.grad.asnumpy(), s * (1 - s) * (1 - 2 * s), rtol=1e-12)


@pytest.mark.parametrize("grad", [minpy.elementwise_grad, hips.elementwise_grad])
def test_higher_orders_on_numpy_arrays(grad):
    s = sigmoid(X)
    np.testing.assert_allclose(grad(sigmoid)(X), s * (1 - s), rtol=1e-12)
    np.testing.assert_allclose(grad(grad(sigmoid))(X), s * (1 - s) * (1 - 2 * s), rtol=1e-12)
    third = s * (1 - s) * (1 - 6 * s + 6 * s * s)
    np.testing.assert_allclose(grad(grad(grad(sigmoid)))(X), third, rtol=1e-11)


def test_second_order_of_an_mxnet_operator():
    op = customop("mxnet")(lambda x: x * x * x).def_grad(lambda ans, x: lambda g: 3 * g * x * x)
    x = variable(X)
    with autograd.record():
        [first] = autograd.grad(op(x), x, create_graph=True)
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * X)


def test_second_order_of_the_loss():
    labels = np.array([2, 0])

    def rule(ans, x, y):
        return lambda g: g * my_softmax_grad(ans, x, y)(g)

    loss = customop("numpy")(my_softmax.forward).def_grad(rule)
    found = minpy.hessian(lambda x: loss(x, labels))(X)
    expected = np.zeros((2, 3, 2, 3))
    for row, p in enumerate(np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)):
        expected[row, :, row, :] = (np.diag(p) - np.outer(p, p)) / 2
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_rule_that_cannot_be_traced_says_so():
    op = customop("numpy")(square_of).def_grad(lambda ans, x: lambda g: np.asarray(g) * 2 * np.asarray(x))
    np.testing.assert_array_equal(gradient(op, X), 2 * X)
    x = variable(X)
    with autograd.record(), pytest.raises(MXNetError, match="converted to a NumPy array inside"):
        autograd.grad(op(x), x, create_graph=True)


# -- mutation ----------------------------------------------------------------------------------------------------------


def test_a_forward_that_changes_its_input():
    @customop("numpy")
    def shift(x):
        x += 1
        return x

    text = (
        "shift forward: it changes one of its inputs in place (x float64 (2, 3)); inputs are read-only, as others "
        "still use them. Write `x = x + 1` instead of `x += 1`, or start with x = x.copy()."
    )
    for x in (X, nd.array(X, dtype="float64"), variable(X)):
        with autograd.record(), pytest.raises(MutationError) as caught:
            shift(x)
        assert str(caught.value) == text
    with pytest.raises(MutationError, match="shift forward"):
        hips.grad(lambda x: anp.sum(shift(x)))(X)


def test_an_mxnet_forward_that_changes_its_input():
    @customop("mxnet")
    def shift(x):
        x[:] = 1
        return x

    with pytest.raises(MutationError, match="shift forward: it changes one of its inputs in place"):
        shift(variable(X))


def test_the_caller_may_write_to_the_result():
    identity = customop("numpy")(lambda x: x)
    x = X.copy()
    y = identity(x)
    y += 1
    np.testing.assert_array_equal(x, X)


def _changes(what):
    def rule(ans, x):
        def pull(g):
            target = {"ans": ans, "x": x, "g": g}[what]
            target *= 2
            return 2 * g * x + 0 * ans

        return pull

    return rule


@pytest.mark.parametrize("what", ["x", "g", "ans"])
def test_a_rule_that_changes_something_in_place(what):
    op = customop("numpy")(square_of).def_grad(_changes(what))
    x = variable(X)
    with autograd.record():
        y = op(x)
    with pytest.raises(MutationError, match="square_of gradient rule of x: it changes one of its inputs in place"):
        y.backward()
    np.testing.assert_array_equal(y.asnumpy(), X * X)
    np.testing.assert_array_equal(x.asnumpy(), X)
    with pytest.raises(MutationError, match="square_of gradient rule of x"):
        hips.grad(lambda x: anp.sum(op(x)))(X)


@pytest.mark.parametrize("what", ["x", "g", "ans"])
def test_a_rule_that_changes_something_in_place_at_second_order(what):
    op = customop("numpy")(square_of).def_grad(_changes(what))
    x = variable(X)
    with autograd.record():
        y = op(x)
        with pytest.raises(MutationError):
            autograd.grad(y, x, create_graph=True)
    np.testing.assert_array_equal(y.asnumpy(), X * X)
    np.testing.assert_array_equal(x.asnumpy(), X)


@pytest.mark.parametrize("what", ["x", "g", "ans"])
def test_an_mxnet_rule_that_changes_something_in_place(what):
    op = customop("mxnet")(square_of).def_grad(_changes(what))
    x = variable(X)
    with autograd.record():
        y = op(x)
    with pytest.raises(MutationError, match="square_of gradient rule of x: it changes one of its inputs in place"):
        y.backward(nd.array(Y, dtype="float64"))
    np.testing.assert_array_equal(y.asnumpy(), X * X)
    np.testing.assert_array_equal(x.asnumpy(), X)


def test_a_head_gradient_is_left_alone():
    op = customop("numpy")(square_of).def_grad(_changes("g"))
    x, head = variable(X), nd.array(Y, dtype="float64")
    with autograd.record():
        y = op(x)
    with pytest.raises(MutationError, match="square_of gradient rule of x"):
        y.backward(head)
    np.testing.assert_array_equal(head.asnumpy(), Y)


def test_a_rule_may_change_what_it_made():
    def rule(ans, x):
        def pull(g):
            result = g * x
            result *= 2
            result[0] += 0
            return result

        return pull

    op = customop("numpy")(square_of).def_grad(rule)
    np.testing.assert_array_equal(gradient(op, X), 2 * X)
    np.testing.assert_allclose(minpy.elementwise_grad(minpy.elementwise_grad(op))(X), np.full_like(X, 2))


# -- exceptions --------------------------------------------------------------------------------------------------------


@customop("numpy")
def broken(x, y=0):
    return inner_function(y)


def inner_function(y):
    return 1 // y


def test_an_exception_in_forward():
    with pytest.raises(ZeroDivisionError) as caught:
        broken(X, 0)
    assert isinstance(caught.value, (OperatorError, MXNetError))
    assert str(caught.value) == (
        "broken: forward failed on NumPy arrays (not recording): x float64 (2, 3), y int 0\n"
        "  ZeroDivisionError: integer division or modulo by zero"
    )
    assert type(caught.value.original) is ZeroDivisionError
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-2:] == ["broken", "inner_function"]


def test_an_exception_in_forward_while_recording():
    x = variable(X, "float32")
    text = r"broken: forward failed on NumPy arrays \(recording\): x float32 \(2, 3\), y int 0"
    with autograd.record(), pytest.raises(ZeroDivisionError, match=text):
        broken(x)
    assert not autograd.is_recording()
    op = customop("mxnet")(lambda x: x.nothing)
    with pytest.raises(
        AttributeError, match=r"<lambda>: forward failed on NDArrays \(not recording\): x float32 \(2, 3\)"
    ):
        op(x)


def test_an_exception_in_a_rule():
    def rule(ans, x):
        return lambda g: {}["missing"]

    op = customop("numpy")(square_of).def_grad(rule)
    for differentiate in (lambda: gradient(op, X), lambda: hips.grad(lambda x: anp.sum(op(x)))(X)):
        with pytest.raises(KeyError) as caught:
            differentiate()
        lines = str(caught.value).splitlines()
        line = r"square_of: gradient rule of x failed on NumPy arrays \(backward(, under HIPS autograd)?\): x "
        assert re.match(line, lines[0])
        assert lines[1] == "  KeyError: 'missing'"
        frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert frames[-1] == "<lambda>"


def test_exceptions_with_unusual_constructors():
    class Unusual(Exception):
        def __init__(self, code, reason):
            super().__init__(f"{code}: {reason}")

    def fail(x):
        raise Unusual(7, "because")

    with pytest.raises(OperatorError, match="7: because") as caught:
        customop("numpy")(fail)(X)
    assert type(caught.value.original) is Unusual


def test_an_operator_inside_an_operator_keeps_the_innermost_line():
    outer = customop("numpy")(lambda x: broken(x, 0))
    with pytest.raises(ZeroDivisionError, match=r"\Abroken: forward failed"):
        outer(X)


def test_keyboard_interrupt_passes():
    def fail(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        customop("numpy")(fail)(X)


def test_a_forward_without_a_result():
    with pytest.raises(
        ArgumentError, match=r"<lambda>: its forward is NoneType None; expected an array, .* Does every path of the"
    ):
        customop("numpy")(lambda x: None)(X)
    with pytest.raises(ArgumentError, match=r"<lambda>: output 1 of its forward is str 'b'; expected an array"):
        customop("numpy")(lambda x: (x, "b"))(X)


# -- what a rule returns -----------------------------------------------------------------------------------------------


WRONG_RESULTS = {
    "returned a gradient of shape (2, 2); expected (2, 3), the shape of its argument 'x'.": lambda ans, x: (
        lambda g: g[:, :2]
    ),
    "returned NoneType None; expected an array of shape (2, 3), the gradient of its argument.": lambda ans, x: (
        lambda g: None
    ),
    "returned float64 (2, 3); expected a function of the upstream gradient: def rule(ans, x): return lambda g: ...": (
        lambda ans, x: 2 * x
    ),
    "returned tuple of 2: [": lambda ans, x: lambda g: (g, g),
    "returned an array of dtype <U1; expected numbers (float64, ": lambda ans, x: lambda g: np.full((2, 3), "a"),
}


@pytest.mark.parametrize(("text", "rule"), WRONG_RESULTS.items(), ids=["shape", "none", "unstaged", "count", "kind"])
def test_a_rule_that_returns_the_wrong_thing(text, rule):
    text = f"square_of: the gradient rule of argument 0 (x) {text}"
    op = customop("numpy")(square_of).def_grad(rule)
    for differentiate in (lambda: gradient(op, X), lambda: hips.grad(lambda x: anp.sum(op(x)))(X)):
        with pytest.raises(GradientError, match=re.escape(text)) as caught:
            differentiate()
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("returned", "got"),
    [((1.0,), "1"), ((1.0, 2.0, 3.0), "3"), (np.ones(2), r"float64 \(2,\)"), (None, "NoneType None")],
)
def test_a_rule_that_returns_the_wrong_number_of_gradients(returned, got):
    op = customop("numpy")(lambda x, y: x * y).def_multiple_grad(lambda ans, x, y: lambda g: returned)
    text = rf"the rule of def_multiple_grad returned {got}; expected a tuple of 2 gradients, for x, y\."
    with pytest.raises(GradientError, match=text):
        gradient(op, X, Y)


def test_broadcasting_is_undone_and_dtypes_are_cast():
    x, y = variable(X, "float32"), variable(Y[0], "float32")
    with autograd.record():
        z = multiply(x, y)
    z.backward()
    assert y.grad.dtype == np.float32
    np.testing.assert_allclose(y.grad.asnumpy(), X.sum(axis=0), rtol=1e-6)
    op = customop("numpy")(lambda x: x * 1).def_grad(lambda ans, x: lambda g: np.asarray(g, "float64"))
    with autograd.record():
        z = op(x)
    z.backward()
    assert x.grad.dtype == np.float32


def test_a_gradient_may_be_a_number():
    op = customop("numpy")(np.sum).def_grad(lambda ans, *a, **k: lambda g: 1.0)
    x = variable(np.array([3.0]))
    with autograd.record():
        y = op(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [1.0])
