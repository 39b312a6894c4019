"""Suppression, detections, proposals, boxes pooled and grids sampled: with ties, open lengths and several opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from many import each

from minpy import sym

pytest.importorskip("onnx", minversion="1.16", reason="models are checked by onnx")
pytest.importorskip("onnxruntime", reason="models are run by onnxruntime")

from exported import exported

from minpy.onnx.exporting.sources import ExportError

X, BOXES, GRID = map(sym.var, ("x", "boxes", "grid"))
RANDOM = np.random.RandomState(0)


def scored_boxes(batch: int, count: int) -> np.ndarray:
    """Return rows of a class, a score and corners: with equal scores, and boxes that end before they begin."""
    rows = RANDOM.uniform(0, 1, (batch, count, 6))
    corner, size = RANDOM.uniform(0, 1, (batch, count, 2)), RANDOM.uniform(-0.05, 0.5, (batch, count, 2))
    rows[..., 2:] = np.concatenate([corner, corner + size], -1)
    rows[..., 0] = RANDOM.randint(-1, 3, (batch, count))
    rows[..., 1] = np.round(rows[..., 1], 1)
    return rows.astype("float32")


SUPPRESSION: dict[str, dict[str, Any]] = {
    "default": {},
    "classes": {"overlap_thresh": 0.3, "valid_thresh": 0.4, "id_index": 0, "background_id": 0},
    "best only": {"topk": 7, "id_index": 0, "force_suppress": True},
    "from centers": {"topk": 7, "in_format": "center"},
    "to centers": {"topk": 100, "out_format": "center"},
    "as they are": {"topk": 0},
    "nothing is valid": {"overlap_thresh": 0.0, "valid_thresh": 2.0},
}


@each(
    {f"{name} at {opset}": (attributes, opset) for name, attributes in SUPPRESSION.items() for opset in (13, None)},
    at_once=2,
)
def test_suppressed_boxes(attributes: dict[str, Any], opset: Any) -> None:
    symbol, boxes = sym.contrib.box_nms(X, **attributes), scored_boxes(3, 40)
    exported(symbol, {"x": (3, 40, 6)}, example_inputs={"x": boxes}, opset=opset)
    exported(symbol, {"x": (40, 6)}, example_inputs={"x": boxes[0]}, opset=opset)
    exported(symbol, {"x": (3, 40, 6)}, example_inputs={"x": boxes}, dynamic={"x": ("b", "n", 6)}, opset=opset)
    exported(symbol, {"x": (3, 40, 6)}, example_inputs={"x": boxes}, dtypes="float64", opset=opset)


DETECTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "threshold": {"threshold": 0.3},
    "best only": {"nms_topk": 5, "threshold": 0.2},
    "more than there are": {"nms_topk": 50},
    "not suppressed": {"nms_threshold": 0.0},
    "forced": {"force_suppress": True, "clip": False, "nms_threshold": 0.3},
}


@each({name: (attributes,) for name, attributes in DETECTIONS.items()}, at_once=2)
def test_detections(attributes: dict[str, Any]) -> None:
    count = 30
    symbol = sym.contrib.MultiBoxDetection(sym.var("classes"), sym.var("moves"), sym.var("anchors"), **attributes)
    shapes = {"classes": (2, 4, count), "moves": (2, 4 * count), "anchors": (1, count, 4)}
    example = {
        "classes": RANDOM.dirichlet([1] * 4, (2, count)).transpose(0, 2, 1),
        "moves": RANDOM.normal(size=(2, 4 * count)) * 0.5,
        "anchors": scored_boxes(1, count)[..., 2:],
    }
    exported(symbol, shapes, example_inputs=example)
    exported(symbol, shapes, example_inputs=example, opset=13)
    dynamic = {"classes": ("b", 4, count), "moves": ("b", 4 * count), "anchors": (1, count, 4)}
    exported(symbol, shapes, example_inputs=example, dynamic=dynamic)


def test_anchors_of_open_feature_maps() -> None:
    symbol = sym.contrib.MultiBoxPrior(X, sizes=(0.3, 0.7), ratios=(1, 2), clip=True, steps=(-1, -1))
    exported(symbol, {"x": (1, 3, 4, 5)}, dynamic={"x": ("b", 3, "h", "w")})


@pytest.mark.parametrize("opset", [13, None])
def test_proposals(opset: Any) -> None:
    symbol = sym.contrib.MultiProposal(
        X, sym.var("moves"), sym.var("info"), rpn_pre_nms_top_n=40, rpn_post_nms_top_n=12, scales=(2, 4),
        ratios=(0.5, 1), feature_stride=4, rpn_min_size=4, output_score=True, threshold=0.5,
    )  # fmt: skip
    shapes = {"x": (2, 8, 5, 6), "moves": (2, 16, 5, 6), "info": (2, 3)}
    example = {
        "x": RANDOM.uniform(size=(2, 8, 5, 6)),
        "moves": RANDOM.normal(size=(2, 16, 5, 6)) * 0.2,
        "info": np.array([[18, 24, 1], [20, 20, 1.5]]),
    }
    exported(symbol, shapes, example_inputs=example, opset=opset)
    dynamic = {"x": ("b", 8, "h", "w"), "moves": ("b", 16, "h", "w"), "info": ("b", 3)}
    exported(symbol, shapes, example_inputs=example, dynamic=dynamic, opset=opset)


# -- sampled and pooled ------------------------------------------------------------------------------------------------

IMAGE = RANDOM.normal(size=(2, 3, 8, 10))
SHAPES = {"x": (2, 3, 8, 10), "boxes": (12, 5)}
OPEN = {"x": ("b", 3, "h", "w"), "boxes": ("n", 5)}


def regions(upright: bool) -> np.ndarray:
    """Return boxes, some beyond the image; some that end before they begin, unless `upright`."""
    boxes = np.concatenate([RANDOM.randint(0, 2, (12, 1)), RANDOM.uniform(-4, 20, (12, 4))], 1)
    boxes[:, 3:] = boxes[:, 1:3] + RANDOM.uniform(-2, 12, (12, 2))
    if upright:
        boxes[:, 3:] = np.maximum(boxes[:, 3:], boxes[:, 1:3])
    return boxes


@pytest.mark.parametrize("opset", [13, 21, None])
def test_boxes_of_maxima(opset: Any) -> None:
    for scale in (1.0, 0.5):
        symbol = sym.ROIPooling(X, BOXES, pooled_size=(3, 4), spatial_scale=scale)
        example = {"x": IMAGE, "boxes": regions(False)}
        exported(symbol, SHAPES, example_inputs=example, opset=opset)
        exported(symbol, SHAPES, example_inputs=example, opset=opset, dynamic=OPEN)


@pytest.mark.parametrize("opset", [13, 16, None])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_boxes_of_means(ratio: int, opset: Any) -> None:
    boxes = regions(True)
    boxes[3, 0] = -1  # no box
    for aligned in (False, True):
        symbol = sym.contrib.ROIAlign(
            X, BOXES, pooled_size=(3, 4), spatial_scale=0.5, sample_ratio=ratio, aligned=aligned
        )
        if aligned and opset == 13:
            with pytest.raises(ExportError, match="aligned=True, which is there from opset 16 on"):
                exported(symbol, SHAPES, opset=opset)
            continue
        exported(symbol, SHAPES, example_inputs={"x": IMAGE, "boxes": boxes}, opset=opset)
        exported(symbol, SHAPES, example_inputs={"x": IMAGE, "boxes": boxes}, opset=opset, dynamic=OPEN)


@pytest.mark.parametrize("opset", [13, 16, 20, None])
def test_images_at_grids(opset: Any) -> None:
    grid = RANDOM.uniform(-1.5, 1.5, (2, 2, 5, 6))
    grid[0, :, 0, :3] = [[1, -1, 1e9], [1, -1, -1e9]]
    shapes = {"x": (2, 3, 8, 10), "grid": (2, 2, 5, 6)}
    example = {"x": IMAGE, "grid": grid}
    sampler = sym.BilinearSampler(X, GRID)
    exported(sampler, shapes, example_inputs=example, opset=opset)
    exported(sampler, shapes, example_inputs=example, opset=opset,
             dynamic={"x": ("b", "c", "h", "w"), "grid": ("b", 2, "k", "l")})  # fmt: skip
    narrow = {"x": (2, 3, 1, 10), "grid": (2, 2, 5, 6)}
    exported(sampler, narrow, example_inputs={"x": IMAGE[:, :, :1], "grid": grid}, opset=opset)
    transformer = sym.SpatialTransformer(X, GRID, target_shape=(4, 5), transform_type="affine", sampler_type="bilinear")
    exported(transformer, {"x": (2, 3, 8, 10), "grid": (2, 6)}, opset=opset)
    exported(transformer, {"x": (2, 3, 8, 10), "grid": (2, 6)}, opset=opset,
             dynamic={"x": ("b", 3, "h", "w"), "grid": ("b", 6)})  # fmt: skip


def test_grids() -> None:
    warped = sym.GridGenerator(X, transform_type="warp")
    exported(warped, {"x": (2, 2, 8, 10)}, dynamic={"x": ("b", 2, "h", "w")})
    exported(warped, {"x": (2, 2, 1, 10)})
    affine = sym.GridGenerator(X, transform_type="affine", target_shape=(3, 1))
    exported(affine, {"x": (2, 6)}, dynamic={"x": ("b", 6)})
