"""How many Python frames the calls go through that people make most often: see `tools/count_frames.py`."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import pytest
from places import ROOT

COMPILES = True
pytest.importorskip("llvmlite")


def counting() -> ModuleType:
    path = ROOT / "tools" / "count_frames.py"
    spec = importlib.util.spec_from_file_location("count_frames", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


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
