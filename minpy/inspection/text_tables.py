"""Text: tables in columns, numbers and sizes for reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["WIDTH", "amount", "shape_text", "size_text", "table", "wrapped"]

WIDTH = 100


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: int = 2) -> list[str]:
    """Return the lines of a table, at most `WIDTH` wide: the first column gives way.

    Examples
    --------
    >>> print(*table(['name', 'count'], [['one', '1'], ['eleven', '11']], right=[1], indent=0), sep=chr(10))
    name    count
    one         1
    eleven     11
    """
    every = [list(heads), *map(list, rows)]
    widths = [max(len(row[column]) for row in every) for column in range(len(heads))]
    room = WIDTH - indent - 2 * (len(heads) - 1) - sum(widths[1:])
    widths[0] = max(min(widths[0], room), 8)
    lines = []
    for row in every:
        cells = [shortened(text, width) for text, width in zip(row, widths, strict=True)]
        cells = [
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return lines


def shortened(text: str, width: int) -> str:
    """Return a text that is at most so wide; what is too much is taken out of its middle.

    Examples
    --------
    >>> shortened('resnetv10_stage1_batchnorm0_fwd', 20)
    'resnetv1…chnorm0_fwd'
    """
    if len(text) <= width:
        return text
    behind = (width - 1) * 3 // 5
    return f"{text[: width - 1 - behind]}…{text[len(text) - behind :]}"


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Return a text in lines of at most `WIDTH`, the first beginning with `first`, the others with `rest`."""
    import textwrap

    after = " " * len(first) if rest is None else rest
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    )


def amount(number: int | None) -> str:
    """Return a number with three or four digits and a unit.

    Examples
    --------
    >>> amount(0), amount(999), amount(118013952), amount(3866000000), amount(None)
    ('0', '999', '118.0 M', '3.866 G', '?')
    """
    if number is None:
        return "?"
    if number < 1000:
        return str(number)
    value, units = number / 1000, ["k", "M", "G", "T", "P"]
    while value >= 999.95 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.{max(0, 4 - len(str(int(value))))}f} {units[0]}"


def size_text(count: int | None) -> str:
    """Return a number of bytes, with a unit of 1024 of the last.

    Examples
    --------
    >>> size_text(512), size_text(3 * 1024 * 1024 // 2), size_text(None)
    ('512 B', '1.5 MiB', '?')
    """
    if count is None:
        return "?"
    if count < 1024:
        return f"{count} B"
    value, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while value >= 999.95 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f} {units[0]}"


def shape_text(shape: Any) -> str:
    """Return a shape as Python writes it, with `?` for what is not known.

    Examples
    --------
    >>> shape_text((1, -1, 3)), shape_text(None)
    ('(1, ?, 3)', '?')
    """
    if shape is None:
        return "?"
    lengths = ["?" if length < 0 else str(length) for length in shape]
    return f"({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"
