"""Blocks of matrices copied to the scratch memory, in the order in which tiles read them."""

from __future__ import annotations

from minpy.backends.native.convolutions.emitter import Emitter, Integer

__all__ = ["pack_columns", "pack_rows"]

# Bytes of the parts of a register that shuffles treat alike.
CHUNK = 16


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
    code: Emitter, source: str, strides: tuple[int, int], target: str, apart: int, rows: Integer, least: int,
    columns: int, begin: Integer, end: Integer,
) -> None:  # fmt: skip
    """Copy rows of vectors of columns: (vectors, rows, lanes).

    Parameters
    ----------
    code : Emitter
    source : str
        The first of the rows, from the first column on.
    strides : (int, int)
        From row to row, and from column to column.
    target : str
    apart : int
        How far apart two vectors of a row are to lie.
    rows, least : int or str, int
        How many rows are copied, and how many that is at least.
    columns : int
        How many there are: the last vector may overlap the one before.
    begin, end : int or str
        Which vectors are copied.
    """
    down, right = strides
    width = code.lanes
    some = min(CHUNK // code.bytes, width)
    with code.loop(begin, end) as vector:
        column = code.smaller(code.multiply(vector.index, width), columns - width)
        data = code.at(source, code.multiply(column, right))
        place = code.at(target, code.multiply(code.subtract(vector.index, begin), apart))
        if right == 1:
            with code.loop(0, rows) as row:
                value = code.load(data, code.multiply(row.index, down))
                code.store(value, place, code.multiply(row.index, width))
        elif down == 1 and least >= some > 1:
            with code.loop(0, code.quotient(code.add(rows, some - 1), some)) as block:
                at = code.smaller(code.multiply(block.index, some), code.subtract(rows, some))
                for number, value in enumerate(_columns(code, code.at(data, at), right, some)):
                    code.store(value, place, code.add(code.multiply(at, width), number * width))
        else:
            with code.loop(0, rows) as row, code.loop(0, width) as lane:
                value = code.load_element(
                    data, code.add(code.multiply(row.index, down), code.multiply(lane.index, right))
                )
                code.store_element(value, place, code.add(code.multiply(row.index, width), lane.index))


def _columns(code: Emitter, source: str, apart: int, some: int) -> list[str]:
    """Return the first few columns of a matrix of contiguous rows as vectors, each with an element of every row.

    Register number i holds the beginnings of rows i, some + i, 2 * some + i and so on, so that what is left are
    transposes of small squares, all squares of a register at once.
    """
    registers = []
    for number in range(some):
        kind = f"<{some} x {code.element}>"
        places = [code.at(source, row * apart) for row in range(number, code.lanes, some)]
        registers.append(_joined(code, [code.put(f"load {kind}, ptr {one}, align {code.bytes}") for one in places]))
    distance = 1
    while distance < some:
        registers = _exchanged(code, registers, distance)
        distance *= 2
    return registers


def _joined(code: Emitter, parts: list[str]) -> str:
    """Return short vectors as one."""
    while len(parts) > 1:
        size = code.lanes // len(parts)
        kind, places = f"<{size} x {code.element}>", ", ".join(f"i32 {place}" for place in range(2 * size))
        parts = [
            code.put(f"shufflevector {kind} {one}, {kind} {other}, <{2 * size} x i32> <{places}>")
            for one, other in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _exchanged(code: Emitter, registers: list[str], distance: int) -> list[str]:
    """Return registers after a step of the transposes: what is so far from the diagonal is exchanged."""
    found, width = list(registers), code.lanes
    low = [lane if not lane & distance else width + lane - distance for lane in range(width)]
    high = [lane + distance if not lane & distance else width + lane for lane in range(width)]
    for number in range(len(registers)):
        if not number & distance:
            one, other = registers[number], registers[number + distance]
            found[number], found[number + distance] = code.shuffle(one, other, low), code.shuffle(one, other, high)
    return found
