"""Rows of `minpy.ops.contrib`'s detection: boxes, suppression, matching, anchors, targets, detections, proposals.

The references go one box after the other, as the definitions of these algorithms are written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

CALLED = {
    "_contrib_box_nms*": "chooses by values which boxes stay",
    "_contrib_box_encode": "refuses matches that are out of range",
    "_contrib_bipartite_matching*": "chooses by values which pairs are matched",
    "_contrib_MultiBoxTarget*": "chooses by values which anchors are matched",
    "_contrib_MultiBoxDetection*": "chooses by values which boxes stay",
    "_contrib_MultiProposal": "chooses by values which boxes stay",
    "_contrib_Proposal": "chooses by values which boxes stay",
}
KINDS_OF_STEPS = {
    "elementwise view": "_contrib_box_iou",
    "elementwise view call": "_contrib_box_decode",
    "": "_contrib_MultiBoxPrior",
}


def _iou(a: Any, b: Any, margin: float = 0) -> float:
    width = max(min(a[2], b[2]) - max(a[0], b[0]) + margin, 0)
    height = max(min(a[3], b[3]) - max(a[1], b[1]) + margin, 0)
    areas = [
        0 if x[2] - x[0] + margin < 0 or x[3] - x[1] + margin < 0 else (x[2] - x[0] + margin) * (x[3] - x[1] + margin)
        for x in (a, b)
    ]
    union = sum(areas) - width * height
    return width * height / union if union > 0 else 0.0


def _corners(box: Any) -> Any:
    return np.array([box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2])


def _box_nms(x: np.ndarray, overlap_thresh: float = 0.5, **options: Any) -> np.ndarray:
    if x.ndim > 2:
        return np.stack([_box_nms(item, overlap_thresh, **options) for item in x])
    topk, place, kind = options.get("topk", -1), options.get("coord_start", 2), options.get("id_index", -1)
    is_center = options.get("in_format") == "center"
    rows = [row for row in x if row[options.get("score_index", 1)] > options.get("valid_thresh", 0)]
    if kind >= 0:
        rows = [row for row in rows if row[kind] != options.get("background_id", -1)]
    rows = sorted(rows, key=lambda row: -row[options.get("score_index", 1)])
    kept: list[Any] = []
    for row in rows[: topk if topk > 0 else None]:
        box = row[place : place + 4]
        rivals = [one for one in kept if kind < 0 or options.get("force_suppress") or one[0][kind] == row[kind]]
        box = _corners(box) if is_center else box
        if all(_iou(other, box) <= overlap_thresh for _, other in rivals):
            kept.append((row, box))
    result = np.full_like(x, -1)
    for position, (row, box) in enumerate(kept):
        result[position] = row
        if is_center and options.get("out_format") != "center":
            result[position, place : place + 4] = box
        if not is_center and options.get("out_format") == "center":
            result[position, place : place + 4] = [*(box[:2] + box[2:]) / 2, *(box[2:] - box[:2])]
    return result


def _box_iou(a: np.ndarray, b: np.ndarray, format: str = "corner") -> np.ndarray:
    result = np.zeros(a.shape[:-1] + b.shape[:-1])
    for i in np.ndindex(*a.shape[:-1]):
        for j in np.ndindex(*b.shape[:-1]):
            result[i + j] = _iou(*((a[i], b[j]) if format == "corner" else (_corners(a[i]), _corners(b[j]))))
    return result


def _greedy(scores: np.ndarray, least: float, most: int = -1) -> list[tuple[int, int]]:
    """Return pairs of rows and columns, the best first."""
    order = np.argsort(-scores.ravel(), kind="stable")
    pairs: list[tuple[int, int]] = []
    for row, column in zip(*np.unravel_index(order, scores.shape), strict=True):
        if scores[row, column] > least and not any(row == r or column == c for r, c in pairs):
            pairs.append((row, column))
    return pairs[: most if most > 0 else None]


def _matching(x: np.ndarray, threshold: float, is_ascend: bool = False, topk: int = -1) -> tuple[Any, Any]:
    if x.ndim > 2:
        both = [_matching(item, threshold, is_ascend, topk) for item in x]
        return np.stack([rows for rows, _ in both]), np.stack([columns for _, columns in both])
    rows, columns = np.full(x.shape[0], -1.0), np.full(x.shape[1], -1.0)
    for row, column in _greedy(-x if is_ascend else x, -threshold if is_ascend else threshold, topk):
        rows[row], columns[column] = column, row
    return rows, columns


def _target(
    anchors: np.ndarray, labels: np.ndarray, scores: np.ndarray, overlap_threshold: float = 0.5, **options: Any
) -> tuple[Any, ...]:
    ratio, variances = options.get("negative_mining_ratio", -1), options.get("variances", (0.1, 0.1, 0.2, 0.2))
    count = anchors.shape[1]
    places, masks = np.zeros((len(labels), count, 4)), np.zeros((len(labels), count, 4))
    classes = np.full((len(labels), count), -1.0)
    for item, (label, score) in enumerate(zip(labels, scores, strict=True)):
        objects = [row for row in label if row[0] != -1]
        if not objects:
            continue
        overlaps = np.array([[_iou(anchor, one[1:]) for one in objects] for anchor in anchors[0]])
        match = dict(_greedy(overlaps, 1e-6))
        for position in range(count):
            if position not in match and overlap_threshold > 0 and overlaps[position].max() > overlap_threshold:
                match[position] = overlaps[position].argmax()
        free = [position for position in range(count) if position not in match]
        if ratio > 0:
            hard = [at for at in free if overlaps[at].max() < options.get("negative_mining_thresh", 0.5)]
            hard.sort(key=lambda at: np.exp(score[0, at]) / np.exp(score[:, at]).sum())
            free = hard[: int(len(match) * ratio)]
        classes[item, free] = 0
        for position, which in match.items():
            one, own = objects[which][1:], anchors[0, position]
            size, other = own[2:] - own[:2], one[2:] - one[:2]
            move = [*((one[:2] + one[2:] - own[:2] - own[2:]) / 2 / size), *np.log(other / size)]
            places[item, position] = np.array(move) / variances
            masks[item, position] = 1
            classes[item, position] = objects[which][0] + 1
    return places.reshape(len(labels), -1), masks.reshape(len(labels), -1), classes


def _detection(scores: np.ndarray, moves: np.ndarray, anchors: np.ndarray, **options: Any) -> np.ndarray:
    result = np.full((len(scores), anchors.shape[1], 6), -1.0)
    for item, score in enumerate(scores):
        rows = []
        for position, anchor in enumerate(anchors[0]):
            size, center = anchor[2:] - anchor[:2], (anchor[:2] + anchor[2:]) / 2
            move = moves[item, 4 * position : 4 * position + 4] * (0.1, 0.1, 0.2, 0.2)
            center, half = center + move[:2] * size, np.exp(move[2:]) * size / 2
            box = np.clip([*(center - half), *(center + half)], 0, 1)
            if score[1:, position].max() >= options.get("threshold", 0.01):
                rows.append([score[1:, position].argmax(), score[1:, position].max(), *box])
        rows.sort(key=lambda row: -row[1])
        for position, row in enumerate(rows):
            rivals = [one for one in rows[:position] if one[0] >= 0]
            rivals = [one for one in rivals if options.get("force_suppress") or one[0] == row[0]]
            if any(_iou(one[2:], row[2:]) >= options.get("nms_threshold", 0.5) for one in rivals):
                row[0] = -1
        if rows:
            result[item, : len(rows)] = rows
    return result


def _proposals(scores: np.ndarray, moves: np.ndarray, info: np.ndarray, **options: Any) -> tuple[Any, Any]:
    boxes, kept_scores = [], []
    stride, after = 16, options["rpn_post_nms_top_n"]
    for item in range(len(scores)):
        found = []
        for y, x in np.ndindex(*scores.shape[2:]):
            for a, scale in enumerate(options["scales"]):
                side, center = stride * scale, (stride - 1) / 2 + stride * np.array([x, y])
                dx, dy, dw, dh = moves[item, 4 * a : 4 * a + 4, y, x]
                middle, half = center + side * np.array([dx, dy]), (np.exp([dw, dh]) * side - 1) / 2
                limit = [info[item, 1] - 1, info[item, 0] - 1] * 2
                found.append((scores[item, len(options["scales"]) + a, y, x],
                              np.clip([*(middle - half), *(middle + half)], 0, limit)))  # fmt: skip
        found.sort(key=lambda one: -one[0])
        kept: list[Any] = []
        for score, box in found:
            if all(_iou(box, other, 1) <= options["threshold"] for _, other in kept):
                kept.append((score, box))
        for position in range(after):
            score, box = kept[:after][position % min(len(kept), after)]
            boxes.append([item, *box])
            kept_scores.append([score])
    return np.array(boxes), np.array(kept_scores)


def _encode(samples: Any, matches: Any, anchors: Any, refs: Any, means: Any, stds: Any) -> tuple[Any, Any]:
    targets, masks = np.zeros(anchors.shape), np.zeros(anchors.shape)
    for item, position in np.ndindex(*samples.shape):
        if samples[item, position] > 0.5:
            own, other = anchors[item, position], refs[item, int(matches[item, position])]
            size, target = own[2:] - own[:2], other[2:] - other[:2]
            move = [*((other[:2] + other[2:] - own[:2] - own[2:]) / 2 / size), *np.log(target / size)]
            targets[item, position], masks[item, position] = (move - means) / stds, 1
    return targets, masks


def _decode(x: np.ndarray, anchors: np.ndarray, clip: float = -1, format: str = "center", **stds: float) -> np.ndarray:
    result = np.zeros(x.shape)
    for item, position in np.ndindex(*x.shape[:2]):
        own = anchors[0, position]
        center, size = (own[:2], own[2:]) if format == "center" else ((own[:2] + own[2:]) / 2, own[2:] - own[:2])
        move = x[item, position] * [stds.get(f"std{index}", 1) for index in range(4)]
        half = np.exp(np.minimum(move[2:], clip if clip > 0 else np.inf)) * size / 2
        result[item, position] = [*(center + move[:2] * size - half), *(center + move[:2] * size + half)]
    return result


def _prior(x: np.ndarray, sizes: Any = (1,), ratios: Any = (1,), clip: bool = False) -> np.ndarray:
    height, width = x.shape[2:]
    boxes = []
    for row, column in np.ndindex(height, width):
        for size, ratio in [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]:
            center = np.array([(column + 0.5) / width, (row + 0.5) / height])
            half = np.array([size * height / width * np.sqrt(ratio), size / np.sqrt(ratio)]) / 2
            boxes.append([*(center - half), *(center + half)])
    return np.clip([boxes], 0, 1) if clip else np.array([boxes])


def _boxes(*shape: int, seed: int = 0) -> np.ndarray:
    random = np.random.RandomState(seed)
    center, size = random.uniform(0.2, 0.8, (*shape, 2)), random.uniform(0.1, 0.5, (*shape, 2))
    return np.concatenate([center - size / 2, center + size / 2], -1)


def _scored(*shape: int, seed: int = 0) -> Spec:
    random = np.random.RandomState(seed)
    scores = 0.05 + 0.9 * random.permutation(int(np.prod(shape))).reshape(*shape, 1) / np.prod(shape)
    kinds = random.randint(0, 2, (*shape, 1))
    return Spec((*shape, 6), values=np.concatenate([kinds, scores, _boxes(*shape, seed=seed + 1)], -1))


_ZERO = "its gradient is zero"
_LABELS = np.concatenate([np.random.RandomState(5).randint(0, 3, (2, 3, 1)), _boxes(2, 3, seed=6)], -1)
_LABELS[0, 2:] = -1
_ANCHORS = Spec((1, 12, 4), values=_boxes(1, 12, seed=7))
_PROBABILITIES = Spec((2, 3, 12), values=np.random.RandomState(8).permutation(72).reshape(2, 3, 12) / 72)
_REGIONS = (
    real(2, 4, 3, 2, low=0, high=1, distinct=True),
    real(2, 8, 3, 2, low=-0.3, high=0.3),
    Spec((2, 3), values=[[48, 32, 1], [48, 32, 1]]),
)
_REGION_OPTIONS = {
    "scales": (1, 2),
    "ratios": (1,),
    "threshold": 0.4,
    "rpn_min_size": 0,
    "rpn_post_nms_top_n": 7,
    "output_score": True,
}

ROWS = (
    Row("_contrib_box_nms", _scored(7), {"overlap_thresh": 0.2}, _box_nms),
    Row("_contrib_box_nms", _scored(2, 2, 5), {"overlap_thresh": 0.1, "id_index": 0}, _box_nms, label="classes"),
    Row(
        "_contrib_box_nms",
        _scored(2, 6),
        {"overlap_thresh": 0.1, "id_index": 0, "force_suppress": True, "background_id": 1, "out_format": "center"},
        _box_nms,
        label="to_center",
    ),
    Row(
        "_contrib_box_nms",
        _scored(2, 6),
        {"overlap_thresh": 0.1, "in_format": "center", "topk": 4, "valid_thresh": 0.2},
        _box_nms,
        label="to_corner",
    ),
    Row(
        "_contrib_box_iou",
        (Spec((2, 3, 4), values=_boxes(2, 3, seed=1)), Spec((4, 4), values=_boxes(4, seed=2))),
        {},
        _box_iou,
        order=0,
        reason=_ZERO,
    ),
    Row(
        "_contrib_box_iou",
        (Spec((3, 4), values=_boxes(3, seed=1)), Spec((2, 2, 4), values=_boxes(2, 2, seed=2))),
        {"format": "center"},
        _box_iou,
        order=0,
        reason=_ZERO,
        label="center",
    ),
    Row(
        "_contrib_bipartite_matching",
        real(2, 3, 5, low=0, high=1, distinct=True),
        {"threshold": 0.1},
        _matching,
        order=0,
        reason="integer answer",
    ),
    Row(
        "_contrib_bipartite_matching",
        real(5, 3, low=0, high=1, distinct=True),
        {"threshold": 0.9, "is_ascend": True, "topk": 2},
        _matching,
        order=0,
        reason="integer answer",
        label="ascending",
    ),
    Row(
        "_contrib_box_encode",
        (
            Spec((2, 3), values=[[1, 0, 1], [-1, 1, 0.4]]),
            Spec((2, 3), values=[[1, 7, 0], [-1, 1, 1]]),
            Spec((2, 3, 4), values=_boxes(2, 3, seed=3)),
            Spec((2, 2, 4), values=_boxes(2, 2, seed=4)),
            real(4, low=0, high=0.2),
            real(4, low=0.5, high=1),
        ),
        {},
        _encode,
        order=0,
        reason=_ZERO,
    ),
    Row("_contrib_box_decode", (real(2, 3, 4), real(1, 3, 4, low=0.1, high=1)), {}, _decode, order=0, reason=_ZERO),
    Row(
        "_contrib_box_decode",
        (real(2, 3, 4), Spec((1, 3, 4), values=_boxes(1, 3, seed=9))),
        {"format": "corner", "clip": 0.3, "std0": 0.5, "std3": 2.0},
        _decode,
        order=0,
        reason=_ZERO,
        label="corner",
    ),
    Row("_contrib_MultiBoxPrior", real(1, 2, 2, 3), {}, _prior, order=0, reason=_ZERO),
    Row(
        "_contrib_MultiBoxPrior",
        real(1, 2, 2, 3),
        {"sizes": (0.3, 0.6), "ratios": (2.0, 1.0, 0.5), "clip": True},
        _prior,
        order=0,
        reason=_ZERO,
        label="shapes",
    ),
    Row(
        "_contrib_MultiBoxTarget",
        (_ANCHORS, Spec((2, 3, 5), values=_LABELS), real(2, 4, 12)),
        {"overlap_threshold": 0.2},
        _target,
        order=0,
        reason=_ZERO,
    ),
    Row(
        "_contrib_MultiBoxTarget",
        (_ANCHORS, Spec((2, 3, 5), values=_LABELS), real(2, 4, 12)),
        {"negative_mining_ratio": 1.5, "negative_mining_thresh": 0.3, "overlap_threshold": 0.0},
        _target,
        order=0,
        reason=_ZERO,
        label="mining",
    ),
    Row(
        "_contrib_MultiBoxDetection",
        (_PROBABILITIES, real(2, 48, low=-1, high=1), _ANCHORS),
        {"nms_threshold": 0.3, "threshold": 0.4},
        _detection,
        order=0,
        reason=_ZERO,
    ),
    Row(
        "_contrib_MultiBoxDetection",
        (_PROBABILITIES, real(2, 48, low=-1, high=1), _ANCHORS),
        {"nms_threshold": 0.2, "force_suppress": True},
        _detection,
        order=0,
        reason=_ZERO,
        label="forced",
    ),
    Row(
        "_contrib_MultiProposal",
        _REGIONS,
        _REGION_OPTIONS,
        lambda *x, **options: _proposals(*x, **options),
        order=0,
        reason=_ZERO,
    ),
    Row(
        "_contrib_Proposal",
        tuple(
            Spec(
                (1, *spec.shape[1:]),
                spec.low,
                spec.high,
                distinct=spec.distinct,
                values=spec.values and spec.values[:1],
            )
            for spec in _REGIONS
        ),
        _REGION_OPTIONS,
        lambda *x, **options: _proposals(*x, **options),
        order=0,
        reason=_ZERO,
    ),
)
