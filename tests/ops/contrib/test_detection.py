"""Detection beyond the operator table: any boxes against one loop, large cases, errors, symbols, extremes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import minpy as mx
from minpy import nd, sym
from minpy.ops.kernels.box_suppression import greedy_pairs, kept_boxes

C = nd.contrib


def overlap(a: Any, b: Any) -> Any:
    width, height = max(min(a[2], b[2]) - max(a[0], b[0]), 0), max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / union if union > 0 else 0


def one_by_one(boxes: Any, alive: Any, groups: Any, threshold: float, inclusive: bool) -> list[bool]:
    keep: list[bool] = []
    for at, box in enumerate(boxes):
        goes = any(
            keep[other]
            and groups[other] == groups[at]
            and (overlap(boxes[other], box) > threshold or (inclusive and overlap(boxes[other], box) == threshold))
            for other in range(at)
        )
        keep.append(bool(alive[at]) and not goes)
    return keep


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_suppression_is_that_of_one_box_after_the_other(data: st.DataObject) -> None:
    """Corners are eighths, so that overlaps meet thresholds exactly; chains of overlaps are long."""
    batch, count = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 40))
    eighths = arrays("int64", (batch, count, 2), elements=st.integers(0, 12))
    low, size = data.draw(eighths) / 8, (data.draw(eighths) + 1) / 8
    boxes = np.concatenate([low, low + size], -1)
    alive = data.draw(arrays("bool", (batch, count)))
    groups = data.draw(arrays("int64", (batch, count), elements=st.integers(0, 2)))
    threshold, inclusive = data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])), data.draw(st.booleans())
    corners = [boxes[..., column] for column in range(4)]
    for kinds in (groups, np.zeros_like(groups)):
        got = kept_boxes(corners, alive, threshold, groups=kinds if kinds.any() else None, inclusive=inclusive)
        expected = [one_by_one(*item, threshold, inclusive) for item in zip(boxes, alive, kinds, strict=True)]
        np.testing.assert_array_equal(got, expected)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_matching_is_that_of_one_pair_after_the_other(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 2), st.integers(1, 8), st.integers(1, 8)))
    scores = data.draw(arrays("int64", shape, elements=st.integers(0, 6))) / 8
    most, rows_first = data.draw(st.integers(-1, 3)), data.draw(st.booleans())
    best = scores.max(2), scores.argmax(2)
    got = greedy_pairs(lambda batch, rows: scores[batch, rows], best, shape[2], 0.2, most=most, rows_first=rows_first)
    for item, matched in zip(scores, got, strict=True):
        expected = np.full(shape[1], -1)
        places = sorted(np.ndindex(*shape[1:]), key=lambda at: (-item[at], at if rows_first else at[::-1]))
        for row, column in places:
            full = 0 < most <= (expected >= 0).sum()
            if item[row, column] > 0.2 and expected[row] < 0 and column not in expected and not full:
                expected[row] = column
        np.testing.assert_array_equal(matched, expected)


def test_a_chain_of_overlaps_longer_than_a_block() -> None:
    """Each box overlaps its neighbours only: every second one stays, however far decisions reach."""
    left = np.arange(1000.0)
    boxes = np.stack([np.zeros(1000), 1 - left / 1e4, left, np.zeros(1000), left + 1.8, np.ones(1000)], 1)
    kept = C.box_nms(nd.array(boxes), overlap_thresh=0.25).asnumpy()
    np.testing.assert_array_equal(kept[:500, 2], left[::2])
    assert (kept[500:] == -1).all()


def test_many_boxes_in_a_batch_are_those_of_each_image() -> None:
    random = np.random.RandomState(0)
    center, size = random.uniform(0, 1, (3, 2000, 2)), random.uniform(0.02, 0.3, (3, 2000, 2))
    kinds, scores = random.randint(0, 5, (3, 2000, 1)), random.uniform(0, 1, (3, 2000, 1))
    boxes = nd.array(np.concatenate([kinds, scores, center - size / 2, center + size / 2], -1))
    for options in ({}, {"id_index": 0}, {"id_index": 0, "topk": 300}):
        together = C.box_nms(boxes, overlap_thresh=0.3, **options).asnumpy()
        for item, alone in enumerate(boxes):
            np.testing.assert_array_equal(C.box_nms(alone, overlap_thresh=0.3, **options).asnumpy(), together[item])


def test_nothing_to_suppress_match_or_detect() -> None:
    assert C.box_nms(nd.zeros((0, 6))).shape == (0, 6)
    assert C.box_nms(nd.zeros((2, 0, 6))).shape == (2, 0, 6)
    assert C.box_iou(nd.zeros((0, 4)), nd.zeros((3, 4))).shape == (0, 3)
    assert [part.shape for part in C.bipartite_matching(nd.zeros((0, 2)), threshold=0.5)] == [(0,), (2,)]
    assert C.MultiBoxDetection(nd.zeros((0, 2, 3)), nd.zeros((0, 12)), nd.zeros((1, 3, 4))).shape == (0, 3, 6)
    places, masks, classes = C.MultiBoxTarget(nd.zeros((1, 2, 4)), nd.zeros((3, 0, 5)), nd.zeros((3, 2, 2)))
    assert (places.shape, masks.shape) == ((3, 8), (3, 8))
    assert (classes.asnumpy() == -1).all()
    matches = [
        nd.zeros((1, 2)),
        nd.zeros((1, 2)),
        nd.ones((1, 2, 4)),
        nd.zeros((1, 0, 4)),
        nd.zeros((4,)),
        nd.ones((4,)),
    ]
    assert not C.box_encode(*matches)[1].asnumpy().any()


def test_out() -> None:
    boxes = nd.array([[0, 0.5, 0, 0, 2, 2], [0, 0.4, 0, 0, 2, 1.8]])
    out = nd.zeros((2, 6))
    assert C.box_nms(boxes, out=out) is out
    assert out.asnumpy()[:, 1].tolist() == [0.5, -1]
    rows, columns = nd.zeros((1,)), nd.zeros((2,))
    C.bipartite_matching(nd.array([[0.5, 0.6]]), threshold=0.1, out=[rows, columns])
    assert (rows.asnumpy().tolist(), columns.asnumpy().tolist()) == ([1], [-1, 0])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: C.box_nms(nd.ones((6,))),
            mx.core.errors.ShapeError,
            r"box_nms: data has shape \(6,\); expected \(..., n, k\): n boxes in rows of k numbers.",
        ),
        (
            lambda: C.box_nms(nd.ones((2, 5))),
            mx.core.errors.ArgumentError,
            r"box_nms: the coordinates are numbers 2 to 5 of a row; rows of data \(2, 5\) have 5.",
        ),
        (
            lambda: C.box_nms(nd.ones((2, 6)), score_index=4),
            mx.core.errors.ArgumentError,
            "box_nms: score_index is 4, which is one of the coordinates: these are 2 to 5.",
        ),
        (
            lambda: C.box_nms(nd.ones((2, 6)), id_index=9),
            mx.core.errors.ArgumentError,
            r"box_nms: id_index is 9; expected 0 <= id_index < 6 for data \(2, 6\).",
        ),
        (
            lambda: C.box_nms(nd.ones((2, 6)), in_format="middle"),
            mx.core.errors.ArgumentError,
            "box_nms: unknown in_format 'middle'; expected 'corner' or 'center'.",
        ),
        (
            lambda: C.box_nms(nd.ones((2, 6), dtype="int32")),
            mx.core.errors.DTypeError,
            "box_nms: data has dtype int32; expected a floating-point dtype.",
        ),
        (
            lambda: C.box_iou(nd.ones((2, 4)), nd.ones((2, 3))),
            mx.core.errors.ShapeError,
            r"box_iou: rhs has shape \(2, 3\); expected \(..., 4\), with two axes at least.",
        ),
        (
            lambda: C.box_encode(
                nd.ones((1, 2)),
                nd.array([[0, 3]]),
                nd.ones((1, 2, 4)),
                nd.ones((1, 3, 4)),
                nd.ones((4,)),
                nd.ones((4,)),
            ),
            mx.core.errors.OutOfRangeError,
            r"box_encode: match 3 is out of range for refs \(1, 3, 4\).",
        ),
        (
            lambda: C.box_decode(nd.ones((2, 3, 4)), nd.ones((2, 3, 4))),
            mx.core.errors.ShapeError,
            r"box_decode: data \(2, 3, 4\) and anchors \(2, 3, 4\); expected \(batch, n, 4\) and \(1, n, 4\).",
        ),
        (
            lambda: C.MultiBoxPrior(nd.ones((1, 1, 2, 2)), steps=(1, -1)),
            mx.core.errors.ArgumentError,
            r"MultiBoxPrior: steps is \(1, -1\); expected two lengths, or two negative numbers.",
        ),
        (
            lambda: C.MultiBoxTarget(nd.ones((1, 2, 4)), nd.array([[[-1, 0, 0, 1, 1]]]), nd.ones((1, 2, 2))),
            mx.core.errors.ArgumentError,
            r"MultiBoxTarget: label\[0, 0\] is \[-1.0, 0.0, 0.0, 1.0, 1.0\]: class -1 ends the objects, and its",
        ),
        (
            lambda: C.MultiBoxTarget(nd.ones((1, 2, 4)), nd.ones((1, 1, 4)), nd.ones((1, 2, 2))),
            mx.core.errors.ShapeError,
            r"MultiBoxTarget: anchor \(1, 2, 4\), label \(1, 1, 4\) and cls_pred \(1, 2, 2\); expected \(1, n, 4\), ",
        ),
        (
            lambda: C.MultiBoxDetection(nd.ones((1, 2, 3)), nd.ones((1, 12)), nd.ones((1, 3, 4)), variances=(1, 2)),
            mx.core.errors.ArgumentError,
            r"MultiBoxDetection: variances is \(1, 2\); expected 4 numbers.",
        ),
        (
            lambda: C.Proposal(nd.ones((2, 24, 1, 1)), nd.ones((2, 48, 1, 1)), nd.ones((2, 3))),
            mx.core.errors.ShapeError,
            r"Proposal: cls_prob has shape \(2, 24, 1, 1\); expected one image. Use MultiProposal.",
        ),
        (
            lambda: C.MultiProposal(nd.ones((1, 4, 1, 1)), nd.ones((1, 8, 1, 1)), nd.ones((1, 3))),
            mx.core.errors.ShapeError,
            r"expected \(batch, 24, height, width\), .* scales times ratios are 12 anchors.",
        ),
    ],
)
def test_what_is_said_of_bad_input(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_symbols_infer_backwards() -> None:
    anchors, labels, scores = sym.var("a"), sym.var("b"), sym.var("c")
    shapes, found, _ = sym.contrib.MultiBoxTarget(anchors, labels, scores).infer_shape_partial(a=(1, 8, 4), c=(2, 3, 8))
    assert (shapes[1][0], found) == (2, [(2, 32), (2, 32), (2, 8)])
    shapes, found, _ = sym.contrib.MultiBoxDetection(scores, sym.var("d"), anchors).infer_shape(c=(2, 3, 8))
    assert (shapes, found) == ([(2, 3, 8), (2, 32), (1, 8, 4)], [(2, 8, 6)])
    shapes, found, _ = sym.contrib.box_decode(sym.var("d"), anchors).infer_shape(d=(3, 8, 4))
    assert (shapes, found) == ([(3, 8, 4), (1, 8, 4)], [(3, 8, 4)])


def test_a_detector_as_a_symbol_is_saved_and_run() -> None:
    data = sym.var("data")
    priors = sym.contrib.MultiBoxPrior(data, sizes=(0.5,), ratios=(1, 2))
    detect = sym.contrib.MultiBoxDetection(sym.var("prob"), sym.var("loc"), priors, name="detect")
    loaded = sym.load_json(detect.tojson())
    random = np.random.RandomState(0)
    arrays = {
        "data": nd.zeros((1, 1, 2, 2)),
        "prob": nd.softmax(nd.array(random.normal(size=(1, 3, 8))), axis=1),
        "loc": nd.array(random.normal(size=(1, 32))),
    }
    expected = C.MultiBoxDetection(
        arrays["prob"], arrays["loc"], C.MultiBoxPrior(arrays["data"], sizes=(0.5,), ratios=(1, 2))
    )
    np.testing.assert_allclose(loaded.eval(**arrays)[0].asnumpy(), expected.asnumpy(), rtol=1e-6)


def test_the_gradient_of_suppression_inside_of_a_network() -> None:
    weights = nd.array(np.random.RandomState(1).uniform(0.1, 1, (4, 6)))
    weights.attach_grad()
    with mx.autograd.record():
        loss = (C.box_nms(weights * 2, valid_thresh=10) * weights).sum()
    loss.backward()
    np.testing.assert_array_equal(weights.grad.asnumpy(), -np.ones((4, 6)))
