"""`ROIAlign` of 512 boxes on two feature maps of 256 channels, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked

BOXES, CHANNELS, SIDE, IMAGE = 512, 256, 50, 800.0


def inputs() -> tuple[Array, ...]:
    random = np.random.RandomState(0)
    data = random.normal(0, 1, (2, CHANNELS, SIDE, SIDE)).astype(np.float32)
    middles, sizes = random.uniform(0, IMAGE, (BOXES, 2)), random.uniform(32, 400, (BOXES, 2))
    corners = np.clip(np.concatenate([middles - sizes / 2, middles + sizes / 2], axis=1), 0, IMAGE - 1)
    rois = np.concatenate([random.randint(0, 2, (BOXES, 1)), corners], axis=1).astype(np.float32)
    return data, rois, random.normal(0, 1, (BOXES, CHANNELS, 7, 7)).astype(np.float32)


def expected(data: Array, rois: Array, head: Array) -> tuple[Array, ...]:
    """The answer and the gradient, by two products a box with the weights of its rows and columns."""
    answer, gradient = np.empty(head.shape), np.zeros(data.shape)
    for index, (image, *box) in enumerate(rois):
        x0, y0, x1, y1 = (np.float32(value) / 16 for value in box)
        rows, columns = (weights(low, high) for low, high in ((y0, y1), (x0, x1)))
        answer[index] = rows @ data[int(image)] @ columns.T
        gradient[int(image)] += rows.T @ head[index] @ columns
    return answer, gradient


def weights(low: float, high: float) -> Array:
    """How much each of 7 bins, with two samples each, takes of each point of an axis."""
    size = max(high - low, 1) / 7
    samples = low + (np.arange(14) + 0.5) * size / 2
    inside = (samples >= -1) & (samples <= SIDE)
    near = np.maximum(0, 1 - np.abs(np.clip(samples, 0, SIDE - 1)[:, None] - np.arange(SIDE))) * inside[:, None]
    return near.reshape(7, 2, SIDE).mean(1)


case = Case(
    "ROIAlign of 512 boxes to 7x7, two samples a side, on (2, 256, 50, 50) float32, forward and backward",
    inputs,
    expected,
    targets={"mxnet": 2.0},
    rtol=1e-3,
    atol=1e-3,
)


def recorded(mx: Any, data: Array, rois: Array, head: Array) -> Checked:
    data, rois, head = mx.nd.array(data), mx.nd.array(rois), mx.nd.array(head)
    data.attach_grad()

    def step():
        with mx.autograd.record():
            answer = mx.nd.contrib.ROIAlign(data, rois, pooled_size=(7, 7), spatial_scale=1 / 16, sample_ratio=2)
        answer.backward(head)
        mx.nd.waitall()
        return answer

    return step, lambda answer: (answer.asnumpy(), data.grad.asnumpy())


@case.implementation("minpy")
def with_minpy(data: Array, rois: Array, head: Array) -> Checked:
    import minpy as mx

    return recorded(mx, data, rois, head)


@case.implementation("mxnet")
def with_mxnet(data: Array, rois: Array, head: Array) -> Checked:
    import mxnet as mx

    return recorded(mx, data, rois, head)
