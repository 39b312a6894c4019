"""Boxes on raw arrays: overlaps, greedy suppression of what overlaps, and greedy matching of pairs by their scores.

Corners are (x1, y1, x2, y2). Boxes of which many pairs are compared are four arrays, one a coordinate, so that each is
contiguous. Pairs are computed block by block, in memory that stays in the processor's caches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["as_corners", "box_areas", "greedy_pairs", "kept_boxes", "pair_overlaps"]

# Boxes that are decided together, the most pairs that these may be, and pairs whose overlaps are computed at once.
_HEAD = 128
_HEAD_PAIRS = 1 << 18
_PAIRS = 1 << 15


def as_corners(boxes: Any, center: bool) -> list[Any]:
    """Return the corners of boxes (..., 4), one array a coordinate; `center` if they are (x, y, width, height)."""
    first, second, third, fourth = (boxes[..., index] for index in range(4))
    if not center:
        return [first, second, third, fourth]
    half_width, half_height = third * 0.5, fourth * 0.5
    return [first - half_width, second - half_height, first + half_width, second + half_height]


def box_areas(corners: Any, margin: float = 0) -> Any:
    """Return the areas of boxes; 0 where a side is negative. Sides are longer than differences by `margin`."""
    width, height = corners[2] - corners[0] + margin, corners[3] - corners[1] + margin
    return np.where((width < 0) | (height < 0), np.zeros((), width.dtype), width * height)


def pair_overlaps(first: Any, second: Any, first_area: Any, second_area: Any, margin: float = 0) -> Any:
    """Return intersection over union of boxes that broadcast, given as corners; 0 where the union is empty."""
    width = np.minimum(first[2], second[2])
    width -= np.maximum(first[0], second[0])
    height = np.minimum(first[3], second[3])
    height -= np.maximum(first[1], second[1])
    if margin:
        width += margin
        height += margin
    np.maximum(width, 0, out=width)
    np.maximum(height, 0, out=height)
    width *= height
    union = first_area + second_area
    union -= width
    return np.divide(width, union, out=np.zeros_like(width), where=union > 0)


# -- suppression -------------------------------------------------------------------------------------------------------


def kept_boxes(
    corners: Any,
    alive: np.ndarray,
    threshold: float,
    *,
    groups: np.ndarray | None = None,
    margin: float = 0,
    inclusive: bool = False,
) -> np.ndarray:
    """Return which boxes greedy non-maximum suppression keeps.

    Parameters
    ----------
    corners : sequence of four arrays
        Of shape (batch, n), best box first.
    alive : array of bool
        Of shape (batch, n): the others neither stay nor suppress.
    threshold : float
        A box goes that overlaps a better one that stays by more.
    groups : array, optional
        Of shape (batch, n): only boxes of equal numbers suppress each other.
    margin : float
        How much longer sides are than differences of coordinates: 1 where these number pixels.
    inclusive : bool
        Whether a box goes at the threshold, too.

    Returns
    -------
    array of bool
        Of shape (batch, n).

    Notes
    -----
    The best boxes left are decided together. Which of them stay follows from `stay = alive and not (stay @ overlaps)`
    by repetition from above: each pass decides one more link of the longest chain of overlaps. Then those that stay
    are held against the rest, which is closed up, so that what is suppressed costs nothing more.
    """
    keep = np.zeros(alive.shape, bool)
    if not alive.any():
        return keep
    if groups is not None and (split := _rows_by_group(groups, alive)) is not None:
        rows, places, columns = split
        is_filled = np.zeros((rows.max() + 1, columns.max() + 1), bool)
        is_filled[rows, columns] = True
        group_corners = [np.zeros(is_filled.shape, corner.dtype) for corner in corners]
        for part, corner in zip(group_corners, corners, strict=True):
            part[rows, columns] = corner[places]
        keep[places] = kept_boxes(group_corners, is_filled, threshold, margin=margin, inclusive=inclusive)[
            rows, columns
        ]
        return keep
    dtype = corners[0].dtype
    pending = _Candidates(
        [*corners, box_areas(corners, margin)], groups, np.arange(alive.shape[1])[None].repeat(len(alive), 0)
    )
    pending.compact(alive)
    rows = np.arange(len(alive))[:, None]
    limit = dtype.type(threshold)
    most = max(8, min(_HEAD, int((_HEAD_PAIRS / len(alive)) ** 0.5)))
    while pending.alive.shape[1]:
        head = pending.part(slice(None, most))
        overlapping = _overlap_exceeds(head, head, limit, margin, inclusive)
        length = overlapping.shape[1]
        overlapping &= np.tri(length, length, -1, bool).T
        is_kept = head.alive
        while True:
            updated = head.alive & ~(is_kept[:, :, None] & overlapping).any(1)
            if (updated == is_kept).all():
                break
            is_kept = updated
        keep[np.broadcast_to(rows, is_kept.shape)[is_kept], head.positions[is_kept]] = True
        head.compact(is_kept)
        pending = pending.part(slice(most, None))
        pending.compact(pending.alive & ~_suppressed(head, pending, limit, margin, inclusive))
    return keep


def _rows_by_group(groups: np.ndarray, alive: np.ndarray) -> tuple[Any, Any, Any] | None:
    """Return boxes as rows, one for each group of each item of a batch, if that leaves fewer pairs; else None.

    The result is (row of each box, its place in the batch, its place in the row), for boxes that are alive, in order.
    """
    numbers, kinds = np.unique(groups[alive], return_inverse=True)
    batch, column = np.nonzero(alive)
    key = batch * len(numbers) + kinds.reshape(-1)
    order = np.argsort(key, kind="stable")
    used, first, counts = np.unique(key[order], return_index=True, return_counts=True)
    if len(used) * counts.max() ** 2 > len(alive) * alive.sum(1).max() ** 2 / 2:
        return None
    rows = np.repeat(np.arange(len(used)), counts)
    return rows, (batch[order], column[order]), np.arange(len(order)) - first[rows]


class _Candidates:
    """Boxes that are not decided yet: coordinates and areas, groups, positions, and which are no padding."""

    def __init__(self, values: list[Any], groups: Any, positions: Any, alive: Any = None) -> None:
        self.values, self.groups, self.positions, self.alive = values, groups, positions, alive

    def part(self, columns: slice) -> _Candidates:
        """Return some of them, all of a batch alike."""
        return self._select(lambda array: array[:, columns])

    def compact(self, alive: np.ndarray) -> None:
        """Drop boxes that are not alive; shorter rows are padded at their ends."""
        self.alive = alive
        most = int(alive.sum(1).max())
        if most == alive.shape[1]:
            return
        if len(alive) == 1:
            columns = np.flatnonzero(alive[0])
            closed = self._select(lambda array: array[:, columns])
        else:
            order = np.argsort(~alive, axis=1, kind="stable")[:, :most]
            closed = self._select(lambda array: np.take_along_axis(array, order, 1))
        self.__dict__.update(closed.__dict__)

    def _select(self, pick: Any) -> _Candidates:
        groups = None if self.groups is None else pick(self.groups)
        return _Candidates([pick(value) for value in self.values], groups, pick(self.positions), pick(self.alive))


def _overlap_exceeds(
    chosen: _Candidates, candidates: _Candidates, limit: Any, margin: float, inclusive: bool
) -> np.ndarray:
    """Return, of shape (batch, chosen, candidates), which pairs overlap by more than the limit."""
    first = [value[:, :, None] for value in chosen.values]
    second = [value[:, None, :] for value in candidates.values]
    overlaps = pair_overlaps(first, second, first[4], second[4], margin)
    exceeding: np.ndarray = overlaps >= limit if inclusive else overlaps > limit
    if chosen.groups is not None:
        exceeding &= chosen.groups[:, :, None] == candidates.groups[:, None, :]
    return exceeding


def _suppressed(head: _Candidates, candidates: _Candidates, limit: Any, margin: float, inclusive: bool) -> np.ndarray:
    """Return which candidates overlap a box of the head."""
    suppressed = np.zeros(candidates.alive.shape, bool)
    batch, count = candidates.alive.shape
    if not count:
        return suppressed
    step = max(1, _PAIRS // (batch * count))
    for start in range(0, head.alive.shape[1], step):
        chosen = head.part(slice(start, start + step))
        suppressed |= (_overlap_exceeds(chosen, candidates, limit, margin, inclusive) & chosen.alive[:, :, None]).any(1)
    return suppressed


# -- matching ----------------------------------------------------------------------------------------------------------


def greedy_pairs(
    scores: Any, best: tuple[np.ndarray, np.ndarray], columns: int, least: float, *, most: int = -1, rows_first: bool
) -> np.ndarray:
    """Match rows with columns greedily: of the pairs whose row and column are both free, the best goes first.

    Parameters
    ----------
    scores : callable
        `scores(batch, rows)` returns the scores of these rows, of shape (len(rows), columns).
    best : (array, array)
        Of shape (batch, rows): the best score of each row, -inf for rows that take no part; and the first column that
        has it.
    columns : int
    least : float
        Pairs with no larger score are not matched.
    most : int
        How many pairs are matched; all that can be if it is not positive.
    rows_first : bool
        Of equal scores, whether the pair whose row comes first goes first, or the one whose column does.

    Returns
    -------
    array of int
        Of shape (batch, rows): the column of each row, -1 for none.

    Notes
    -----
    Row by row, in order of their best scores, each takes its best column: as long as no column is wanted twice, nobody
    else could have had it. Then the rows whose best column has gone look for another, and it starts again.
    """
    value, column = (array.copy() for array in best)
    batch, count = value.shape
    matched = np.full((batch, count), -1)
    column_taken = np.zeros((batch, columns), bool)
    items, rows = np.arange(batch)[:, None], np.broadcast_to(np.arange(count), (batch, count))
    value[~(value > least)] = -np.inf
    while (value > -np.inf).any():
        order = np.lexsort((rows, -value) if rows_first else (rows, column, -value))
        is_match = np.take_along_axis(value, order, 1) > -np.inf
        choice = np.where(is_match, np.take_along_axis(column, order, 1), -1 - rows)
        is_match &= ~np.logical_or.accumulate(_is_repeat(choice), axis=1)
        if most > 0:
            is_match &= np.cumsum(is_match, axis=1) + (matched >= 0).sum(1, keepdims=True) <= most
            value[~is_match.any(1)] = -np.inf
        where = np.broadcast_to(items, is_match.shape)[is_match], order[is_match]
        matched[where] = choice[is_match]
        column_taken[where[0], choice[is_match]] = True
        value[where] = -np.inf
        stale = np.nonzero((value > -np.inf) & column_taken[items, column])
        if len(stale[0]):
            remaining = np.where(column_taken[stale[0]], -np.inf, scores(*stale))
            column[stale] = remaining.argmax(1)
            value[stale] = np.where(remaining.max(1) > least, remaining.max(1), -np.inf)
    return matched


def _is_repeat(numbers: np.ndarray) -> np.ndarray:
    """Return which numbers of a row occurred before in it."""
    order = np.argsort(numbers, axis=1, kind="stable")
    ordered = np.take_along_axis(numbers, order, 1)
    result = np.zeros(numbers.shape, bool)
    np.put_along_axis(result, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], 1)
    return result
