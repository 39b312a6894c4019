"""A program as users write it; tests/package/test_stubs.py has mypy check it strictly. It is also run."""

from __future__ import annotations

from typing import Any

import numpy
import numpy.typing

import minpy
import minpy.nd
import minpy.np
import minpy.numpy as np
import minpy.sym
from minpy import autograd, customop, grad, nd, sym, value_and_grad
from minpy.nd import NDArray
from minpy.operator import CustomOp, CustomOpProp, register


@customop("numpy")
def sigmoid(x: numpy.typing.NDArray[Any]) -> numpy.typing.NDArray[Any]:
    y: numpy.typing.NDArray[Any] = 1 / (1 + numpy.exp(-x))
    return y


sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


def arithmetic(x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
    z = x + y - 2 * x / (1 + y) ** 2 // 1
    with autograd.pause():
        copied = z.detach().copy()
        copied += x
        copied[0] = -x[0] + abs(y[0])
    above: nd.NDArray = x > 0.5
    equal: nd.NDArray = x == y
    return z * above + copied + equal * (x @ y.T) + x.T.dot(y).sum()


def symbols(values: nd.NDArray) -> list[nd.NDArray]:
    x: sym.Symbol = sym.var("x", shape=(2, 2))
    hidden: sym.Symbol = sym.FullyConnected(x, num_hidden=2, no_bias=True, name="fc")
    network = (2 - sym.Activation(hidden, act_type="relu") / 2 + sym.maximum(1, x)).sum(axis=1)
    outputs: list[nd.NDArray] = sym.Group([network, x > 0]).eval(x=values, fc_weight=nd.ones((2, 2)))
    return outputs


def methods(x: nd.NDArray) -> tuple[float, numpy.typing.NDArray[Any]]:
    y: nd.NDArray = x.sum(axis=1, keepdims=True).exp().clip(0, 1)
    parts = x.split(num_outputs=2, axis=1)
    assert len(parts) == 2
    return float(y.mean()), y.astype("float64").asnumpy()


def operators(x: nd.NDArray) -> nd.NDArray:
    hidden: nd.NDArray = nd.FullyConnected(x, nd.ones((3, 2)), nd.zeros(3), num_hidden=3)
    chosen: nd.NDArray = nd.Activation(hidden, act_type="relu")
    assert nd.exp.check([1.0, 2.0])
    joined: nd.NDArray = nd.concat(chosen, nd.random.normal(0, 1, shape=(2, 3)), dim=0)
    return joined


class Double(CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):  # type: ignore[no-untyped-def]
        self.assign(out_data[0], req[0], 2 * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):  # type: ignore[no-untyped-def]
        self.assign(in_grad[0], req[0], 2 * out_grad[0])


@register("typed_double")
class DoubleProp(CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):  # type: ignore[no-untyped-def]
        return Double()


def other_names(x: NDArray) -> nd.NDArray:
    y: nd.NDArray = minpy.nd.ones((2, 2)) + x
    z: np.ndarray = minpy.np.ndarray.__pos__(minpy.np.array([1.0]))
    symbol: minpy.Symbol = minpy.sym.var("x") + 1
    values: NDArray = symbol.eval(x=y)[0]
    assert len(z) == 1
    return values


def main() -> None:
    x = nd.array([[0.5, 2.0], [1.0, 3.0]], ctx=minpy.cpu())
    x.attach_grad()
    with autograd.record():
        loss = sigmoid(arithmetic(x, x)).sum() + nd.Custom(x, op_type="typed_double").sum()
    loss.backward()
    assert x.grad.shape == x.shape
    methods(x)
    operators(x)
    other_names(x)
    assert [output.shape for output in symbols(x)] == [(2,), (2, 2)]

    values: np.ndarray = np.array([1.0, 2.0])
    shifted: np.ndarray = (values + 1) * 2 - ~(values > 1)
    drawn = np.random.normal(0, 1, 3) + np.random.rand(3)
    assert np.linalg.norm(drawn) + abs(np.fft.fft(drawn)).sum() > 0
    total = np.sum(np.exp(shifted)) + shifted.std(axis=0, ddof=1)
    assert float(total) > 0
    slope = grad(lambda v: np.sum(v * v))(values)
    value, slope = value_and_grad(lambda v: np.sum(v * v))(values)
    assert float(value) == 5
    assert slope.tolist() == [2, 4]


if __name__ == "__main__":
    main()
