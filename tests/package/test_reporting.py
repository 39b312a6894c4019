"""Processes that tell of a test once tell all that is to be known of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import SUPPORT

pytest.importorskip("xdist")

CONFTEST = """
from reporting import Reporting, only_outcomes

TOLD = []

def pytest_configure(config):
    if only_outcomes(config):
        config.pluginmanager.register(Reporting())

def pytest_runtest_logreport(report):
    if hasattr(report, "node"):
        TOLD.append(report.when)

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"told {' '.join(sorted(TOLD))}.")
"""

TESTS = """
import os, pytest

@pytest.fixture
def no_setup():
    raise RuntimeError("in the setup")

@pytest.fixture
def no_teardown():
    yield
    print("said late")
    raise RuntimeError("in the teardown")

def test_that_passes(): pass
def test_that_prints(): print("said and passed")
def test_that_fails():
    print("said and failed")
    assert [1, 2] == [1, 3]
def test_that_is_skipped(): pytest.skip("for a reason")
@pytest.mark.xfail(strict=True)
def test_that_should_fail(): raise ValueError
@pytest.mark.xfail(strict=True)
def test_that_should_fail_and_does_not(): pass
def test_without_a_setup(no_setup): pass
def test_without_a_teardown(no_teardown): pass
def test_that_ends_its_process(): os._exit(3)
"""


def run(folder: Path, *arguments: str) -> str:
    """Return what a run of these tests in one process of xdist prints."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_all.py").write_text(TESTS)
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT), "PYTEST_ADDOPTS": ""}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]  # of the run that this test is in
    command = [sys.executable, "-m", "pytest", "-n1", "-q", "-rA", "-pno:cacheprovider", "-pno:hypothesispytest"]
    command += ["--max-worker-restart=0", f"--rootdir={folder}", "-c", os.devnull, *arguments, str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=120)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout


def told(printed: str) -> list[str]:
    """Return of which parts of tests the first process has heard."""
    return re.findall(r"^told (.*)\.$", printed, re.MULTILINE)[0].split()


def test_outcomes_and_what_is_printed(tmp_path: Path) -> None:
    printed = run(tmp_path)
    for expected in (
        "PASSED test_all.py::test_that_passes",
        "PASSED test_all.py::test_that_prints",
        "FAILED test_all.py::test_that_fails - assert [1, 2] == [1, 3]",
        "FAILED test_all.py::test_that_should_fail_and_does_not",
        "SKIPPED [1] test_all.py:19: for a reason",
        "XFAIL test_all.py::test_that_should_fail",
        "ERROR test_all.py::test_without_a_setup - RuntimeError: in the setup",
        "ERROR test_all.py::test_without_a_teardown - RuntimeError: in the teardown",
        "crashed while running 'test_all.py::test_that_ends_its_process'",
        "At index 1 diff: 2 != 3",
        "said and passed",
        "said and failed",
        "said late",
    ):
        assert expected in printed, printed
    assert "3 failed, 3 passed, 1 skipped, 1 xfailed, 2 errors" in printed, printed
    parts = told(printed)
    # Of those that print, the teardown too; the test that ends its process is told of by the first process.
    assert parts.count("setup") == 1
    assert parts.count("call") == 7
    assert parts.count("teardown") == 3


def test_who_asks_for_more_is_told_all(tmp_path: Path) -> None:
    parts = told(run(tmp_path, "--durations=5"))
    assert parts.count("setup") == 9
    assert parts.count("teardown") == 8
