"""An epoch of `ImageRecordIter` over a thousand pictures of the usual size."""

from __future__ import annotations

from harness.case import Array, Case, Checked
from harness.records import record_epoch, record_expected, record_inputs

COUNT, SIZE, KEPT = 1_000, 256, 224


def inputs() -> tuple[Array, ...]:
    """JPEG files, their lengths and mean colours."""
    return record_inputs(SIZE)


def expected(content: Array, lengths: Array, means: Array) -> tuple[Array, ...]:
    """The sum of the labels, and the mean of each channel."""
    return record_expected(COUNT, means)


case = Case(
    f"ImageRecordIter over {COUNT:,} JPEG pictures of {SIZE}x{SIZE}, shuffled, mirrored, normalized: time a picture",
    inputs,
    expected,
    targets={"mxnet": 1.0},
    per=COUNT,
    rtol=1e-2,
    atol=1e-2,
)


@case.implementation("minpy")
def with_minpy(content: Array, lengths: Array, means: Array) -> Checked:
    import minpy as mx

    return record_epoch(mx, COUNT, KEPT, content, lengths)


@case.implementation("mxnet")
def with_mxnet(content: Array, lengths: Array, means: Array) -> Checked:
    import mxnet as mx

    return record_epoch(mx, COUNT, KEPT, content, lengths)
