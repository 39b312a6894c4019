"""The tables of modules in docs/architecture.md name modules that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from places import ROOT


def rows() -> Iterator[tuple[str, str]]:
    """Yield (room, the name of a module in the first column) of the tables whose head is "in `room`"."""
    room = None
    for line in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        if head := re.match(r"\| in `([\w/]+)` \|", line):
            room = head[1]
        elif not line.startswith("|"):
            room = None
        elif room and not line.startswith("|---"):
            for name in re.findall(r"`([\w/]+)`", line.split(" | ")[0]):
                yield room, name


@pytest.mark.parametrize("room", sorted({room for room, _ in rows()}))
def test_modules_in_the_tables_are_there(room: str) -> None:
    package = ROOT / "minpy"
    folders = [package / room, package]
    unknown = [
        name
        for where, name in rows()
        if where == room and not any((folder / name).is_dir() or (folder / f"{name}.py").exists() for folder in folders)
    ]
    assert not unknown
