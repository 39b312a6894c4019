"""`op.check`: it accepts right rules, and rejects wrong ones with words that help."""

from __future__ import annotations

import functools
import random
import re

import numpy as np
import pytest

import minpy
from minpy import customop, nd
from minpy.checking import MODES, Report, Row, Unsupported, check_operator, register_mode
from minpy.checking.kernel_forms import FORMS, Form, ulps_apart
from minpy.core.errors import ArgumentError, CheckError, MutationError, MXNetError, OperatorError
from minpy.custom.custom_call import prop_operator
from minpy.ops.registry import operator

COMPILES = True

MODE_NAMES = ("recorded ndarray", "recorded NDArray", "by keyword", "HIPS autograd", "bound symbol")
X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.6]])
Y = np.array([[1.5, 0.25, -2.0], [0.7, -1.75, 1.1]])
SQUARE = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.6], [-0.3, 0.9, 1.2]])


def make(forward, *rules, kind="numpy"):
    made = customop(kind)(forward)
    for argnum, rule in enumerate(rules):
        made.def_grad(rule, argnum)
    return made


def multiply(x, y):
    return x * y


def square(x):
    return x * x


def results(report: Report) -> dict[str, str]:
    return {row.what: row.result for row in report.rows}


def rejection(op, *arguments, **attributes) -> str:
    with pytest.raises(CheckError) as caught:
        op.check(*arguments, **attributes)
    return str(caught.value)


# -- right rules -------------------------------------------------------------------------------------------------------


