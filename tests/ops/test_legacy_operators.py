"""`NumpyOp` and `NDArrayOp`: operators of MXNet's first years, as objects called on symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy.core.errors import ArgumentError, NotRecordedError, OperatorError


def softmax(x: Any) -> Any:
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


class NumpySoftmax(mx.operator.NumpyOp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data: Any, out_data: Any) -> None:
        assert all(isinstance(one, np.ndarray) for one in (*in_data, *out_data))
        out_data[0][:] = softmax(in_data[0])

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        assert not out_grad
        labels = in_data[1].astype(int)
        in_grad[0][:] = out_data[0]
        in_grad[0][np.arange(len(labels)), labels] -= 1


class NDArraySoftmax(mx.operator.NDArrayOp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data: Any, out_data: Any) -> None:
        assert all(isinstance(one, mx.nd.NDArray) for one in (*in_data, *out_data))
        out_data[0][:] = mx.nd.softmax(in_data[0])

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        in_grad[0][:] = out_data[0] - mx.nd.one_hot(in_data[1], 3)


X = np.arange(6, dtype="float32").reshape(2, 3) ** 2


@pytest.mark.parametrize("kind", [NumpySoftmax, NDArraySoftmax])
@pytest.mark.parametrize("request_", ["write", "add"])
def test_a_loss_trains(kind: type[Any], request_: str) -> None:
    symbol = kind()(mx.sym.var("x"), name="loss")
    assert symbol.list_arguments() == ["x", "loss_label"]
    assert symbol.list_outputs() == ["loss_output"]
    executor = symbol.simple_bind(mx.cpu(), grad_req={"x": request_, "loss_label": "null"}, x=(2, 3))
    executor.arg_dict["x"][:] = X
    executor.arg_dict["loss_label"][:] = [1, 2]
    wanted = softmax(X)
    for turn in (1, 2):
        executor.forward(is_train=True)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), wanted, rtol=1e-6)
        executor.backward()
        times = turn if request_ == "add" else 1
        gradient = times * (wanted - np.eye(3, dtype="float32")[[1, 2]])
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), gradient, rtol=1e-5, atol=1e-7)


class Scaled(mx.operator.NumpyOp):
    """Two inputs, two outputs, and head gradients; it counts its runs."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor, self.runs = factor, 0

    def list_arguments(self) -> list[str]:
        return ["a", "b"]

    def list_outputs(self) -> list[str]:
        return ["sum", "product"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0]] * 2, [in_shape[0]] * 2

    def forward(self, in_data: Any, out_data: Any) -> None:
        self.runs += 1
        a, b = in_data
        out_data[0][:] = self.factor * (a + b)
        out_data[1][:] = a * b

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        (a, b), (first, second) = in_data, out_grad
        in_grad[0][:] = self.factor * first + second * b
        in_grad[1][:] = self.factor * first + second * a


def test_inputs_by_name_several_outputs_and_state() -> None:
    made = Scaled(3)
    a, b = mx.sym.var("a"), mx.sym.var("b")
    symbol = made(b=b, a=mx.sym.square(a))
    assert symbol.list_arguments() == ["a", "b"]
    mx.test_utils.check_symbolic_backward(
        mx.sym.Group(list(symbol)), {"a": [2.0], "b": [5.0]}, [[1.0], [10.0]], {"a": [4 * 53.0], "b": [43.0]}
    )
    assert made.runs == 1
    first, second = Scaled(2)(a, b), Scaled(2)(a, b)
    assert first.list_outputs() == ["_native0_sum", "_native0_product"] or first.name != second.name


def test_numbers_agree_with_differences() -> None:
    symbol = Scaled(1.5)(mx.sym.var("a"), mx.sym.var("b"))
    random = np.random.RandomState(0)
    values = {name: random.normal(size=(3, 2)) for name in "ab"}
    mx.test_utils.check_numeric_gradient(mx.sym.broadcast_add(symbol[0], symbol[1]), values, dtype=np.float64)


def test_defaults() -> None:
    symbol = mx.operator.NumpyOp()(mx.sym.var("x"))
    executor = symbol.bind(mx.cpu(), [mx.nd.array([2, 3])], [mx.nd.zeros(2)])
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [2, 3]
    executor.backward(mx.nd.ones(2) * 7)
    assert executor.grad_arrays[0].asnumpy().tolist() == [1, 1]
    assert mx.operator.NDArrayOp(False).declare_backward_dependency([1], [2, 3], [4]) == [2, 3, 4]
    assert mx.operator.NDArrayOp().declare_backward_dependency([1], [2, 3], [4]) == [1, 2, 3, 4]
    assert mx.operator.PythonOp(False).need_top_grad() is False


def test_what_it_refuses() -> None:
    with pytest.raises(NotImplementedError, match=r"PythonOp derives from PythonOp itself; derive from NumpyOp \("):
        mx.operator.PythonOp()(mx.sym.var("x"))
    symbol = NumpySoftmax()(mx.sym.var("x"), name="loss")
    with pytest.raises(ArgumentError, match=r"node 'loss' calls NumpySoftmax, an object of this program, which a file"):
        symbol.tojson()
    with pytest.raises(ArgumentError, match=r"takes data, label; got 1 by position and 'lable' by name\. Did you mean"):
        NumpySoftmax()(mx.sym.var("x"), lable=mx.sym.var("y"))

    class Broken(mx.operator.NumpyOp):
        def forward(self, in_data: Any, out_data: Any) -> None:
            raise KeyError("lost")

    executor = Broken()(mx.sym.var("x")).bind(mx.cpu(), [mx.nd.ones(2)])
    with pytest.raises(OperatorError, match="lost") as caught:
        executor.forward()
    assert isinstance(caught.value, KeyError)
    assert not isinstance(caught.value, NotRecordedError)


def test_arguments_of_operators() -> None:
    found = mx.operator.get_operator_arguments("Concat")
    assert found.names == ["data", "num_args", "dim"]
    assert found.types == ["NDArray-or-Symbol[]", "int, required", "int, optional, default=1"]
    assert found.narg == 3
    with pytest.raises(ArgumentError, match=r"there is no operator 'Conct'\. Did you mean"):
        mx.operator.get_operator_arguments("Conct")
