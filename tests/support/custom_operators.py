"""Custom operators that several test files use."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd

_numbers = count()


def register(prop: type | None = None, name: str = "", **parts: Any) -> str:
    """Registers a prop, or one made of the methods in `parts`, under a new name, and returns the name."""
    name = f"{name or 'test'}_{next(_numbers)}"
    prop = prop or type("TestProp", (mx.operator.CustomOpProp,), parts)
    mx.operator.register(name)(prop)
    return name


def operator_of(op: Callable[[], Any], **answers: Any) -> str:
    """Registers an operator that `op` makes; `answers` are what the prop's methods return, or the methods."""
    parts: dict[str, Any] = {"create_operator": lambda self, ctx, shapes, dtypes: op()}
    for method, answer in answers.items():
        parts[method] = answer if callable(answer) else (lambda answer: lambda self, *arguments: answer)(answer)
    return register(**parts)


def recorded(x: Any, op_type: str, *others: Any, **keywords: Any) -> Any:
    """Calls an operator on a variable under `record`."""
    x.attach_grad()
    with autograd.record():
        return mx.nd.Custom(x, *others, op_type=op_type, **keywords)


def gradient(x: Any, op_type: str, *others: Any, head: Any = None) -> np.ndarray:
    """Returns the gradient of one call with respect to its first input."""
    recorded(x, op_type, *others).backward(head)
    return x.grad.asnumpy()


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = 1.0 / (1.0 + np.exp(-x))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0].asnumpy()
        dy = out_grad[0].asnumpy()
        dx = dy * (1.0 - y) * y
        self.assign(in_grad[0], req[0], mx.nd.array(dx))


@mx.operator.register("shared_sigmoid")
class SigmoidProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Sigmoid()


class Dense(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, weight = in_data[0].asnumpy(), in_data[1].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.array(x.dot(weight.T)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, weight, dy = in_data[0].asnumpy(), in_data[1].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(dy.dot(weight)))
        self.assign(in_grad[1], req[1], mx.nd.array(dy.T.dot(x)))


@mx.operator.register("shared_dense")
class DenseProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shapes):
        return in_shapes, [(in_shapes[0][0], in_shapes[1][0])]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Dense()


class SumAndProduct(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + in_data[1])
        self.assign(out_data[1], req[1], in_data[0] * in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] + out_grad[1] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] + out_grad[1] * in_data[0])


@mx.operator.register("shared_sum_and_product")
class SumAndProductProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["left", "right"]

    def list_outputs(self):
        return ["total", "product"]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return SumAndProduct()


class Double(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)
