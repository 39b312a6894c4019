"""The training targets of SSD-300: 8,732 anchors, 32 images with up to ten objects, negative mining."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked

BATCH, OBJECTS, CLASSES = 32, 10, 20
# Sizes of the feature maps, and the shapes of their anchors.
MAPS = ((38, (1, 2, 0.5)), (19, (1, 2, 0.5, 3, 1 / 3)), (10, (1, 2, 0.5, 3, 1 / 3)), (5, (1, 2, 0.5, 3, 1 / 3)),
        (3, (1, 2, 0.5)), (1, (1, 2, 0.5)))  # fmt: skip
OPTIONS = {"overlap_threshold": 0.5, "negative_mining_ratio": 3.0, "negative_mining_thresh": 0.5}
VARIANCES = np.array([0.1, 0.1, 0.2, 0.2])


def anchors() -> Array:
    """Corners of all anchors, map by map."""
    found = []
    for index, (side, ratios) in enumerate(MAPS):
        size = 0.1 + 0.15 * index
        sizes = [(size, 1.0), ((size * (size + 0.15)) ** 0.5, 1.0), *((size, ratio) for ratio in ratios[1:])]
        half = np.array([[one * ratio**0.5, one / ratio**0.5] for one, ratio in sizes]) / 2
        places = (np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 1, 2) + 0.5) / side
        found.append(np.concatenate([places - half, places + half], -1).reshape(-1, 4))
    return np.concatenate(found)[None].astype(np.float32)


def inputs() -> tuple[Array, ...]:
    """Anchors, labels, and scores of the classes."""
    random = np.random.RandomState(1)
    boxes = anchors()
    labels = np.full((BATCH, OBJECTS, 5), -1.0)
    for label in labels:
        count = random.randint(1, OBJECTS + 1)
        center, size = random.uniform(0.2, 0.8, (count, 2)), random.uniform(0.05, 0.4, (count, 2))
        label[:count] = np.concatenate(
            [random.randint(0, CLASSES, (count, 1)), center - size / 2, center + size / 2], 1
        )
    scores = random.normal(0, 1, (BATCH, CLASSES + 1, boxes.shape[1]))
    return boxes, labels.astype(np.float32), scores.astype(np.float32)


def overlaps(boxes: Array, one: Array) -> Array:
    """Intersection over union of boxes with one."""
    sides = np.minimum(boxes[:, 2:], one[2:]) - np.maximum(boxes[:, :2], one[:2])
    common = np.maximum(sides, 0).prod(1)
    return common / ((boxes[:, 2:] - boxes[:, :2]).prod(1) + (one[2:] - one[:2]).prod() - common)


def expected(boxes: Array, labels: Array, scores: Array) -> tuple[Array, ...]:
    """Masks and classes, image by image and object by object."""
    masks, classes = [], []
    for label, score in zip(labels, scores, strict=True):
        objects = label[label[:, 0] >= 0]
        shared = np.stack([overlaps(boxes[0], one[1:]) for one in objects], 1)
        match = np.where(shared.max(1) > OPTIONS["overlap_threshold"], shared.argmax(1), -1)
        left = shared.copy()
        for _ in objects:
            anchor, which = np.unravel_index(left.argmax(), left.shape)
            match[anchor] = which
            left[anchor], left[:, which] = -1, -1
        hard = np.flatnonzero((match < 0) & (shared.max(1) < OPTIONS["negative_mining_thresh"]))
        exponentials = np.exp(score[:, hard] - score[:, hard].max(0))
        count = int((match >= 0).sum() * OPTIONS["negative_mining_ratio"])
        negative = hard[np.argsort(exponentials[0] / exponentials.sum(0), kind="stable")[:count]]
        kinds = np.full(len(match), -1.0)
        kinds[negative] = 0
        kinds[match >= 0] = objects[match[match >= 0], 0] + 1
        classes.append(kinds)
        masks.append(np.repeat(match >= 0, 4))
    return np.stack(masks), np.stack(classes)


case = Case(
    f"MultiBoxTarget with negative mining: SSD-300's 8,732 anchors, batch {BATCH}, up to {OBJECTS} objects an image",
    inputs,
    expected,
    targets={"mxnet": 2.0},
)


def mxnet_step(mx: Any, *arrays: Array) -> Checked:
    """The call in MXNet's interface, for MXNet and for minpy."""
    given = [mx.nd.array(array) for array in arrays]

    def step():
        targets = mx.nd.contrib.MultiBoxTarget(*given, **OPTIONS)
        mx.nd.waitall()
        return targets

    return step, lambda targets: targets[1:]


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return mxnet_step(mx, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return mxnet_step(mx, *arrays)
