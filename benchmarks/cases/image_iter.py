"""Batches of 256×256 photographs from a record file: decoded, resized, cropped, mirrored and normalized."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array, Case, Step

COUNT, BATCH, RESIZED, CROP = 64, 16, 240, 224
PICTURES = Path(__file__).resolve().parent.parent / "pictures"
# The means of red, green and blue in the middle 224×224 pixels of both, as Pillow decodes them.
MEANS = np.array([[146.372, 135.239, 129.773], [202.806, 120.791, 68.622]])
MEAN, STD = np.array([123.68, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])


def inputs() -> tuple[Array, ...]:
    """The bytes of two JPEG files, of 256×256 pixels."""
    return tuple(np.frombuffer((PICTURES / name).read_bytes(), np.uint8) for name in ("china.jpg", "flower.jpg"))


def expected(*files: Array) -> tuple[Array, ...]:
    """The labels of an epoch; and the mean colours of the first two pictures, uncropped by chance, normalized."""
    return np.arange(COUNT) % len(files), (MEANS - MEAN) / STD


case = Case(
    f"ImageIter over {COUNT} JPEG of 256×256: resize, rand_crop, rand_mirror, mean, std; batches of {BATCH}",
    inputs,
    expected,
    targets={"mxnet": 1.0},
    rtol=5e-3,
    atol=5e-3,
)


def mxnet_step(mx: Any, *files: Array) -> Step:
    """An epoch in MXNet's interface, for MXNet and for minpy."""
    folder = Path(tempfile.mkdtemp())
    paths = str(folder / "a.idx"), str(folder / "a.rec")
    writer = mx.recordio.MXIndexedRecordIO(*paths, "w")
    for key in range(COUNT):
        kind = key % len(files)
        writer.write_idx(key, mx.recordio.pack(mx.recordio.IRHeader(0, float(kind), key, 0), files[kind].tobytes()))
    writer.close()
    options = {"path_imgrec": paths[1], "path_imgidx": paths[0], "mean": True, "std": True}
    plain = mx.image.ImageIter(BATCH, (3, CROP, CROP), **options)
    colors = next(plain).data[0].mean(axis=(2, 3))[:2]
    it = mx.image.ImageIter(BATCH, (3, CROP, CROP), resize=RESIZED, rand_crop=True, rand_mirror=True, **options)

    def step() -> Any:
        random.seed(0)
        it.reset()
        labels = []
        for batch in it:
            batch.data[0].wait_to_read()
            labels.append(batch.label[0])
        return mx.nd.concat(*labels, dim=0), colors

    return step


@case.implementation("minpy")
def with_minpy(*files: Array) -> Step:
    import minpy as mx

    return mxnet_step(mx, *files)


@case.implementation("mxnet")
def with_mxnet(*files: Array) -> Step:
    import mxnet as mx

    return mxnet_step(mx, *files)
