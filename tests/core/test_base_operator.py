"""One base for all kinds of operators: a new kind is a few lines, and runs in every mode."""

from __future__ import annotations

import autograd
import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.core.base_operator import BaseOperator
from minpy.core.errors import ArgumentError
from minpy.core.operator import Operator
from minpy.core.signatures import Signature
from minpy.custom.custom_call import prop_operator
from minpy.custom.prop_operator import PropOperator
from minpy.graph.gradient import VjpNode


class Scale(BaseOperator):
    """A new kind of operator: one that holds a number."""

    __name__ = "scale"
    signature = Signature(("data",), {}, {})

    def __init__(self, factor):
        self.factor = factor

    def forward(self, data):
        return data * self.factor

    def vjp(self, answer, arguments, attributes, gradient, requires_grad):
        return [gradient * self.factor]


@pytest.fixture
def scale():
    return Scale(3.0)


VALUES = np.array([1.0, 2.0])


def test_a_new_kind_runs_on_numpy_arrays_and_lists(scale):
    np.testing.assert_array_equal(scale(VALUES), [3, 6])
    np.testing.assert_array_equal(scale(data=VALUES), [3, 6])


def test_a_new_kind_is_recorded_to_second_order(scale):
    x = nd.array(VALUES)
    x.attach_grad()
    with mx.autograd.record():
        y = scale(x) * x
        (first,) = mx.autograd.grad([y], [x], create_graph=True, retain_graph=True)
        z = (first * first).sum()
    z.backward()
    np.testing.assert_array_equal(first.asnumpy(), 6 * VALUES)
    np.testing.assert_array_equal(x.grad.asnumpy(), 72 * VALUES)


def test_a_new_kind_runs_under_hips_autograd(scale):
    np.testing.assert_array_equal(autograd.grad(lambda x: (scale(x) * x).sum())(VALUES), 6 * VALUES)


def test_a_new_kind_stands_in_graphs(scale):
    symbol = scale(mx.sym.var("x"), name="tripled")
    assert symbol.list_outputs() == ["tripled_output"]
    executor = symbol.bind(mx.cpu(), {"x": nd.array(VALUES)}, {"x": nd.zeros(2)})
    for _ in range(3):  # step by step, and compiled
        np.testing.assert_array_equal(executor.forward(is_train=True)[0].asnumpy(), 3 * VALUES)
        executor.backward(nd.array([1, 10]))
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [3, 30])


def test_a_new_kind_describes_and_checks_itself(scale):
    assert repr(scale) == "<Scale scale(data)>"
    assert scale.check(VALUES)["gradient of data"].result == "ok"
    wrong = Scale(3.0)
    wrong.vjp = lambda answer, arguments, attributes, gradient, requires_grad: [gradient * 2]
    with pytest.raises(mx.MXNetError, match="gradient of data"):
        wrong.check(VALUES)


def test_what_is_no_function_refuses_rules(scale):
    text = (
        "scale.def_grad: the gradient of a Scale is its own vjp. To give rules to a function, make it an "
        "operator with @customop\\('numpy'\\)."
    )
    for define in (scale.def_grad, scale.def_grad_zero, scale.def_grad_kw, scale.def_multiple_grad, scale.def_jvp):
        with pytest.raises(ArgumentError, match=text):
            define(lambda ans, data: lambda g: g)


def test_props_check_and_refuse_rules():
    @mx.operator.register("base_operator_double")
    class Double(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return DoubleOp()

    class DoubleOp(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    operator = prop_operator("base_operator_double", {})
    with pytest.raises(ArgumentError, match="the gradient of a PropOperator is the method backward of its CustomOp"):
        operator.def_grad(lambda ans, data: lambda g: g)
    assert operator.check(VALUES)["gradient of data"].result == "ok"


@pytest.mark.parametrize("kind", [VjpNode, PropOperator, Operator], ids=lambda kind: kind.__name__)
def test_no_kind_restates_what_the_base_says(kind):
    for name, value in vars(kind).items():
        if not name.startswith("__") and not callable(value) and not isinstance(value, property):
            assert getattr(BaseOperator, name, not value) != value, f"{kind.__name__}.{name} restates the base"
