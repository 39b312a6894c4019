"""What is wrong with the arrays of a file, as one table: names that are missing or extra, shapes and dtypes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.core.errors import MXNetError

__all__ = ["table_of"]

_MOST_SHOWN = 40


def table_of(
    parameters: Mapping[str, Any],
    arrays: Mapping[str, Any],
    missing: Sequence[str],
    extra: Sequence[str],
    misfits: Mapping[str, MXNetError],
) -> str:
    """Return what follows the message about one thing where several are wrong: all of them."""
    kinds = ((missing, "missing"), (extra, "superfluous"), (misfits, "of another shape, dtype or device"))
    counts = [f"{len(names)} {word}" for names, word in kinds if names]
    rows = [(name, "missing", _kind_of(parameters[name]), _likely(name, extra)) for name in missing]
    rows += [(name, _kind_of(arrays[name]), _kind_of(parameters[name]), "") for name in misfits]
    rows += [(name, _kind_of(arrays[name]), "not there", "") for name in extra]
    return f"In all: {', '.join(counts)}; nothing was changed.\n{_table(rows)}"


def _likely(name: str, extra: Sequence[str]) -> str:
    """Return which superfluous name may be meant."""
    similar = difflib.get_close_matches(name, extra[:1000], 1, 0.8)
    return f"perhaps {similar[0]!r}?" if similar else ""


def _kind_of(array: Any) -> str:
    return f"{array.shape} {numpy.dtype(array.dtype).name}"


def _table(rows: Sequence[tuple[str, str, str, str]]) -> str:
    shown = [("parameter", "file", "block", ""), *rows[:_MOST_SHOWN]]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    lines = [
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in shown
    ]
    if len(rows) > _MOST_SHOWN:
        lines.append(f"  and {len(rows) - _MOST_SHOWN} more")
    return "\n".join(lines)
