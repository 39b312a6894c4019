"""Users' operators as nodes: in graphs they compute what they do eagerly, whatever memory is used again around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from custom_operators import Double, SumAndProduct, operator_of, register
from test_executor import A, B, assert_close, bound, eagerly, run

import minpy as mx
from minpy import customop, nd, sym
from minpy.core.errors import MXNetError, NoGradientError, OperatorError
from minpy.symbol.composition import compose

x, y = sym.var("x"), sym.var("y")


@customop("numpy")
def cube(a):
    return a**3


cube.def_grad(lambda ans, a: lambda g: 3 * a * a * g)


@customop("mxnet")
def scaled(a, b, factor=2):
    return nd.tanh(a) * b * factor


scaled.def_grad(lambda ans, a, b, factor=2: lambda g: g * b * factor * (1 - nd.tanh(a) ** 2))
scaled.def_grad(lambda ans, a, b, factor=2: lambda g: g * nd.tanh(a) * factor, argnum=1)


@customop("numpy")
def sum_and_product(a, b):
    return a + b, a * b


sum_and_product.def_grad(lambda ans, a, b: lambda g: g[0] + g[1] * b)
sum_and_product.def_grad(lambda ans, a, b: lambda g: g[0] + g[1] * a, argnum=1)
sum_and_product.outputs = ("total", "product")


@customop("numpy")
def passed_on(a):
    return a + 1


passed_on.def_grad(lambda ans, a: lambda g: g)


@customop("numpy")
def returns_its_input(a):
    return a


returns_its_input.def_grad(lambda ans, a: lambda g: g.reshape(-1).reshape(g.shape))


@customop("numpy")
def in_double(a):
    return a.astype("float64") * 2


in_double.def_grad(lambda ans, a: lambda g: 2 * g)


class Linear:
    def __init__(self, slope):
        self.slope = slope

    @customop("numpy")
    def apply(self, a):
        return a * self.slope

    apply.def_grad(lambda ans, self, a: lambda g: g * self.slope)


LINEAR = Linear(2.5)


class Keeps(mx.operator.CustomOp):
    """Keeps its inputs between forward and backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.saved = in_data[0]
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * self.saved * out_grad[0])


class Loss(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_data[0] - 1)


KEEPS = operator_of(Keeps)
# Only the operator itself knows that it will read its input in backward.
KEEPS_SECRETLY = operator_of(Keeps, declare_backward_dependency=lambda self, out_grad, in_data, out_data: out_grad)
DOUBLE = operator_of(Double)
PAIR = operator_of(SumAndProduct, list_arguments=["a", "b"], list_outputs=["total", "product"])


class LossProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def create_operator(self, ctx, shapes, dtypes):
        return Loss()


LOSS = register(LossProp)


def mixed(nn: Any, parts: Any) -> Any:
    return nn.exp(parts[1] * 0.1) * parts[0]


def kept(nn: Any, h: Any) -> Any:
    """Compute `h` in the memory of others, and something else in the memory of `h`, as far as that is allowed."""
    return nn.exp(nn.Custom(h, op_type=KEEPS_SECRETLY) * 0.1) + nn.abs(nn.ceil(h))


# Functions of (nd or sym, a, b). Each is a node among others, whose memory comes and goes.
USERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "customop": lambda nn, a, b: cube(nn.tanh(a)) * b,
    "customop of NDArrays": lambda nn, a, b: scaled(nn.exp(a * 0.5), b * 2, factor=3) + a,
    "customop of the same input twice": lambda nn, a, b: scaled(a, a) + b,
    "several outputs": lambda nn, a, b: mixed(nn, sum_and_product(nn.tanh(a), b)),
    "one of several outputs": lambda nn, a, b: nn.exp(sum_and_product(nn.tanh(a), b)[1] * 0.1),
    "the upstream gradient": lambda nn, a, b: nn.tanh(passed_on(nn.tanh(a) * b) * 2),
    "the upstream gradient at the head": lambda nn, a, b: passed_on(nn.elemwise_mul(a, b)),
    "its own input": lambda nn, a, b: nn.exp(returns_its_input(nn.tanh(a))) * b,
    "its own input, at the head": lambda nn, a, b: returns_its_input(a * b),
    "another dtype": lambda nn, a, b: nn.cast(nn.tanh(in_double(nn.exp(a * 0.5) * b)), dtype="float32"),
    "method": lambda nn, a, b: LINEAR.apply(nn.tanh(a)) * b,
    "Custom": lambda nn, a, b: nn.Custom(nn.Custom(a, op_type="shared_sigmoid") * b, op_type="shared_sigmoid"),
    "Custom, several outputs": lambda nn, a, b: mixed(nn, nn.Custom(a=nn.tanh(a), b=b, op_type=PAIR)),
    "Custom, one output": lambda nn, a, b: nn.tanh(nn.Custom(nn.tanh(a), b, op_type=PAIR)[1]),
    "Custom that keeps its input": lambda nn, a, b: nn.tanh(nn.exp(nn.Custom(nn.tanh(a) * b, op_type=KEEPS))) * b,
    "Custom that keeps what others read, too": lambda nn, a, b: kept(nn, nn.sin(nn.tanh(a) * b) * 2),
    "Custom without upstream gradient": lambda nn, a, b: nn.Custom(nn.tanh(a) * b, op_type=LOSS),
}  # fmt: skip


