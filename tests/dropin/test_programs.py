"""Whole programs written for MXNet, run unmodified by `python -m minpy`, print what they print under MXNet 1.9.1."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import TESTS

PROGRAMS = TESTS / "programs"
RECORDED = sorted(PROGRAMS.glob("*.txt"))
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+|(?<![\w.])-?\d+(?![\w.])")


def require_same(printed: str, recorded: str) -> None:
    """Compare texts: what is no number must be equal, numbers to the digits that float32 and rounding leave."""
    lines, wanted = (
        [
            re.sub(r"\s+", " ", NUMBER.sub("#", text)).replace("[ ", "[").replace(" ]", "]")
            for text in whole.splitlines()
        ]
        for whole in (printed, recorded)
    )
    assert lines == wanted
    for line, expected in zip(printed.splitlines(), recorded.splitlines(), strict=True):
        found, known = ([float(number) for number in NUMBER.findall(text)] for text in (line, expected))
        assert found == pytest.approx(known, rel=5e-4, abs=2e-3), f"printed:  {line}\nrecorded: {expected}"


def test_every_program_is_recorded() -> None:
    programs = {path.stem for path in PROGRAMS.glob("*.py")} - {"record_outputs"}
    assert {path.stem for path in RECORDED} == programs
    assert len(programs) > 11


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.stem)
def test_prints_what_it_prints_under_mxnet(recorded: Path) -> None:
    program = recorded.with_suffix(".py")
    ran = subprocess.run(
        [sys.executable, "-m", "minpy", str(program)],
        capture_output=True,
        text=True,
        cwd=PROGRAMS.parents[1],
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    require_same(ran.stdout, recorded.read_text())


def test_the_comparison_sees_differences() -> None:
    require_same("a [1.00001, -2] x3", "a [1.0, -2] x3")
    for printed in ("a [1.1, -2] x3", "b [1.0, -2] x3", "a [1.0, -3] x3", "a [1.0] x3", "a [1.0, -2] x4"):
        with pytest.raises(AssertionError):
            require_same(printed, "a [1.0, -2] x3")
