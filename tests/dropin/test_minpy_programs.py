"""Programs written for dmlc MinPy 0.3.4, run by `python -m minpy`, print what they print under MinPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import TESTS
from test_programs import require_same

import minpy

PROGRAMS = TESTS / "minpy_programs"
RECORDED = sorted(PROGRAMS.glob("*.txt"))


def test_every_program_is_recorded() -> None:
    assert {path.stem for path in RECORDED} == {path.stem for path in PROGRAMS.glob("*.py")} - {"record_outputs"}


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.stem)
def test_prints_what_it_prints_under_minpy(recorded: Path) -> None:
    command = [sys.executable, "-W", "error::UserWarning", "-m", "minpy", recorded.with_suffix(".py").name]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=PROGRAMS, timeout=120, env=environment())
    assert ran.returncode == 0, ran.stderr
    require_same(ran.stdout, recorded.read_text())


def environment() -> dict[str, str]:
    """Return the environment, in which this minpy is found from another folder."""
    root = str(Path(minpy.__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}
