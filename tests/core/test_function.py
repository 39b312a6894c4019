"""`autograd.Function`: a differentiable function with a forward and a backward of its own."""

from __future__ import annotations

import gc
import traceback
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    GraphFreedError,
    MutationError,
    NoGradientError,
    OperatorError,
)


class Sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


class Mix(autograd.Function):
    """Two inputs, two outputs; the gradients come as a list."""

    def forward(self, a, b):
        self.save_for_backward(a, b)
        return a + b, a * b

    def backward(self, dsum, dproduct):
        a, b = self.saved_tensors
        return [dsum + dproduct * b, dsum + dproduct * a]


def variable(*values: float, request: str = "write") -> Any:
    x = nd.array(values)
    x.attach_grad(request)
    return x


def function(forward: Any, backward: Any = None) -> Any:
    """Returns an instance of a Function named Made."""
    return type("Made", (autograd.Function,), {"forward": forward, **({"backward": backward} if backward else {})})()


def test_one_input_and_one_output() -> None:
    x = variable(0.0, 1.0)
    with autograd.record():
        y = Sigmoid()(x) * 2
    y.backward()
    s = 1 / (1 + np.exp(-np.array([0, 1.0])))
    np.testing.assert_allclose(y.asnumpy(), 2 * s, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * s * (1 - s), rtol=1e-6)


def test_several_inputs_and_outputs() -> None:
    a, b = variable(1, 2), variable(3, 4)
    with autograd.record():
        total, product = Mix()(a, b)
    autograd.backward([total, product], [nd.array([1, 10]), nd.array([5, 7])])
    assert (total.asnumpy().tolist(), product.asnumpy().tolist()) == ([4, 6], [3, 8])
    assert (a.grad.asnumpy().tolist(), b.grad.asnumpy().tolist()) == ([16, 38], [6, 24])


def test_outputs_that_are_not_used_have_gradient_zero() -> None:
    a, b = variable(1, 2), variable(3, 4)
    with autograd.record():
        product = Mix()(a, b)[1]
    product.backward()
    assert (a.grad.asnumpy().tolist(), b.grad.asnumpy().tolist()) == ([3, 4], [1, 2])


def test_a_list_of_outputs_stays_a_list() -> None:
    for kind in (list, tuple):
        x = variable(1)
        split = function(lambda self, x: kind([x * 2]), lambda self, dy: dy * 2)
        with autograd.record():
            outputs = split(x)
        assert type(outputs) is kind
        outputs[0].backward()
        assert x.grad.asscalar() == 2


def test_forward_is_not_recorded_and_keeps_the_training_flag() -> None:
    seen = []

    def forward(self, x):
        seen.append((autograd.is_recording(), autograd.is_training()))
        return x * x

    x = variable(3)
    for train in (True, False):
        with autograd.record(train_mode=train):
            y = function(forward, lambda self, dy: dy * 100)(x)
            assert autograd.is_recording()
    assert seen == [(False, True), (False, False)]
    y.backward()
    assert x.grad.asscalar() == 100


def test_backward_is_not_recorded() -> None:
    seen = []

    def backward(self, dy):
        seen.append(autograd.is_recording())
        return dy

    x = variable(1)
    with autograd.record():
        y = function(lambda self, x: x * 1, backward)(x)
        y.backward()
        assert autograd.is_recording()
    assert seen == [False]


def test_without_recording_only_forward_runs() -> None:
    y = function(lambda self, x: x * 2)(nd.array([3]))
    assert y.asscalar() == 6
    assert y._node is None


def test_add_accumulates() -> None:
    x = variable(0.0, request="add")
    for _ in range(2):
        with autograd.record():
            y = Sigmoid()(x) + Sigmoid()(x)
        y.backward()
    assert x.grad.asscalar() == 1.0


def test_inputs_that_need_no_gradient_may_get_none() -> None:
    x, constant = variable(2), nd.array([5])
    with autograd.record():
        y = function(lambda self, x, c: x * c, lambda self, dy: (dy * 5, None))(x, constant)
    y.backward()
    assert x.grad.asscalar() == 5


def test_gradients_may_be_numpy_arrays_and_are_converted_to_the_input_dtype() -> None:
    x = nd.array([1, 2], dtype="float16")
    x.attach_grad()
    with autograd.record():
        y = function(lambda self, x: x * 2, lambda self, dy: dy.asnumpy().astype("float64") * 2)(x)
    y.backward()
    assert x.grad.dtype is np.float16
    assert x.grad.asnumpy().tolist() == [2, 2]


def test_an_input_returned_as_output_is_a_new_array() -> None:
    x = variable(1, 2)
    with autograd.record():
        y = function(lambda self, x: x, lambda self, dy: dy * 3)(x)
    assert y is not x
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3]
    y[:] = 9
    assert x.asnumpy().tolist() == [1, 2]


def test_state_on_the_instance() -> None:
    class Masked(autograd.Function):
        def forward(self, x):
            self.mask = x > 1.5
            return x * self.mask

        def backward(self, dy):
            return dy * self.mask

    x = variable(1, 2)
    with autograd.record():
        y = Masked()(x) + Masked()(x * 2)
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 3]


