"""Non-maximum suppression of ten thousand boxes of which half stay: what comes after a detector."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Step

COUNT, THRESHOLD = 10_000, 0.5


def inputs() -> tuple[Array, ...]:
    """Rows of class, score and corners."""
    random = np.random.RandomState(0)
    center, size = random.uniform(0, 1, (COUNT, 2)), random.uniform(0.025, 0.1, (COUNT, 2))
    kinds, scores = np.zeros((COUNT, 1)), random.permutation(COUNT)[:, None] / COUNT
    return (np.concatenate([kinds, scores, center - size / 2, center + size / 2], 1).astype(np.float32),)


def expected(boxes: Array) -> tuple[Array, ...]:
    """One kept box after the other; rows of -1 behind them."""
    rows = boxes[np.argsort(-boxes[:, 1], kind="stable")]
    rows = rows[rows[:, 1] > 0]
    kept = []
    areas = (rows[:, 4] - rows[:, 2]) * (rows[:, 5] - rows[:, 3])
    while len(rows):
        kept.append(rows[0])
        width = np.minimum(rows[0, 4], rows[:, 4]) - np.maximum(rows[0, 2], rows[:, 2])
        height = np.minimum(rows[0, 5], rows[:, 5]) - np.maximum(rows[0, 3], rows[:, 3])
        common = np.maximum(width, 0) * np.maximum(height, 0)
        stays = common / (areas[0] + areas - common) <= THRESHOLD
        rows, areas = rows[stays], areas[stays]
    result = np.full(boxes.shape, -1, np.float32)
    result[: len(kept)] = kept
    return (result,)


case = Case(
    f"box_nms of {COUNT:,} boxes in one image, about half of which stay, float32",
    inputs,
    expected,
    targets={"mxnet": 2.0},
)


def mxnet_step(mx: Any, boxes: Array) -> Step:
    """The call in MXNet's interface, for MXNet and for minpy."""
    data = mx.nd.array(boxes)

    def step():
        kept = mx.nd.contrib.box_nms(data, overlap_thresh=THRESHOLD)
        kept.wait_to_read()
        return kept

    return step


@case.implementation("minpy")
def with_minpy(boxes: Array) -> Step:
    import minpy as mx

    return mxnet_step(mx, boxes)


@case.implementation("mxnet")
def with_mxnet(boxes: Array) -> Step:
    import mxnet as mx

    return mxnet_step(mx, boxes)
