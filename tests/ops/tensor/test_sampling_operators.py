"""Operators that sample images at positions: what they refuse and in which words, and what the table does not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.ops.registry import OPERATORS

IMAGE = nd.zeros((2, 4, 5, 6))
BOX = nd.array([[0, 0, 0, 3, 3]])
ALIGN = {"pooled_size": (2, 2), "spatial_scale": 1}
REFUSED = [
    (
        lambda: nd.contrib.ROIAlign(IMAGE, nd.array([[0, 0, 0, 3, 3], [2, 0, 0, 3, 3]]), **ALIGN),
        "ROIAlign: box 1 of rois is in image 2; expected a number from below 0 .no box. to 1, as data has shape",
    ),
    (
        lambda: nd.ROIPooling(IMAGE, -BOX - 1, **ALIGN),
        "ROIPooling: box 0 of rois is in image -1; expected a number from 0",
    ),
    (lambda: nd.contrib.ROIAlign(IMAGE, BOX[:, :4], **ALIGN), r"rois has shape \(1, 4\); expected \(boxes, 5\)"),
    (
        lambda: nd.contrib.ROIAlign(IMAGE, nd.array([[0, 3, 0, 1, 3]]), aligned=True, **ALIGN),
        r"box 0 of rois is \[3.0, 0.0, 1.0, 3.0\]; expected \(x1, y1, x2, y2\) with x1 <= x2",
    ),
    (
        lambda: nd.contrib.ROIAlign(IMAGE, BOX, pooled_size=(3, 3), spatial_scale=1, position_sensitive=True),
        "data has 4 channels; expected a multiple of 3 x 3",
    ),
    (
        lambda: nd.contrib.PSROIPooling(IMAGE, BOX, spatial_scale=1, output_dim=2, pooled_size=2),
        r"with 4 channels; expected output_dim \* group_size \*\* 2 = 8",
    ),
    (lambda: nd.BilinearSampler(IMAGE, nd.zeros((2, 3, 2, 2))), r"grid has shape \(2, 3, 2, 2\); expected \(batch, 2,"),
    (lambda: nd.GridGenerator(nd.zeros((2, 6)), transform_type="affine"), "target_shape is .0, 0.; expected"),
    (lambda: nd.GridGenerator(nd.zeros((2, 6)), transform_type="linear"), "unknown transform_type 'linear'; expected"),
    (
        lambda: nd.contrib.DeformableConvolution(
            IMAGE, nd.zeros((2, 18, 5, 6)), nd.zeros((2, 4, 3, 3)), kernel=(3, 3), num_filter=2, no_bias=True
        ),
        r"offset has shape \(2, 18, 5, 6\); expected \(2, 18, 3, 4\), which is \(batch, num_deformable_group",
    ),
    (lambda: nd.Correlation(IMAGE, IMAGE, kernel_size=2), "kernel_size is 2, .* expected an odd kernel_size"),
    (lambda: nd.Correlation(IMAGE, IMAGE, max_displacement=4), "too small for max_displacement=4"),
    (lambda: nd.contrib.AdaptiveAvgPooling2D(IMAGE, output_size=(1, 2, 3)), "output_size is .1, 2, 3.; expected"),
    (lambda: nd.contrib.AdaptiveAvgPooling2D(IMAGE.astype("int32")), "data has dtype int32; expected floating point"),
    (lambda: nd.contrib.BilinearResize2D(IMAGE, mode="double"), "unknown mode 'double'; expected 'size'"),
    (lambda: nd.contrib.BilinearResize2D(IMAGE, mode="like"), "mode='like' takes 2 input.s., got 1"),
    (lambda: nd.contrib.BilinearResize2D(IMAGE, scale_height=2), "scale_width is None"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_is_refused_is_said(call: Any, words: str) -> None:
    with pytest.raises(mx.MXNetError, match=words):
        call()


@pytest.mark.parametrize("shape", [(1, 2, 130, 7), (2, 1, 7, 130), (1, 1, 200, 150)])
def test_long_axes_are_resized_block_by_block(shape: tuple[int, ...]) -> None:
    """The blocks of the kernel give what whole matrices do, and so do their transposes."""
    data = nd.array(np.random.RandomState(2).normal(size=shape), dtype="float64")
    data.attach_grad()
    for options in ({"height": 170, "width": 90}, {"height": 61, "width": 210, "align_corners": False}):
        operator = OPERATORS["_contrib_BilinearResize2D"]
        expected = operator.definition(data.asnumpy(), None, **{"mode": "size", **options})
        with mx.autograd.record():
            answer = nd.contrib.BilinearResize2D(data, **options)
        answer.backward(answer)
        np.testing.assert_allclose(answer.asnumpy(), expected, atol=1e-12)
        # The product is linear: <y, A x> = <transpose of A applied to y, x> with y = A x.
        np.testing.assert_allclose((answer * answer).sum().asscalar(), (data.grad * data).sum().asscalar(), rtol=1e-10)


def test_samples_that_share_a_pixel_add_up_whatever_their_number() -> None:
    """One pixel in a thousand samples, others in a few: gradients are the transpose of the samples."""
    random = np.random.RandomState(3)
    data = nd.array(random.normal(size=(1, 3, 6, 7)), dtype="float64")
    grid = random.uniform(-1.2, 1.2, (1, 2, 30, 40))
    grid[:, :, :25] = 0.01
    data.attach_grad()
    with mx.autograd.record():
        answer = nd.BilinearSampler(data, nd.array(grid, dtype="float64"))
    answer.backward(answer)
    np.testing.assert_allclose((answer * answer).sum().asscalar(), (data.grad * data).sum().asscalar(), rtol=1e-10)


def test_positions_that_are_no_numbers_are_outside() -> None:
    grid = nd.array([[[[float("nan"), float("inf"), -1]], [[0, 0, -1]]]])
    assert nd.BilinearSampler(nd.ones((1, 1, 3, 3)), grid).asnumpy().tolist() == [[[[0, 0, 1]]]]


def test_maxima_of_large_windows_in_every_dtype() -> None:
    random = np.random.RandomState(4)
    data = random.permutation(2 * 3 * 21 * 17).reshape(2, 3, 21, 17) - 500
    rois = np.array([[0, 0, 0, 16, 20], [1, 3, 2, 12, 19], [1, 0, 5, 16, 5]])
    for dtype in ("float16", "float32", "float64"):
        answer = nd.ROIPooling(
            nd.array(data, dtype=dtype), nd.array(rois, dtype=dtype), pooled_size=(1, 1), spatial_scale=1
        )
        expected = [data[n, :, y0 : y1 + 1, x0 : x1 + 1].max((1, 2)) for n, x0, y0, x1, y1 in rois]
        np.testing.assert_array_equal(answer.asnumpy()[:, :, 0, 0], np.array(expected, dtype))
