"""The two convolution and pooling stages of LeNet, forward and backward: what a small convolutional network costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from harness.case import Array, Case, Checked

BATCH = 64
FILTERS = (20, 50)


def inputs() -> tuple[Array, ...]:
    """Images, the gradient of the result, and the weight and bias of each convolution."""
    random = np.random.RandomState(0)
    images = random.normal(0, 1, (BATCH, 1, 28, 28))
    head = random.normal(0, 1, (BATCH, FILTERS[1], 4, 4))
    w1, b1 = random.normal(0, 0.2, (FILTERS[0], 1, 5, 5)), random.normal(0, 0.1, FILTERS[0])
    w2, b2 = random.normal(0, 0.05, (FILTERS[1], FILTERS[0], 5, 5)), random.normal(0, 0.1, FILTERS[1])
    return tuple(array.astype(np.float32) for array in (images, head, w1, b1, w2, b2))


def stage(x: Array, w: Array, b: Array) -> Array:
    """Convolution, relu, and the maxima of 2×2 windows; by einsum."""
    y = np.einsum("nchwij,fcij->nfhw", sliding_window_view(x, (5, 5), (2, 3)), w, optimize=True) + b[:, None, None]
    y = np.maximum(y, 0)
    n, f, height, width = y.shape
    blocks = y.reshape(n, f, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, f, -1, 4)
    return y, blocks.argmax(-1), blocks.max(-1).reshape(n, f, height // 2, width // 2)


def stage_backward(g: Array, x: Array, w: Array, y: Array, best: Array) -> tuple[Array, ...]:
    """The gradients of a stage's data, weight and bias."""
    n, f, height, width = y.shape
    blocks = np.zeros((n, f, best.shape[-1], 4))
    np.put_along_axis(blocks, best[..., None], g.reshape(n, f, -1, 1), -1)
    up = blocks.reshape(n, f, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(y.shape) * (y > 0)
    dw = np.einsum("nchwij,nfhw->fcij", sliding_window_view(x, (5, 5), (2, 3)), up, optimize=True)
    spread = sliding_window_view(np.pad(up, ((0, 0), (0, 0), (4, 4), (4, 4))), (5, 5), (2, 3))
    dx = np.einsum("nfhwij,fcij->nchw", spread, w[:, :, ::-1, ::-1], optimize=True)
    return dx, dw, up.sum((0, 2, 3))


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The result, and the gradients of weights and biases, in float64."""
    x, head, w1, b1, w2, b2 = (array.astype(np.float64) for array in arrays)
    y1, best1, h1 = stage(x, w1, b1)
    y2, best2, h2 = stage(h1, w2, b2)
    dh, dw2, db2 = stage_backward(head, h1, w2, y2, best2)
    _, dw1, db1 = stage_backward(dh, x, w1, y1, best1)
    return h2, dw1, db1, dw2, db2


case = Case(
    "two stages of LeNet: 5×5 convolution (20, 50 filters), relu, 2×2 max pooling; forward and backward, batch 64",
    inputs,
    expected,
    targets={"torch": 1.5},
    rtol=1e-3,
    atol=2e-3,
)


def mxnet_step(mx: Any, images: Array, head: Array, *arrays: Array) -> Checked:
    """The stages in MXNet's interface, for MXNet and for minpy."""
    nd = mx.nd
    x, head = nd.array(images), nd.array(head)
    parameters = [nd.array(array) for array in arrays]
    for parameter in parameters:
        parameter.attach_grad()
    w1, b1, w2, b2 = parameters

    def step():
        with mx.autograd.record():
            h = nd.relu(nd.Convolution(x, w1, b1, kernel=(5, 5), num_filter=FILTERS[0]))
            h = nd.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="max")
            h = nd.relu(nd.Convolution(h, w2, b2, kernel=(5, 5), num_filter=FILTERS[1]))
            h = nd.Pooling(h, kernel=(2, 2), stride=(2, 2), pool_type="max")
        h.backward(head)
        mx.nd.waitall()
        return h

    return step, lambda h: (h, *(parameter.grad for parameter in parameters))


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return mxnet_step(mx, *arrays)


@case.implementation("torch")
def with_torch(images: Array, head: Array, *arrays: Array) -> Checked:
    import torch
    from torch.nn import functional

    x, head = torch.tensor(images), torch.tensor(head)
    parameters = [torch.tensor(array, requires_grad=True) for array in arrays]
    w1, b1, w2, b2 = parameters

    def step():
        for parameter in parameters:
            parameter.grad = None
        h = functional.max_pool2d(functional.relu(functional.conv2d(x, w1, b1)), 2)
        h = functional.max_pool2d(functional.relu(functional.conv2d(h, w2, b2)), 2)
        h.backward(head)
        return h

    return step, lambda h: (h, *(parameter.grad for parameter in parameters))


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return mxnet_step(mx, *arrays)
