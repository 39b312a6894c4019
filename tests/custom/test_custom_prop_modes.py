"""Operators registered as `CustomOpProp` in every mode: recorded, on NumPy arrays, under HIPS autograd, pickled."""

from __future__ import annotations

import gc
import pickle
import sys

import autograd as hips
import numpy as np
import pytest
from custom_operators import Sigmoid, SigmoidProp, operator_of, recorded, register

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import ArgumentError, CheckError, GraphFreedError, MutationError, NoGradientError
from minpy.custom import method_captures
from minpy.custom.custom_call import prop_operator
from minpy.custom.prop_operator import PropOperator


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class Masked(mx.operator.CustomOp):
    """Carries what its forward decided to its backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.mask = x > x.mean()
        self.assign(out_data[0], req[0], nd.array(x * self.mask))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy() * self.mask))


# -- the tape ----------------------------------------------------------------------------------------------------------


def test_retain_graph() -> None:
    x = nd.array([0.0])
    x.attach_grad("add")
    with autograd.record():
        y = nd.Custom(x, op_type="shared_sigmoid")
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.asscalar() == 0.75
    with pytest.raises(GraphFreedError, match="freed"):
        y.backward()


def test_an_input_changed_after_the_call_is_an_error() -> None:
    x = nd.array([1, 2])
    y = recorded(x, "shared_sigmoid")
    x[:] = 5
    with pytest.raises(MutationError, match=r"shared_sigmoid: data .* was changed in place"):
        y.backward()


def test_second_order_is_an_error_when_it_is_asked_for() -> None:
    x = nd.array([0.0])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="shared_sigmoid")
        [g] = autograd.grad(y, [x], create_graph=True, retain_graph=True)
        z = g * x
    assert g.asscalar() == 0.25
    with pytest.raises(NoGradientError, match=r"'shared_sigmoid' has no second-order gradient: .*customop"):
        z.backward()
    [g] = autograd.grad(y, [x])
    assert g.asscalar() == 0.25


def test_between_other_operators() -> None:
    x = nd.array([[0.5, -1], [2, 0]])
    x.attach_grad()
    with autograd.record():
        y = nd.dot(nd.Custom(nd.tanh(x), op_type="shared_sigmoid"), x).sum()
    y.backward()

    def reference(x: np.ndarray) -> float:
        return sigmoid(np.tanh(x)).dot(x).sum()

    step, start = 1e-6, x.asnumpy().astype("float64")
    for index in np.ndindex(2, 2):
        move = np.zeros((2, 2))
        move[index] = step
        numeric = (reference(start + move) - reference(start - move)) / (2 * step)
        assert x.grad.asnumpy()[index] == pytest.approx(numeric, rel=1e-5)


# -- NumPy arrays, HIPS autograd ---------------------------------------------------------------------------------------


def test_numpy_arrays_in_numpy_arrays_out() -> None:
    x = np.array([0.0, 1.0])
    y = nd.Custom(x, op_type="shared_sigmoid")
    assert type(y) is np.ndarray
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, sigmoid(x), rtol=1e-6)
    total, product = nd.Custom(x, right=x + 1, op_type="shared_sum_and_product")
    assert total.tolist() == [1, 3]
    assert product.tolist() == [0, 2]


def test_arrays_with_numpy_semantics() -> None:
    x = mx.numpy.array([0.0, 1.0])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="shared_sigmoid")
    y.backward()
    assert type(y) is type(x)
    np.testing.assert_allclose(x.grad.asnumpy(), sigmoid(x.asnumpy()) * (1 - sigmoid(x.asnumpy())), rtol=1e-6)


@pytest.mark.parametrize("keywords", [False, True])
def test_hips_grad(keywords: bool) -> None:
    def loss(x):
        y = nd.Custom(data=x, op_type="shared_sigmoid") if keywords else nd.Custom(x, op_type="shared_sigmoid")
        return (y * y).sum()

    x = np.array([0.0, 1.0, -2.0])
    s = sigmoid(x)
    np.testing.assert_allclose(hips.grad(loss)(x), 2 * s * s * (1 - s), rtol=1e-6)
    value, slope = hips.value_and_grad(loss)(x)
    np.testing.assert_allclose(value, (s * s).sum(), rtol=1e-6)
    np.testing.assert_allclose(slope, 2 * s * s * (1 - s), rtol=1e-6)


def test_hips_jacobian_and_several_outputs() -> None:
    x, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    jacobian = hips.jacobian(lambda x: nd.Custom(x, op_type="shared_sigmoid"))(x)
    np.testing.assert_allclose(jacobian, np.diag(sigmoid(x) * (1 - sigmoid(x))), rtol=1e-6)

    def product(a):
        outputs = nd.Custom(a, b, op_type="shared_sum_and_product")
        return outputs[0] * 10 + outputs[1]

    np.testing.assert_allclose(hips.jacobian(product)(x), np.diag(10 + b))
    np.testing.assert_allclose(mx.grad(lambda a: product(a).sum())(x), 10 + b)


def test_hips_second_order_is_an_error() -> None:
    slope = hips.grad(lambda x: nd.Custom(x, op_type="shared_sigmoid").sum())
    with pytest.raises(NoGradientError, match="'shared_sigmoid' has no second-order gradient"):
        hips.grad(lambda x: slope(x).sum())(np.array([1.0]))
    assert slope(np.array([0.0])).tolist() == [0.25]


# -- pickling, memory --------------------------------------------------------------------------------------------------


def test_pickling() -> None:
    copy = pickle.loads(pickle.dumps(PropOperator("shared_sigmoid", SigmoidProp())))
    assert repr(copy) == "<Custom operator shared_sigmoid(data) of SigmoidProp>"
    assert copy(np.zeros(1)).tolist() == [0.5]
    y = recorded(nd.array([0.0]), "shared_sigmoid")
    assert pickle.loads(pickle.dumps(y)).asscalar() == 0.5


@pytest.mark.parametrize("op", [Sigmoid, Masked])
def test_calls_leave_no_garbage_and_no_growth(op: type) -> None:
    name, x = operator_of(op), nd.array(np.linspace(-1, 1, 100))
    pair = nd.array([1, 2])
    x.attach_grad()
    pair.attach_grad()

    def step() -> None:
        with autograd.record():
            y = nd.Custom(nd.Custom(x, op_type=name), op_type=name)
            z = nd.Custom(pair, pair, op_type="shared_sum_and_product")[0]
        y.backward()
        z.backward()

    step()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(1000):
            step()
        after = len(gc.get_objects())
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert after - before < 20


# -- the parts of an operator ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op_type", ["shared_sigmoid", "shared_sum_and_product"])
def test_check(op_type: str) -> None:
    operator = prop_operator(op_type, {})
    points = [np.array([[0.3, -1.2], [2, 0.1]])] * len(operator.names)
    report = operator.check(*points)
    for name in operator.names:
        assert report[f"gradient of {name}"].result == "ok"
    assert report["recorded NDArray"].result == "ok"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_check_finds_a_wrong_backward(dtype: type) -> None:
    class Wrong(Sigmoid):
        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            y = out_data[0].asnumpy()
            self.assign(in_grad[0], req[0], nd.array(1.1 * out_grad[0].asnumpy() * y * (1 - y)))

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(sigmoid(in_data[0].asnumpy()), dtype=dtype))

    operator = prop_operator(operator_of(Wrong), {})
    with pytest.raises(CheckError, match=r"the gradient of argument 0 \(data\) is wrong"):
        operator.check([0.3, -1.2])


@pytest.mark.parametrize("method", ["def_grad", "def_grad_zero", "def_grad_kw", "def_multiple_grad", "def_jvp"])
def test_rules_cannot_be_defined(method: str) -> None:
    with pytest.raises(ArgumentError, match="the gradient of a PropOperator is the method backward of its CustomOp"):
        getattr(prop_operator("shared_sigmoid", {}), method)(lambda ans, x: lambda g: g)


# -- how much of it is Python ------------------------------------------------------------------------------------------


class TutorialProp(SigmoidProp):
    def __init__(self):
        super().__init__(True)

    def list_arguments(self):
        return ["data"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shapes):
        return (in_shapes[0],), (in_shapes[0],), ()


def test_python_frames_of_a_call_and_its_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frames are most of the time of a call on small arrays."""
    if sys.version_info < (3, 11):
        pytest.skip("a profile function keeps the locals of frames: buffers are copied that are handed over otherwise")
    monkeypatch.setattr(method_captures, "_methods", {})
    name = register(TutorialProp)
    x = nd.ones((4, 4))
    recorded(x, name).backward()  # the methods are captured once
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        with autograd.record():
            y = nd.Custom(x, op_type=name)
        y.backward()
    finally:
        sys.setprofile(previous)
    assert count <= 60
