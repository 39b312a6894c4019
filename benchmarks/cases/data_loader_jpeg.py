"""An epoch of a DataLoader with two workers over JPEG pictures in a RecordIO file."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked
from harness.loading import counted, gluon_epoch

COUNT, SIZE, BATCH = 1000, 256, 32


def inputs() -> tuple[Array, ...]:
    """Pictures that JPEG can pack, and their numbers."""
    random = np.random.RandomState(0)
    coarse = random.randint(0, 256, (COUNT, SIZE // 16, SIZE // 16, 3)).astype(np.uint8)
    return coarse.repeat(16, axis=1).repeat(16, axis=2), np.arange(COUNT)


case = Case(
    f"{COUNT} JPEG pictures of {SIZE}x{SIZE} out of a RecordIO file, through ToTensor and Normalize, in batches of "
    f"{BATCH}, by two workers",
    inputs,
    counted,
    targets={"mxnet": 1.0},
)


def with_gluon(mx: Any, images: Array, labels: Array) -> Checked:
    path = os.path.join(tempfile.mkdtemp(), "pictures")
    writer = mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w")
    for image, label in zip(images, labels):  # noqa: B905 - the oldest interpreter of a peer
        header = mx.recordio.IRHeader(0, float(label), int(label), 0)
        writer.write_idx(int(label), mx.recordio.pack_img(header, image))
    writer.close()
    return gluon_epoch(mx, mx.gluon.data.vision.ImageRecordDataset(f"{path}.rec"), BATCH)


@case.implementation("minpy")
def with_minpy(images: Array, labels: Array) -> Checked:
    import minpy as mx

    return with_gluon(mx, images, labels)


@case.implementation("mxnet")
def with_mxnet(images: Array, labels: Array) -> Checked:
    import mxnet as mx

    return with_gluon(mx, images, labels)
