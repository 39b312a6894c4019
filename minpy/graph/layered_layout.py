"""Where the boxes of a picture of a graph go: in rows, each above all that it reads, with short lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Layout", "laid_out"]

_GAP, _RISE = 28.0, 46.0  # between the boxes of a row, and between rows
_SWEEPS = 6

Point = tuple[float, float]


class Layout(NamedTuple):
    """Where things are; y grows downwards."""

    centers: list[Point]  # of the boxes
    routes: list[list[Point]]  # of the lines, from the top of one box to the bottom of another
    width: float  # of all of it, which begins at (0, 0); so is the height
    height: float


def laid_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Return where boxes and lines go.

    `sizes`: width and height of each box, in an order in which each box is after those that it reads. `edges`: (what is
    read, what reads it).

    Examples
    --------
    >>> layout = laid_out([(40, 20), (40, 20)], [(0, 1)])
    >>> layout.centers, layout.width, layout.height
    ([(20.0, 76.0), (20.0, 10.0)], 40.0, 86.0)
    """
    levels = _levels(len(sizes), edges)
    widths = [width for width, _ in sizes]
    chains: list[list[int]] = []  # of each line: its box, places that it goes through, its other box
    rows: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for box, level in enumerate(levels):
        rows[level].append(box)
    below: list[list[int]] = [[] for _ in sizes]
    above: list[list[int]] = [[] for _ in sizes]
    for source, target in edges:
        chain = [source]
        for level in range(levels[source] + 1, levels[target]):
            chain.append(len(widths))
            rows[level].append(len(widths))
            widths.append(0.0)
            below.append([])
            above.append([])
        chain.append(target)
        chains.append(chain)
        for upper, lower in pairwise(chain):
            above[upper].append(lower)
            below[lower].append(upper)
    across = _across(rows, widths, below, above)
    heights = [max((sizes[box][1] for box in row if box < len(sizes)), default=0.0) for row in rows]
    middles, bottom = [0.0] * len(rows), 0.0
    for level in reversed(range(len(rows))):
        middles[level] = bottom + heights[level] / 2
        bottom += heights[level] + _RISE
    height = max(bottom - _RISE, 0.0)
    at = {item: (across[item], middles[level]) for level, row in enumerate(rows) for item in row}
    routes = []
    for source, *between, target in chains:
        (start, high), (end, low) = at[source], at[target]
        top, foot = (start, high - sizes[source][1] / 2), (end, low + sizes[target][1] / 2)
        routes.append([top, *(at[item] for item in between), foot])
    right = max((across[item] + width / 2 for item, width in enumerate(widths)), default=0.0)
    return Layout([at[box] for box in range(len(sizes))], routes, right, height)


def _levels(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the row of each box, from the bottom; what reads nothing is just below what reads it."""
    levels, reads, read_by = [0] * count, [False] * count, [count] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        levels[target] = max(levels[target], levels[source] + 1)
        reads[target] = True
    for source, target in edges:
        if not reads[source]:
            read_by[source] = min(read_by[source], levels[target])
    return [levels[box] if reads[box] or read_by[box] == count else read_by[box] - 1 for box in range(count)]


def _across(
    rows: list[list[int]], widths: Sequence[float], below: Sequence[list[int]], above: Sequence[list[int]]
) -> list[float]:
    """Order each row by what its items are joined with, and return the middles of all items."""
    at = [0.0] * len(widths)

    def place(row: list[int], middles: dict[int, float]) -> None:
        row.sort(key=lambda item: middles[item])
        edge = float("-inf")
        for item in row:
            at[item] = max(middles[item], edge + widths[item] / 2)
            edge = at[item] + widths[item] / 2 + _GAP
        shift = sum(middles[item] - at[item] for item in row) / len(row)
        for item in row:
            at[item] += shift

    for row in rows:
        place(row, {item: place_in_row * _GAP for place_in_row, item in enumerate(row)})
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        joined = below if upwards else above
        for row in rows if upwards else reversed(rows):
            place(
                row,
                {
                    item: sum(at[neighbour] for neighbour in joined[item]) / len(joined[item])
                    if joined[item]
                    else at[item]
                    for item in row
                },
            )
    left = min((middle - width / 2 for middle, width in zip(at, widths, strict=True)), default=0.0)
    return [middle - left for middle in at]
