"""Texts of blocks: indented, and shortened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["brief_print_list", "indent"]


def indent(s_: str, numSpaces: int) -> str:
    """Return a text whose lines but the first are moved to the right.

    Examples
    --------
    >>> print(indent('a(\\n)', 2))
    a(
      )
    """
    return s_.replace("\n", "\n" + " " * numSpaces)


def brief_print_list(lst: Sequence[Any], limit: int = 7) -> str:
    """Return names in quotes, those in the middle left out if there are more than `limit`.

    Examples
    --------
    >>> brief_print_list('abcdefgh', 4)
    "'a', 'b', ..., 'g', 'h'"
    """
    lst = list(lst)
    if len(lst) > limit:
        return f"{brief_print_list(lst[: limit // 2], limit)}, ..., {brief_print_list(lst[-limit // 2 :], limit)}"
    return ", ".join(f"'{name}'" for name in lst)
