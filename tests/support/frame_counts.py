"""`tools/count_frames.py` as a module."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from places import ROOT

__all__ = ["counting"]


def counting() -> ModuleType:
    """Return the module, which takes llvmlite."""
    path = ROOT / "tools" / "count_frames.py"
    spec = importlib.util.spec_from_file_location("count_frames", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module