def test_retain_graph() -> None:
    x = variable(0.0, request="add")
    with autograd.record():
        y = Sigmoid()(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.asscalar() == 0.5
    with pytest.raises(GraphFreedError, match="freed"):
        y.backward()


def test_second_order_is_an_error_when_it_is_asked_for() -> None:
    x = variable(0.0)
    with autograd.record():
        [g] = autograd.grad(Sigmoid()(x), [x], create_graph=True, retain_graph=True)
        z = g * x
    assert g.asscalar() == 0.25
    with pytest.raises(NoGradientError, match="Function Sigmoid has no second-order gradient: its backward is not rec"):
        z.backward()


def test_saved_arrays_that_change_are_refused() -> None:
    def begin() -> tuple[Any, Any, Any, Any]:
        a, b = variable(1, 2), variable(3, 4)
        with autograd.record():
            return a, b, Mix()(a, b)[1], Sigmoid()(a)

    a, b, product, _ = begin()
    b[:] = 7
    with pytest.raises(
        MutationError, match=r"Mix: input 1 \(float32 \(2,\)\) was changed in place after it was recorded"
    ):
        product.backward()
    assert a.grad.asnumpy().tolist() == [0, 0]
    a, b, _, s = begin()
    a[:] = 7  # this one was not saved
    s.backward()
    a, b, _, s = begin()
    with autograd.record():
        z = s * 2
    s[:] = 7
    with pytest.raises(MutationError, match=r"Sigmoid: its output .* was changed in place"):
        z.backward()


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_instance_serves_one_call() -> None:
    once = Sigmoid()
    once(nd.array([1]))
    with pytest.raises(ArgumentError, match=r"Sigmoid: .* called once.* Make another for each call: Sigmoid\(\)\(x\)"):
        once(nd.array([1]))


def test_inputs_must_be_ndarrays() -> None:
    with pytest.raises(ArgumentError, match=r"Mix: input 1 is float 2\.0; a Function takes NDArrays.*nd\.array"):
        Mix()(nd.array([1]), 2.0)


def test_outputs_must_be_ndarrays() -> None:
    with pytest.raises(ArgumentError, match=r"Made.forward returned NoneType None as output 0; expected an NDArray"):
        function(lambda self, x: None)(nd.array([1]))
    with pytest.raises(ArgumentError, match=r"Made.forward returned float64 \(1,\) as output 1"):
        function(lambda self, x: (x, np.zeros(1)))(nd.array([1]))


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (lambda dy: (dy,), GradientError, "Made.backward returned 1 gradients; its forward has 2 inputs"),
        (lambda dy: (dy, dy, dy), GradientError, "Made.backward returned 3 gradients; its forward has 2 inputs"),
        (lambda dy: None, GradientError, "Made.backward returned 1 gradients; its forward has 2 inputs"),
        (lambda dy: (None, dy), GradientError, r"Made.backward \(gradient of input 0\) returned NoneType None"),
        (lambda dy: (nd.ones((3,)), dy), GradientError, r"Made.backward \(gradient of input 0\) .*\(3,\).* \(2,\)"),
    ],
)
def test_wrong_gradients(answer: Any, kind: type[Exception], text: str) -> None:
    a, b = variable(1, 2), variable(3, 4)
    with autograd.record():
        y = function(lambda self, a, b: a * b, lambda self, dy: answer(dy))(a, b)
    with pytest.raises(kind, match=text):
        y.backward()
    assert a.grad.asnumpy().tolist() == b.grad.asnumpy().tolist() == [0, 0]


def test_methods_that_are_not_defined() -> None:
    with pytest.raises(OperatorError, match=r"NotImplementedError: Function defines no forward\(self, \*inputs\)"):
        autograd.Function()(nd.array([1]))
    x = variable(1)
    with autograd.record():
        y = function(lambda self, x: x * 2)(x)
    with pytest.raises(NotImplementedError, match=r"Made defines no backward\(self, \*output_grads\)"):
        y.backward()


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_exceptions_keep_class_and_traceback(where: str) -> None:
    def failing_line(self: Any, x: Any) -> Any:
        return 1 // 0

    parts = {"forward": lambda self, x: x * 2, "backward": lambda self, dy: dy, where: failing_line}
    x = variable(1, 2)
    text = f"Function Made: {where} failed .*\n  ZeroDivisionError"
    with pytest.raises(ZeroDivisionError, match=text) as caught, autograd.record():
        function(**parts)(x).backward()
    assert isinstance(caught.value, mx.MXNetError)
    assert any(frame.name == "failing_line" for frame in traceback.extract_tb(caught.value.__traceback__))
    assert not autograd.is_recording()
    with autograd.record():
        y = Sigmoid()(x)
    y.backward()
    assert x.grad.asnumpy().all()


def test_calls_leave_no_garbage_and_no_growth() -> None:
    x, y = variable(1, 2), variable(3, 4)

    def step() -> None:
        with autograd.record():
            total, product = Mix()(Sigmoid()(x), y)
            loss = total + product
        loss.backward()

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
