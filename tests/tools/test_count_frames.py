"""How many Python frames the calls go through that people make most often: see `tools/count_frames.py`."""

from __future__ import annotations

import re
import sys

import pytest
from frame_counts import counting

COMPILES = True
pytest.importorskip("llvmlite")

count_frames = counting()


@pytest.mark.parametrize("name", count_frames.DOORS)
def test_no_more_frames_than_promised(name: str) -> None:
    if sys.version_info < (3, 11) and ("backward" in name or "both" in name):
        pytest.skip("a profile function keeps the locals of frames: buffers are copied that are handed over otherwise")
    door = count_frames.DOORS[name]
    frames = count_frames.frames_of(door.prepare())
    assert len(frames) <= door.limit, "\n".join(frames)


def test_every_frame_is_counted() -> None:
    def inner() -> None:
        sorted([1], key=lambda value: value)

    frames = count_frames.frames_of(inner)
    assert [re.split("[.:]", frame)[-1] for frame in frames] == ["inner", "<lambda>"]
