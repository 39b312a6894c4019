"""Blocks of matrices copied to the scratch memory, in the order in which tiles read them."""

from __future__ import annotations

from minpy.backends.native.convolutions.emitter import Emitter, Integer

__all__ = ["pack_columns", "pack_rows"]


def pack_rows(code: Emitter, source: str, down: int, target: str, leading: int, rows: Integer, columns: int) -> None:
    """Copy some rows, `down` elements apart, to where they lie `leading` apart."""
    with code.loop(0, rows) as row:
        place = code.at(target, code.multiply(row.index, leading))
        data = code.at(source, code.multiply(row.index, down))
        if columns >= code.lanes:
            code.copy(place, data, columns)
        else:
            for column in range(columns):
                code.store_element(code.load_element(data, column), place, column)


def pack_columns(
    code: Emitter, source: str, strides: tuple[int, int], target: str, distance: int, rows: Integer, least: int,
    columns: int, begin: Integer, end: Integer,
) -> None:  # fmt: skip
    """Copy vectors of columns as (vectors, rows, lanes), `distance` elements from one vector to the next.

    Parameters
    ----------
    code : Emitter
    source : str
        The first of the rows, from the first column on.
    strides : (int, int)
        From row to row, and from column to column.
    target : str
    distance : int
    rows, least : int or str, int
        How many rows are copied, and how many that is at least.
    columns : int
        How many there are: the last vector may overlap the one before.
    begin, end : int or str
        Which vectors are copied.
    """
    (down, right), width = strides, code.lanes
    with code.loop(begin, end) as vector:
        column = code.smaller(code.multiply(vector.index, width), columns - width)
        data = code.at(source, code.multiply(column, right))
        place = code.at(target, code.multiply(code.subtract(vector.index, begin), distance))
        if down == 1 and least >= width > 1:
            with code.loop(0, code.quotient(code.add(rows, width - 1), width)) as block:
                first = code.smaller(code.multiply(block.index, width), code.subtract(rows, width))
                for number, value in enumerate(_transposed(code, code.at(data, first), right)):
                    code.store(value, place, code.multiply(code.add(first, number), width))
        else:
            with code.loop(0, rows) as row:
                here = code.at(data, code.multiply(row.index, down))
                value = code.load(here) if right == 1 else code.gathered(here, [lane * right for lane in range(width)])
                code.store(value, place, code.multiply(row.index, width))


def _transposed(code: Emitter, source: str, leading: int) -> list[str]:
    """Return the columns of a square of contiguous rows: what is far from the diagonal is exchanged, step by step."""
    width, distance = code.lanes, 1
    vectors = [code.load(source, row * leading) for row in range(width)]
    while distance < width:
        low = [lane if not lane & distance else width + lane - distance for lane in range(width)]
        high = [lane + distance if not lane & distance else width + lane for lane in range(width)]
        for row in range(width):
            if not row & distance:
                pair = vectors[row], vectors[row + distance]
                vectors[row], vectors[row + distance] = code.shuffle(*pair, low), code.shuffle(*pair, high)
        distance *= 2
    return vectors