def test_right_rules_pass_every_check():
    op = make(multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    report = op.check(X, Y)
    assert set(results(report)) == {
        "forward",
        "inputs unchanged",
        "gradient of x",
        "gradient of y",
        "second order, x",
        "second order, y",
        "second order, upstream g",
        *(f"second order, {mode}" for mode in ("recorded ndarray", "recorded NDArray", "HIPS autograd")),
        "zeros among the inputs",
        "float32",
        "float16",
        "non-contiguous inputs",
        "zero-size inputs",
        *MODE_NAMES,
    } | set(MODES)
    assert set(results(report).values()) == {"ok"}
    assert report["gradient of x"].error < 1e-8


@pytest.mark.parametrize(
    ("op", "arguments", "attributes"),
    [
        (nd.exp, [X], {}),
        (nd.tanh, [X], {}),
        (nd.broadcast_add, [X, Y[0]], {}),
        (nd.broadcast_mul, [X[:, :1], Y], {}),
        (nd.broadcast_div, [X, np.abs(Y)], {}),
        (nd.broadcast_power, [np.abs(X), Y], {}),
        (nd.transpose, [X], {"axes": (1, 0)}),
        (nd.reshape, [X], {"shape": (3, -1)}),
        (nd.sum, [X], {"axis": 1, "keepdims": True}),
        (nd.broadcast_to, [X[:1]], {"shape": (4, 3)}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_built_in_operators_pass(op, arguments, attributes):
    report = op.check(*arguments, **attributes)
    assert not report.failures
    for mode in MODE_NAMES:
        assert report[mode].result == "ok"


def test_several_outputs():
    op = customop("numpy")(lambda x, y: (x * y, np.sum(x)))
    op.def_grad(lambda ans, x, y: lambda g: g[0] * y + g[1])
    op.def_grad(lambda ans, x, y: lambda g: g[0] * x, argnum=1)
    report = op.check(X, Y)
    assert report["second order, upstream g[1]"].result == "ok"
    assert not report.failures


class Scaler:
    factor = 3.0

    @customop("numpy")
    def scale(self, x):
        return self.factor * x * x

    scale.def_grad(lambda ans, self, x: lambda g: g * 2 * self.factor * x)


def test_methods_are_checked_with_their_instance_in_front():
    report = Scaler.scale.check(Scaler(), X)
    assert report["gradient of x"].result == "ok"
    assert report["by keyword"].result == "ok"
    assert report.title == "scale(x float64 (2, 3))"


def test_operators_on_ndarrays():
    def forward(x, y):
        assert type(x) is nd.NDArray
        return nd.tanh(x) * y

    op = make(
        forward,
        lambda ans, x, y: lambda g: g * y * (1 - nd.tanh(x) * nd.tanh(x)),
        lambda ans, x, y: lambda g: g * nd.tanh(x),
        kind="mxnet",
    )
    report = op.check(X, Y)
    assert not report.failures
    assert report["second order, x"].result == "ok"


class Square(minpy.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], self.factor * out_grad[0] * in_data[0])


def test_custom_operators_in_mxnets_manner():
    @minpy.operator.register("_checked_square")
    class SquareProp(minpy.operator.CustomOpProp):
        def __init__(self, factor="2"):
            super().__init__(need_top_grad=True)
            self.factor = float(factor)

        def create_operator(self, ctx, shapes, dtypes):
            made = Square()
            made.factor = self.factor
            return made

    report = prop_operator("_checked_square", {}).check(X)
    note = report["second order"].note
    assert note.startswith("first order only: NoGradientError: Custom operator '_checked_square' has no second-order")
    assert {result for what, result in results(report).items() if what != "second order"} == {"ok"}
    message = rejection(prop_operator("_checked_square", {"factor": "3"}), X)
    assert "It is 1.5 times the right one." in message


def test_rules_in_wrappers():
    def decorated(rule):
        @functools.wraps(rule)
        def wrapper(first, second):
            return rule(first, second)

        return wrapper

    op = make(square, decorated(lambda ans, x: lambda g: 2 * g * x))
    assert set(results(op.check(X)).values()) == {"ok"}


def test_one_rule_for_several_arguments():
    op = customop("numpy")(multiply).def_multiple_grad(lambda ans, x, y: lambda g: (g * y, g * x), (0, 1))
    assert results(op.check(X, Y))["gradient of y"] == "ok"


def test_variadic_inputs():
    def total(*xs):
        return sum(xs)

    op = customop("numpy")(total).def_multiple_grad(lambda ans, *xs: lambda g: tuple(g for _ in xs))
    report = op.check(X, Y, X)
    assert report["gradient of xs[2]"].result == "ok"
    assert report["by keyword"] == Row("by keyword", "skipped", note="inputs of *xs have no names")


def test_gradients_of_keyword_arguments():
    op = customop("numpy")(_scaled)
    op.def_grad(lambda ans, x, *, scale: lambda g: g * scale)
    op.def_grad_kw(lambda ans, x, *, scale: lambda g: g * x, "scale")
    report = op.check(X, scale=Y)
    assert not report.failures
    assert report["gradient of scale"].result == "ok"
    assert report["second order, scale"].result == "ok"


def _scaled(x, *, scale):
    return x * scale


def test_jvp_rules():
    op = make(multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    op.def_jvp(lambda ans, x, y: lambda t: t * y).def_jvp(lambda ans, x, y: lambda t: x * t, argnum=1)
    report = op.check(X, Y)
    assert report["jvp of x"].result == report["jvp of y"].result == "ok"


def test_shape_rule():
    op = make(square, lambda ans, x: lambda g: 2 * g * x)
    assert op.def_shape(lambda shape: shape).check(X)["shape rule"].result == "ok"
    with pytest.warns(UserWarning, match="the shape rule is defined already"):
        op.def_shape(lambda shape: (*shape, 1))
    assert "the shape rule says (2, 3, 1), forward returns (2, 3)." in rejection(op, X)


def test_numbers_and_lists_and_ndarrays_are_inputs():
    op = make(multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: np.sum(g * x))
    assert results(op.check([1.0, 2.0], 3.0))["gradient of y"] == "ok"
    assert not op.check(nd.array(X), y=nd.array([0.5])).failures


def test_inputs_without_elements():
    op = make(square, lambda ans, x: lambda g: 2 * g * x)
    assert not op.check(np.zeros((0, 3))).failures


# -- what is reported, not failed --------------------------------------------------------------------------------------


def test_integer_inputs_are_not_differentiated():
    def pick(x, labels):
        return x[np.arange(len(labels)), labels]

    def rule(ans, x, labels):
        return lambda g: g[:, None] * (labels[:, None] == np.arange(x.shape[1]))

    report = make(pick, rule).check(X, np.array([2, 0]))
    assert "gradient of labels" not in results(report)
    assert report["zero-size inputs"].note == "(0, 3), (0,)"


def test_integer_inputs_alone():
    report = customop("numpy")(lambda x: x + 1).check(np.array([1, 2]))
    assert report["gradients"] == Row("gradients", "skipped", note="no input is floating point")
    assert report["recorded NDArray"].result == "ok"


def test_missing_and_zero_rules_are_reported():
    op = make(lambda x, y, z: x * y, lambda ans, x, y, z: lambda g: g * y)
    op.def_grad_zero(2)
    report = op.check(X, Y, X)
    assert report["gradient of y"] == Row("gradient of y", "skipped", note="no rule: see <lambda>.def_grad")
    assert report["gradient of z"] == Row("gradient of z", "ok", 0.0, "said to be zero")


def test_gradients_that_are_said_to_be_zero_and_are_not_are_reported():
    report = nd.BlockGrad.check(X)
    note = "said to be zero; central differences are not"
    assert report["gradient of data"] == Row("gradient of data", "skipped", note=note)
    report = customop("numpy")(lambda x: np.floor(x)).def_grad_zero().check([2.0, 3.0])
    note = "said to be zero; not smooth here: choose inputs away from kinks and jumps"
    assert report["gradient of x"] == Row("gradient of x", "skipped", note=note)


def test_arrays_among_the_attributes():
    def weighted(x, *, weights):
        return x * weights

    report = make(weighted, lambda ans, x, *, weights: lambda g: g * weights).check(X, weights=X[0])
    assert report.title == "weighted(x float64 (2, 3), weights=float64 (3,))"
    assert report["gradient of weights"].note == "no rule: see weighted.def_grad"
    assert not report.failures


def test_kinks_are_left_out_and_reported():
    relu = make(lambda x: np.maximum(x, 0), lambda ans, x: lambda g: g * (x > 0))
    report = relu.check([0.0, 1.0, -2.0, 0.0])
    assert report["gradient of x"].note == "2 of 4 elements at a kink, left out"
    assert relu.check([0.0])["gradient of x"] == Row(
        "gradient of x", "skipped", note="not smooth here: choose inputs away from kinks and jumps"
    )


def test_kinks_nearby_do_not_disturb():
    relu = make(lambda x: np.maximum(x, 0), lambda ans, x: lambda g: g * (x > 0))
    report = relu.check([1e-5, -1e-5, 3.0])
    assert report["gradient of x"].result == "ok"
    assert not report["gradient of x"].note


def test_wrong_rules_are_found_beside_a_kink():
    relu = make(lambda x: np.maximum(x, 0), lambda ans, x: lambda g: 1.01 * g * (x > 0))
    assert "the gradient of argument 0 (x) is wrong at [1]" in rejection(relu, [0.0, 1.0, -2.0])


def test_borders_of_the_domain_are_kinks():
    op = make(np.sqrt, lambda ans, x: lambda g: g / (2 * ans))
    assert op.check([0.0, 4.0])["gradient of x"].note == "1 of 2 elements at a kink, left out"


def test_random_operators_cannot_be_checked():
    random = np.random.default_rng(0)
    report = make(lambda x: x * random.normal(), lambda ans, x: lambda g: g).check(X)
    assert report["forward"].result == "skipped"
    assert report["forward"].note.startswith("random: two calls differ")
    assert len(report.rows) == 1


def test_rules_that_leave_numpy_are_first_order_only():
    op = make(np.exp, lambda ans, x: lambda g: np.asarray(g) * np.asarray(ans))
    report = op.check(X)
    assert report["second order"].result == "skipped"
    assert report["second order"].note.startswith("first order only: ")


def test_empty_arrays_that_forward_does_not_take_are_reported():
    def largest(x):
        return x - np.max(x)

    def rule(ans, x):
        return lambda g: g - np.sum(g) * (x == np.max(x))

    report = make(largest, rule).check(X)
    assert report["zero-size inputs"].result == "skipped"
    assert "zero-size array to reduction operation maximum" in report["zero-size inputs"].note


def test_dtypes_that_forward_does_not_take_are_reported():
    op = make(lambda x: np.linalg.inv(x), lambda ans, x: lambda g: -ans.T @ g @ ans.T)
    report = op.check(SQUARE)
    assert report["float32"].result == "ok"
    assert report["float16"].result == "skipped"
    assert report["float16"].note.startswith("forward does not take it: TypeError")


def test_operators_that_compute_in_float32_inside():
    def forward(x):
        return np.tanh(x.astype(np.float32))

    assert not make(forward, lambda ans, x: lambda g: g * (1 - ans * ans)).check(X).failures


def test_complex_numbers_are_reported():
    assert "complex" in make(square, lambda ans, x: lambda g: 2 * g * x).check(X + 1j)["forward"].note


# -- wrong rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forward", "rule", "inputs", "text"),
    [
        (square, lambda ans, x: lambda g: g * x, [X], "It is 0.5 times the right one."),
        (square, lambda ans, x: lambda g: -2 * g * x, [X], "It has the wrong sign."),
        (np.exp, lambda ans, x: lambda g: ans, [X], "does the rule multiply by g?"),
        (lambda x: x @ x, lambda ans, x: lambda g: (g @ x.T + x.T @ g).T, [SQUARE], "It is transposed."),
        (multiply, lambda ans, x, y: lambda g: g * x, [X, Y], ""),
        (square, lambda ans, x: lambda g: 2 * g * (x + 1e-4), [X], ""),
        (square, lambda ans, x: lambda g: np.full_like(x, np.nan), [X], "central differences 0.42573."),
        (lambda x, b: x + b, lambda ans, x, b: lambda g: g * np.sum(g), [X, Y], ""),
    ],
    ids=["factor", "sign", "upstream", "transposed", "other", "nearly", "nan", "nonlinear"],
)
def test_wrong_gradients_are_rejected(forward, rule, inputs, text):
    message = rejection(make(forward, rule), *inputs)
    first = message.splitlines()[0]
    assert re.search(r"check: the gradient of argument 0 \(\w+\) is wrong at \[\d, \d\]: the rule gives ", first)
    assert first.endswith(text)
    assert re.search(r"gradient of \w+ +failed", message)


def test_the_worst_element_is_named():
    error = np.zeros_like(X)
    error[0, 1], error[1, 2] = 0.5, -2.0
    message = rejection(make(square, lambda ans, x: lambda g: g * (2 * x) + error), X)
    assert "the gradient of argument 0 (x) is wrong at [1, 2]: the rule gives " in message
    with pytest.raises(CheckError) as caught:
        make(lambda x: 3 * x, lambda ans, x: lambda g: g * [1, 3, 3]).check([1.0, 2.0, 3.0])
    row = caught.value.report["gradient of x"]
    assert row.note.startswith("at [0]: got ")
    assert row.error == pytest.approx(2 / 3 * abs(float(re.search(r"expected (\S+)", row.note)[1])))


def test_one_wrong_element_among_many_is_found():
    x = np.random.default_rng(0).normal(size=(40, 50))
    error = np.zeros_like(x)
    error[3, 27] = 1e-3
    op = make(square, lambda ans, x: lambda g: 2 * g * x + (error if x.shape == error.shape else 0))
    assert "the gradient of argument 0 (x) is wrong at [3, 27]: the rule gives " in rejection(op, x)
    assert not make(square, lambda ans, x: lambda g: 2 * g * x).check(x).failures


def test_the_gradient_of_the_wrong_argument_is_recognized():
    op = make(multiply, lambda ans, x, y: lambda g: g * x, lambda ans, x, y: lambda g: g * x)
    assert "It is the gradient of argument 1 (y)." in rejection(op, X, Y)


def test_every_wrong_gradient_is_reported():
    op = make(multiply, lambda ans, x, y: lambda g: -g * y, lambda ans, x, y: lambda g: 2 * g * x)
    message = rejection(op, X, Y)
    assert message.startswith("multiply.check (2 checks failed): the gradient of argument 0 (x) is wrong at")
    assert "the gradient of argument 1 (y) is wrong at" in message
    assert "It is 2 times the right one." in message


def test_a_missing_sum_over_a_broadcast_axis():
    def affine(x, b):
        return np.sum(x + b, axis=1)

    def rule_of_x(ans, x, b):
        return lambda g: np.broadcast_to(g[:, None], x.shape)

    op = make(affine, rule_of_x, lambda ans, x, b: lambda g: np.broadcast_to(g[:, None], x.shape))
    assert (
        "affine: the gradient rule of argument 1 (b) returned a gradient of shape (2, 3); expected (3,), the shape of "
        "its argument 'b'." in rejection(op, X, Y[0])
    )
    op = make(affine, rule_of_x, lambda ans, x, b: lambda g: np.full(3, g[0]))  # should be g.sum()
    assert "the gradient of argument 1 (b) is wrong at [0]" in rejection(op, X, Y[0])


def test_a_second_order_that_is_cut_off():
    op = make(lambda x: np.exp(x[0] * x), lambda ans, x: _detached_rule(ans, x))
    message = rejection(op, np.array([0.5, -1.25]))
    assert "the second-order gradient with respect to x is wrong at [0]: the rules give " in message
    assert "x.item() or x.asnumpy() cut it off" in message


def _detached_rule(ans, x):
    first = x[0].item()

    def gradient(g):
        rest = g * ans * first
        return rest + np.sum(g * ans * x) * np.array([1.0, 0.0])

    return gradient


def test_a_rule_that_returns_the_wrong_kind_or_count():
    op = make(square, lambda ans, x: lambda g: "gradient")
    assert "the gradient rule of argument 0 (x) returned str 'gradient'" in rejection(op, X)
    op = customop("numpy")(multiply).def_multiple_grad(lambda ans, x, y: lambda g: (g,), (0, 1))
    assert "the rule of def_multiple_grad returned 1; expected a tuple of 2 gradients" in rejection(op, X, Y)


def test_an_exception_in_a_rule_keeps_its_traceback():
    def rule(ans, x):
        return lambda g: 1 // 0

    with pytest.raises(CheckError, match="ZeroDivisionError: integer division") as caught:
        make(square, rule).check(X)
    assert isinstance(caught.value.__cause__, OperatorError)
    assert isinstance(caught.value.__cause__.original, ZeroDivisionError)
    assert results(caught.value.report)["recorded NDArray"] == "ok"  # outputs are compared nevertheless


def test_wrong_jvp():
    op = make(multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    op.def_jvp(lambda ans, x, y: lambda t: 2 * t * y)
    message = rejection(op, X, Y)
    assert "the jvp rule of argument 0 (x) is wrong at output [" in message
    with pytest.warns(UserWarning, match="the forward-mode rule of argument 0"):
        op.def_jvp(lambda ans, x, y: lambda t: np.zeros(7))
    assert "returned a tangent of shape (7,); expected (2, 3)." in rejection(op, X, Y)


# -- special points ----------------------------------------------------------------------------------------------------


def _product(x):
    return np.prod(x, axis=-1)


def test_rules_that_divide_are_wrong_at_zeros():
    op = make(_product, lambda ans, x: lambda g: (g * ans)[..., None] / x)
    assert "where elements of argument 0 (x) are zero: the gradient of argument 0 (x) is wrong at" in rejection(op, X)


def test_rules_whose_hessian_is_wrong_at_zeros():
    def others(x):
        return [np.prod(np.delete(x, place)) for place in range(len(x))]

    def rule(ans, x):
        raw = np.asarray(getattr(x, "_data", x))
        if not raw.all():  # first order is right, and constant
            return lambda g: g * np.array(others(raw))
        return lambda g: g * ans / x

    message = rejection(make(lambda x: np.asarray(np.prod(x)), rule), np.array([2.0, 0.0, 3.0]))
    assert "the second-order gradient with respect to x is wrong at" in message
    message = rejection(make(lambda x: np.asarray(np.prod(x)), rule), np.array([2.0, 4.0, 3.0]))
    assert "where elements of argument 0 (x) are zero: the second-order gradient with respect to x is wrong" in message


def test_zeros_where_nothing_is_smooth_are_left_out():
    report = make(lambda x: np.log(np.abs(x)), lambda ans, x: lambda g: g / x).check(X)
    row = report["zeros among the inputs"]
    assert (row.result, row.note) == ("skipped", "not with zeros in x (not smooth)")
    op = make(lambda x, y: x / y, lambda ans, x, y: lambda g: g / y, lambda ans, x, y: lambda g: -g * ans / y)
    row = op.check(X, Y)["zeros among the inputs"]
    assert (row.result, row.note) == ("ok", "not with zeros in y (not smooth)")


def test_inputs_that_are_nan_are_left_out():
    x = np.where(X > 1, np.nan, X)

    def total(x):
        return np.nansum(x)

    report = make(total, lambda ans, x: lambda g: np.where(np.isnan(x), 0, g)).check(x)
    assert report["gradient of x"].result == "ok"
    report = make(total, lambda ans, x: lambda g: np.where(np.isnan(x), np.nan, g)).check(x)
    assert report["gradient of x"].note == "2 of 6 elements at a kink, left out"
    message = rejection(make(total, lambda ans, x: lambda g: np.where(np.isnan(x), 0, 2 * g)), x)
    assert "the gradient of argument 0 (x) is wrong at" in message


def test_rules_of_another_function():
    straight = make(lambda x: np.round(x), lambda ans, x: lambda g: g)
    assert "is wrong" in rejection(straight, X)
    assert not check_operator(straight, [X], gradient_of=lambda x: x).failures
    with pytest.raises(CheckError, match="the rule gives"):
        check_operator(straight, [X], gradient_of=lambda x: 2 * x)
    loss = make(lambda x, t: np.array(x), lambda ans, x, t: lambda g: x - t).def_grad_zero(1)
    assert not check_operator(loss, [X, Y], gradient_of=lambda x, t: ((x - t) ** 2).sum() / 2).failures
    with pytest.raises(CheckError, match="the rule gives"):
        check_operator(loss, [X, Y], gradient_of=lambda x, t: ((x - t) ** 2).sum())


# -- faster forms ------------------------------------------------------------------------------------------------------


def _with_forms(into=None, grad_into=None, elementwise=False):
    op = operator(lambda x: x * x, name="_test_square", public=False)
    op.def_grad(lambda ans, x: lambda g: 2 * g * x)
    op.elementwise = elementwise
    if into is not None:
        op.def_into(into)
    if grad_into is not None:
        op.def_grad_into(grad_into)
    return op


def _reads_what_is_there(out, x):
    out *= 0
    out += x * x


def _reads_after_writing(out, x):
    np.copyto(out, x)
    np.multiply(out, out, out=out)
    np.add(out, 0 * x, out=out)


def _wrong_if_in_place(out, x):
    np.multiply(x, 2, out=out)
    np.multiply(out, x, out=out)
    np.divide(out, 2, out=out)


def _wrong_for_infinity(out, x):
    np.copyto(out, np.where(np.isfinite(x), x * x, np.nan))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (lambda out, x: np.multiply(x, x + 1e-6, out=out), "forward into memory: with float64 inputs it is"),
        (_reads_what_is_there, "forward into memory: with float64 inputs it is nan at [0, 0], the definition gives"),
        (_wrong_if_in_place, "forward into x: with float64 inputs it is"),
        (_wrong_for_infinity, "forward into memory: with extreme float64 inputs it is nan at"),
        (lambda out, x: np.copyto(out, (x * x).astype("float16")), "units in the last place apart, 4 are allowed"),
    ],
    ids=["wrong", "reads", "in place", "infinity", "rounded"],
)
def test_forms_that_compute_something_else(form, text):
    assert text in rejection(_with_forms(form, elementwise=True), X)


def test_forms_that_compute_the_same():
    def gradient(ans, x):
        return lambda g, out: np.multiply(g, x + x, out=out)

    report = _with_forms(_reads_after_writing, gradient).check(X)
    assert {report[what].result for what in ("forward into memory", "gradient of x into memory")} == {"ok"}
    op = _with_forms(None, lambda ans, x: lambda g, out: np.multiply(g, x, out=out))
    assert "gradient of x into memory: with float64 inputs it is" in rejection(op, X)


def test_how_far_forms_may_be_apart():
    op = _with_forms(lambda out, x: np.multiply(x * x, 1 + 2.0**-50, out=out))
    with pytest.raises(CheckError, match=r"gives 0.25: 4 units in the last place apart, 3 are allowed"):
        check_operator(op, [[0.5]], ulps=3)
    assert check_operator(op, [[0.5]], ulps=4)["forward into memory"].error == 4
    assert ulps_apart(np.array([1, 2]), np.array([1, 3])).tolist() == [0, np.inf]
    assert ulps_apart(np.array([np.inf, np.nan, -0.0]), np.array([np.nan, np.nan, 0.0])).tolist() == [np.inf, 0, 0]


def test_kernels():
    op = _with_forms()
    op.def_kernel(lambda x: np.square(x))
    op.def_grad_kernel(lambda ans, x: lambda g: g * (x + x))
    report = op.check(X)
    assert {report[what].result for what in ("forward kernel", "gradient kernel of x")} == {"ok"}
    op.def_grad_kernel(lambda ans, x: lambda g: np.where(x > 1.9, 1, 2) * g * x)
    assert "gradient kernel of x: with float64 inputs it is" in rejection(op, X)
    op.def_grad_kernel(lambda ans, x: lambda g: g * (x + x))
    op.def_kernel(lambda x: np.where(x == 2, 3, x * x))
    assert "forward kernel: with float64 inputs it is 3.0 at [0, 2], the definition gives 4.0" in rejection(op, X)


def test_kernels_of_rules_for_several_arguments():
    op = customop("numpy")(multiply)
    with pytest.raises(ArgumentError, match="there is no rule for several arguments yet; give its definition first"):
        op.def_multiple_grad_kernel(lambda ans, x, y: lambda g: (g * y, g * x))
    op.def_multiple_grad(lambda ans, x, y: lambda g: (g * y, g * x), (0, 1))
    calls = []

    @op.def_multiple_grad_kernel
    def kernel(ans, x, y):
        calls.append(type(x))
        return lambda g: (g * y, np.multiply(g, x))

    assert op.check(X, Y)["gradient kernel of several"].result == "ok"
    assert set(calls) == {np.ndarray}  # what is recorded, for second order, goes through the definition
    op.def_multiple_grad_kernel(lambda ans, x, y: lambda g: (g * y, np.where(x > 1.9, 2, 1) * g * x))
    assert "gradient kernel of several: with float64 inputs output 1 is" in rejection(op, X, Y)


def test_further_kinds_of_forms():
    def kernels(call):
        yield Form("kernel", call.run_definition, lambda: call.inputs[0].astype("float32") ** 2)

    op = _with_forms()
    assert "kernel" not in results(op.check(X))
    FORMS.append(kernels)
    try:
        message = rejection(op, X)
    finally:
        FORMS.remove(kernels)
    assert "kernel: with float64 inputs it is float32 (2, 3); the definition gives float64 (2, 3)." in message


# -- mutation ----------------------------------------------------------------------------------------------------------


def _adds_in_place(x):
    x += 1
    return x


def _rule_that_changes_the_upstream(ans, x):
    def gradient(g):
        g *= 2 * x
        return g

    return gradient


def _rule_that_changes_an_input(ans, x):
    def gradient(g):
        x[...] *= 2
        return g * x

    return gradient


def _rule_that_changes_the_output(ans, x):
    def gradient(g):
        ans[...] = 0
        return 2 * g * x

    return gradient


RULES = [
    (_rule_that_changes_the_upstream, "changes the upstream gradient g in place"),
    (_rule_that_changes_an_input, "changes argument 0 (x) in place"),
    (_rule_that_changes_the_output, "changes the output ans in place"),
]


@pytest.mark.parametrize("rule", [rule for rule, _ in RULES])
def test_a_rule_that_changes_something_in_place(rule):
    with pytest.raises(CheckError, match="changes one of its inputs in place") as caught:
        make(square, rule).check(X)
    assert isinstance(caught.value.__cause__, MutationError)


@pytest.mark.parametrize(("rule", "text"), RULES)
def test_a_rule_of_a_trusted_operator_that_changes_something_in_place(rule, text):
    op = operator(square, name="_test_square", public=False)
    op.def_grad(rule)
    assert f"the gradient rule of argument 0 (x) {text}. Write `x = x + 1`" in rejection(op, X)


def test_a_forward_that_changes_its_input():
    x = X.copy()
    assert "forward: _adds_in_place forward: it changes one of its inputs" in rejection(make(_adds_in_place), x)
    trusted = operator(_adds_in_place, name="_test_adds", public=False)
    assert "forward changes its argument 0 (x) in place." in rejection(trusted, x)
    np.testing.assert_array_equal(x, X)


# -- shapes, dtypes, layouts, modes ------------------------------------------------------------------------------------


def test_a_forward_that_returns_another_dtype():
    op = make(lambda x: x * np.linspace(0.5, 1, 3), lambda ans, x: lambda g: g * np.linspace(0.5, 1, 3))
    message = rejection(op, X)
    assert (
        "with float32 inputs the output is float64; expected float32. Does forward mix in float64 numbers?" in message
    )


def test_a_forward_whose_shape_depends_on_the_dtype():
    def forward(x):
        return x[:1] if x.dtype == np.float16 else x

    op = make(forward, lambda ans, x: lambda g: g)
    assert "with float16 inputs the output has shape (1, 3); with float64 it has (2, 3)." in rejection(op, X)


def test_a_forward_that_looks_at_memory():
    def forward(x):
        return np.frombuffer(np.ravel(x, order="K").tobytes()).reshape(x.shape) if x.dtype == np.float64 else x

    op = make(forward, lambda ans, x: lambda g: g)
    assert "non-contiguous inputs: output 0, element " in rejection(op, X)


def test_a_rule_that_fails_without_elements():
    def rule(ans, x):
        return lambda g: 2 * g * x + 0 * x[0]

    assert "zero-size inputs: square: gradient rule of x failed" in rejection(make(square, rule), X)


def test_a_mode_that_gives_other_numbers_or_does_not_apply():
    op = make(square, lambda ans, x: lambda g: 2 * g * x)

    def wrong(case, upstream):
        outputs, gradients = MODES["recorded ndarray"](case, upstream)
        return outputs, [gradient + 1 for gradient in gradients]

    def refuses(case, upstream):
        raise Unsupported("not today")

    register_mode("wrong", wrong)
    register_mode("refuses", refuses)
    try:
        message = rejection(op, X)
    finally:
        del MODES["wrong"], MODES["refuses"]
    assert re.search(r"wrong: the gradient of argument 0 \(x\), element \d: got ", message)
    assert re.search("refuses +skipped +not today", message)


# -- the report and the call -------------------------------------------------------------------------------------------


def test_the_report_is_a_table():
    lines = str(make(square, lambda ans, x: lambda g: 2 * g * x).check(X)).splitlines()
    assert lines[0] == "square(x float64 (2, 3))"
    assert lines[1].split() == ["check", "result", "worst", "error", "note"]
    column = lines[1].index("result")
    assert {line[column:].split()[0] for line in lines[2:]} == {"ok"}
    with pytest.raises(KeyError, match="no check 'nothing'; the report has 'forward'"):
        make(square).check(X)["nothing"]


def test_the_error_is_an_assertion_and_one_of_minpy():
    with pytest.raises(AssertionError) as caught:
        make(square, lambda ans, x: lambda g: g).check(X)
    assert isinstance(caught.value, MXNetError)
    assert caught.value.report.failures


def test_options():
    op = make(square, lambda ans, x: lambda g: 2.0001 * g * x)
    assert not check_operator(op, [X], rtol=1e-3).failures
    with pytest.raises(CheckError):
        check_operator(op, [X])
    assert check_operator(op, [X], rtol=1e-3, seed=3, directions=1).rows


def test_attributes_named_as_options_reach_the_operator():
    def forward(x, *, rtol, seed):
        return x * rtol + seed

    op = make(forward, lambda ans, x, *, rtol, seed: lambda g: g * rtol)
    assert op.check(X, rtol=2.0, seed=1).title == "forward(x float64 (2, 3), rtol=2.0, seed=1)"


def test_wrong_calls_are_refused_as_usual():
    with pytest.raises(ArgumentError, match="argument 'y' is missing"):
        make(multiply).check(X)


def test_a_check_leaves_no_trace():
    op = make(square, lambda ans, x: lambda g: 2 * g * x)
    x = nd.array(X)
    x.attach_grad()
    with minpy.autograd.record():
        op.check(x)
        assert minpy.autograd.is_recording()
        y = op(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X, rtol=1e-6)


# -- as a bound symbol -------------------------------------------------------------------------------------------------


def test_a_faster_form_that_computes_something_else_is_rejected():
    op = make(lambda x: np.tanh(x), lambda ans, x: lambda g: g * (1 - ans * ans))
    assert op.check(X)["bound symbol"].result == "ok"
    op.builtin = True  # only trusted operators compute in planned memory
    op.def_into(lambda out, x: np.tanh(x, out=out))
    assert op.check(X)["bound symbol"].result == "ok"
    op.def_into(lambda out, x: np.sin(x, out=out))
    text = rejection(op, X)
    assert text.startswith(
        "<lambda>.check (2 checks failed): forward into memory: with float64 inputs it is -0.948984"
    ), text
    assert "bound symbol: output 0, element 1: got -0.948985, NumPy arrays give -0.848284." in text


def test_several_outputs_need_no_names_in_graphs():
    def both(x, y):
        return x * y, x + y

    op = make(both)
    op.def_multiple_grad(lambda ans, x, y: lambda g: (g[0] * y + g[1], g[0] * x + g[1]))
    assert op.check(X, Y)["bound symbol"].result == "ok"
    op.outputs = ["product", "sum"]
    assert op.check(X, Y)["bound symbol"].result == "ok"


STATISTICS = [X, Y[0], Y[0], Y[0], Y[0] ** 2]


def test_training_mode_is_the_threads():
    for training in (False, True):
        with minpy.autograd.train_mode() if training else minpy.autograd.predict_mode():
            report = nd.BatchNorm.check(*STATISTICS)
        assert not report.failures
        assert report["bound symbol"].result == "ok"  # without gradients, in prediction mode: as executors have it
        assert ("zero; central" in report["gradient of moving_mean"].note) is not training


def test_states_are_compared_in_every_mode():
    def forward(x, state):
        state += x
        return x + state

    op = operator(forward, name="_test_counter", public=False, auxiliary=("state",))
    op.def_grad(lambda ans, x, state: lambda g: 2 * g)
    assert not op.check(X, Y).failures

    def wrong(case, upstream):
        outputs, gradients = MODES["recorded ndarray"](case, upstream)
        return [*outputs[:-1], outputs[-1] + 1], gradients

    register_mode("wrong", wrong)
    try:
        message = rejection(op, X, Y)
    finally:
        del MODES["wrong"]
    assert re.search(r"wrong: the state state after the call, element 0: got 3, NumPy arrays give 2\.", message)


@pytest.mark.parametrize("training", [False, True])
def test_random_operators_repeat_their_draws(training):
    minpy.random.seed(3)
    following = nd.random.uniform(shape=(3,)).asnumpy()
    minpy.random.seed(3)
    with minpy.autograd.train_mode() if training else minpy.autograd.predict_mode():
        report = nd.Dropout.check(np.ones((4, 5)), p=0.5)
    assert not report.failures
    assert report["forward"].note.endswith("; random, so every call repeats the same draws")
    assert {report[name].result for name in MODE_NAMES} == {"ok"}
    np.testing.assert_array_equal(nd.random.uniform(shape=(3,)).asnumpy(), following)


def _normal():
    return float(nd.random.normal(shape=(1,)).asscalar())


@pytest.mark.parametrize("draw", [np.random.normal, _normal, random.random])
def test_users_random_operators_repeat_the_draws_of_global_generators(draw):
    report = make(lambda x: np.multiply(draw(), x)).def_grad_zero().check(X)
    assert report["forward"].result == "ok"
    assert report["recorded NDArray"].result == "ok"


@pytest.mark.parametrize(
    ("op", "arguments", "attributes"),
    [
        (nd.softmax, [X], {}),
        (nd.FullyConnected, [X, Y], {"num_hidden": 2, "no_bias": True}),
        (nd.SequenceMask, [X], {}),
        (nd.split, [X], {"num_outputs": 3}),
        (nd.moments, [X], {"axes": (0,)}),
        (nd.LayerNorm, [X, Y[0], Y[1]], {"output_mean_var": True}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_inputs_left_out_and_several_outputs_pass_every_mode(op, arguments, attributes):
    report = op.check(*arguments, **attributes)
    assert {report[mode].result for mode in MODE_NAMES} == {"ok"}


def test_an_operator_that_fails_on_ones_is_asked_for_its_shape_on_another_matrix():
    op = make(lambda x: np.linalg.inv(x), lambda ans, x: lambda g: -ans.T @ g @ ans.T)
    assert op.check(SQUARE)["bound symbol"].result == "ok"
    assert op(minpy.sym.var("x")).infer_shape(x=(2, 4, 4))[1] == [(2, 4, 4)]


def test_calls_that_cannot_be_part_of_a_graph_are_skipped():
    class Scale:
        @customop("numpy")
        def apply(self, x):
            return 3 * x

        apply.def_grad(lambda ans, self, x: lambda g: 3 * g)

    row = Scale().apply.check(X)["bound symbol"]
    assert (row.result, row.note) == ("skipped", "a method's instance cannot be part of a graph")
    report = make(lambda count: np.arange(count)).check(3)
    for mode in ("recorded ndarray", "recorded NDArray", "bound symbol"):
        assert (report[mode].result, report[mode].note) == ("skipped", "none of its inputs is an array")


def test_an_operator_that_fails_on_every_shape_is_asked_once():
    asked = []

    def forward(x):
        asked.append(x.shape)
        raise ValueError("never")

    symbol = make(forward)(minpy.sym.var("x"))
    with pytest.raises(OperatorError, match=r"^infer_shape: node 'forward\d+' \(forward\): forward: forward failed on"):
        symbol.infer_shape(x=(2, 3))
    assert asked == [(2, 3)]
