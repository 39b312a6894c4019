"""The types that users see: the generated stubs are current, and mypy understands programs with them."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def load(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def mypy(*arguments: str | Path) -> str:
    pytest.importorskip("mypy")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--follow-imports=silent",
        *map(str, arguments),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_the_stubs_are_current():
    outdated = load(ROOT / "tools" / "make_stubs.py").outdated()
    assert not outdated, f"run python tools/make_stubs.py: {', '.join(map(str, outdated))}"


def test_the_typed_program_runs():
    importlib.import_module("typed_program").main()


def test_the_typed_program_passes_mypy():
    assert "error:" not in (found := mypy(ROOT / "tests" / "typed_program.py")), found


MISTAKES = """
from minpy import customop, nd
x = nd.ones((2, 2))
x.summ()
nd.expp(x)
nd.Activation(x)
nd.Activation(x, act_type=3)
nd.zeros(shape="2")
nd.exp.chek()
(x + 1).asnumpi()
customop(3)
"""


def test_mypy_finds_mistakes(tmp_path):
    path = tmp_path / "mistakes.py"
    path.write_text(MISTAKES)
    found = mypy(path)
    lines = {int(line) for line in re.findall(r"mistakes\.py:(\d+): error:", found)}
    assert lines == set(range(4, 12)), found
