"""Where files lie that tests read: the repository, the tests, their helpers, and MXNet's answers."""

from __future__ import annotations

from pathlib import Path

__all__ = ["GOLDEN", "ROOT", "SUPPORT", "TESTS"]

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
GOLDEN = TESTS / "golden"
