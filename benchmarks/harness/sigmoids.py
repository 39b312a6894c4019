"""Custom sigmoids that several cases share: MXNet's tutorial operator, and PyTorch's `Function` around NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Step


def inputs(shape: tuple[int, int] = (4, 4)) -> tuple[Array, ...]:
    return (np.random.RandomState(0).uniform(-3, 3, shape).astype(np.float32),)


def expected(x: Array) -> tuple[Array, ...]:
    """The sigmoid and the gradient of its sum."""
    y = 1.0 / (1.0 + np.exp(-x.astype(np.float64)))
    return y, (1.0 - y) * y


def register_tutorial_sigmoid(mx: Any) -> None:
    """The operator of MXNet's tutorial "Creating custom operators with numpy", for MXNet and for minpy."""

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

    @mx.operator.register("sigmoid")
    class SigmoidProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(True)

        def list_arguments(self):
            return ["data"]

        def list_outputs(self):
            return ["output"]

        def infer_shape(self, in_shapes):
            data_shape = in_shapes[0]
            return (data_shape,), (data_shape,), ()

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Sigmoid()


def tutorial_step(mx: Any, x: Array) -> Step:
    """The tutorial's operator through `nd.Custom`, forward and backward."""
    register_tutorial_sigmoid(mx)
    x = mx.nd.array(x)
    x.attach_grad()

    def step():
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="sigmoid")
        y.backward()
        x.grad.wait_to_read()
        return y, x.grad

    return step


def torch_step(x: Array) -> Step:
    """An `autograd.Function` around NumPy, forward and backward."""
    import torch

    class Sigmoid(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = 1.0 / (1.0 + np.exp(-x.detach().numpy()))  # faster here than save_for_backward
            return torch.from_numpy(ctx.y)

        @staticmethod
        def backward(ctx, g):
            return torch.from_numpy(g.numpy() * (1.0 - ctx.y) * ctx.y)

    ones = torch.ones(*x.shape)
    x = torch.tensor(x, requires_grad=True)

    def step():
        x.grad = None
        y = Sigmoid.apply(x)
        y.backward(ones)
        return y, x.grad

    return step
