"""A RecordIO file of JPEG pictures, and an epoch of an iterator over it, in MXNet's interface."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array, Checked

PICTURES = Path(__file__).resolve().parent.parent / "data" / "pictures.npz"
MEANS, DEVIATIONS = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)
BATCH = 100


def record_inputs(size: int) -> tuple[Array, ...]:
    """Return the bytes of the JPEG files, their lengths, and the mean colours of what is cut out."""
    with np.load(PICTURES) as arrays:
        return tuple(arrays[f"{name}_{size}"] for name in ("bytes", "lengths", "means"))


def record_expected(count: int, means: Array) -> tuple[Array, ...]:
    """Return the sum of the labels and the mean of the numbers of each channel in an epoch."""
    numbers = np.arange(count) % len(means)
    colours = (means[numbers] - MEANS) / DEVIATIONS
    return np.float32(numbers.sum()), colours.mean(0).astype(np.float32)


def record_epoch(mx: Any, count: int, kept: int, content: Array, lengths: Array) -> Checked:
    """Return a step that reads an epoch of `count` pictures: shuffled, mirrored at random, normalized."""
    ends = np.cumsum(lengths)
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "pictures.rec"
    with open(path, "wb") as file:
        for number in range(count):
            which = number % len(lengths)
            picture = content[ends[which] - lengths[which] : ends[which]].tobytes()
            record = struct.pack("<IfQQ", 0, which, number, 0) + picture
            file.write(struct.pack("<II", 0xCED7230A, len(record)) + record + bytes(-len(record) % 4))
    numbers = dict(zip(("mean_r", "mean_g", "mean_b"), MEANS, strict=True))
    numbers.update(zip(("std_r", "std_g", "std_b"), DEVIATIONS, strict=True))
    batches = mx.io.ImageRecordIter(
        path_imgrec=str(path),
        data_shape=(3, kept, kept),
        batch_size=BATCH,
        shuffle=True,
        rand_mirror=True,
        verbose=False,
        **numbers,
    )

    def step():
        assert folder.name  # which is there as long as the step is
        batches.reset()
        labels = 0.0
        for batch in batches:
            batch.data[0].wait_to_read()
            labels += float(batch.label[0].asnumpy().sum())
        return labels

    def view(labels):
        batches.reset()
        colours = [batch.data[0].asnumpy().mean((0, 2, 3)) for batch in batches]
        return np.float32(labels), np.mean(colours, 0)

    return step, view