@pytest.mark.parametrize("case", USERS)
def test_users_operators_compute_what_they_do_eagerly(case: str) -> None:
    function = USERS[case]
    heads = A * 0.5 + 1
    symbol = function(sym, x, y)
    executor = bound(symbol, x=A, y=B)
    accumulating = bound(symbol, "add", x=A, y=B)
    total = [np.zeros_like(A), np.zeros_like(B)]
    for number in range(4):
        a, b = A + number / 4, B - number / 8
        expected = eagerly(lambda a, b: function(nd, a, b), [a, b], [heads])
        for one in (executor, accumulating):
            one.arg_dict["x"][:] = nd.array(a)
            one.arg_dict["y"][:] = nd.array(b)
        outputs, gradients = run(executor, nd.array(heads))
        assert_close(outputs + gradients, expected[0] + expected[1], rtol=1e-5)
        total = [before + more for before, more in zip(total, expected[1], strict=True)]
        assert_close(run(accumulating, nd.array(heads))[1], total, rtol=1e-5, atol=1e-5)
        assert_close([executor.forward()[0].asnumpy()], expected[0], rtol=1e-5)


class Counts(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        if is_train:
            aux[0][:] = aux[0] + 1
        self.assign(out_data[0], req[0], in_data[0] * aux[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * aux[0])


def test_auxiliary_states_of_users_operators() -> None:
    name = operator_of(
        Counts,
        list_auxiliary_states=["count"],
        infer_shape=lambda self, shapes: (shapes, [shapes[0]], [(1,)]),
    )
    symbol = sym.Custom(sym.tanh(x), op_type=name, name="counter")
    assert symbol.list_auxiliary_states() == ["counter_count"]
    executor = symbol.simple_bind(mx.cpu(), x=(2, 3))
    executor.arg_dict["x"][:] = nd.array(A)
    for number in range(1, 5):
        [output], [gradient] = run(executor)
        np.testing.assert_allclose(output, number * np.tanh(A), rtol=1e-6)
        np.testing.assert_allclose(gradient, number * (1 - np.tanh(A) ** 2), rtol=1e-5)
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), output)
        assert executor.aux_dict["counter_count"].asnumpy().tolist() == [number]


@customop("numpy")
def without_rule(a):
    return a * 2


def test_a_gradient_through_an_operator_without_a_rule() -> None:
    symbol = sym.tanh(compose(without_rule, "without_rule", [x * 1], {"name": "n"}))
    executor = bound(symbol, x=A)
    assert_close([executor.forward()[0].asnumpy()], [np.tanh(2 * A)])
    with pytest.raises(NoGradientError) as caught:
        executor.forward(is_train=True)
    assert str(caught.value) == (
        "node 'n' (without_rule): without_rule has no gradient for argument 0 (a); defined: none. Add one with "
        "without_rule.def_grad(rule, argnum=0), or say it is zero with without_rule.def_grad_zero(0)."
    )
    for executor in (symbol.bind(mx.cpu(), [nd.array(A)]), bound(symbol, "null", x=A)):
        executor.forward(is_train=True)
        executor.backward()


SWITCH: set[str] = set()


@customop("numpy")
def fragile(a):
    if "forward" in SWITCH:
        raise KeyError("forward")
    return a * 2


@fragile.def_grad()
def _gradient_of_fragile(ans, a):
    def rule(g):
        if "backward" in SWITCH:
            raise ZeroDivisionError("backward")
        return g * 2

    return rule


class FragileOp(Double):
    def forward(self, is_train, req, in_data, out_data, aux):
        if "forward" in SWITCH:
            raise KeyError("forward")
        super().forward(is_train, req, in_data, out_data, aux)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        if "backward" in SWITCH:
            raise ZeroDivisionError("backward")
        super().backward(req, out_grad, in_data, out_data, in_grad, aux)


FRAGILE = operator_of(FragileOp)
FAILURES: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "customop": (
        lambda a: compose(fragile, "fragile", [a], {"name": "n"}),
        (
            "node 'n' (fragile): fragile: forward failed on NumPy arrays (not recording): a float32 (2, 3)\n"
            "  KeyError: 'forward'"
        ),
        (
            "backward of node 'n' (fragile): fragile: gradient rule of a failed on NumPy arrays (backward): a float32 "
            "(2, 3)\n  ZeroDivisionError: backward"
        ),
    ),
    "Custom": (
        lambda a: sym.Custom(a, op_type=FRAGILE, name="n"),
        (
            f"node 'n' (Custom): Custom operator '{FRAGILE}': FragileOp.forward failed (data float32 (2, 3))\n"
            "  KeyError: 'forward'"
        ),
        (
            f"backward of node 'n' (Custom): Custom operator '{FRAGILE}': FragileOp.backward failed (data float32 "
            "(2, 3))\n  ZeroDivisionError: backward"
        ),
    ),
}


@pytest.mark.parametrize("warm", [False, True], ids=["step by step", "compiled"])
@pytest.mark.parametrize("case", FAILURES)
def test_failures_of_users_operators(case: str, warm: bool) -> None:
    make, *messages = FAILURES[case]
    executor = bound(sym.exp(make(sym.tanh(x))) * x, "add", x=A)
    slope = np.exp(2 * np.tanh(A)) * (1 + A * 2 * (1 - np.tanh(A) ** 2))
    if warm:
        run(executor)
    for runs in range(1 + warm, 4):
        for part, kind, message in zip(("forward", "backward"), (KeyError, ZeroDivisionError), messages, strict=True):
            SWITCH.add(part)
            try:
                with pytest.raises(kind) as caught:
                    run(executor)
            finally:
                SWITCH.clear()
            assert isinstance(caught.value, OperatorError)
            assert str(caught.value) == message
            assert type(caught.value.original) is kind
            with pytest.raises(MXNetError, match=r"call forward\(is_train=True\) first"):
                executor.backward()
        [output], [gradient] = run(executor)
        np.testing.assert_allclose(output, np.exp(2 * np.tanh(A)) * A, rtol=1e-5)
        np.testing.assert_allclose(gradient, runs * slope, rtol=1e-5)
