"""An epoch of a DataLoader with two workers over 1000 pictures of 256×256."""

from __future__ import annotations

from typing import Any

from harness.case import Array, Case, Checked
from harness.loading import counted, gluon_epoch, pictures, torch_epoch

COUNT, SIZE, BATCH = 1000, 256, 32


def inputs() -> tuple[Array, ...]:
    """Pictures and their numbers."""
    return pictures(COUNT, SIZE)


case = Case(
    f"{COUNT} pictures of {SIZE}x{SIZE} through ToTensor and Normalize, in batches of {BATCH}, by two workers",
    inputs,
    counted,
    targets={"mxnet": 1.0},
)


def with_gluon(mx: Any, images: Array, labels: Array) -> Checked:
    return gluon_epoch(mx, mx.gluon.data.ArrayDataset(mx.nd.array(images, dtype="uint8"), labels), BATCH)


@case.implementation("minpy")
def with_minpy(images: Array, labels: Array) -> Checked:
    import minpy as mx

    return with_gluon(mx, images, labels)


@case.implementation("mxnet")
def with_mxnet(images: Array, labels: Array) -> Checked:
    import mxnet as mx

    return with_gluon(mx, images, labels)


@case.implementation("torch")
def with_torch(images: Array, labels: Array) -> Checked:
    return torch_epoch(images, labels, BATCH)
