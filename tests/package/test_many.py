"""`many.each`: all cases run, each as if it were a test of its own, and is reported as one where it does not pass."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from many import Outcomes, each, require_each
from places import SUPPORT

import minpy as mx

TESTS = """
import pytest
from many import each

@each({str(number): (number,) for number in range(9)}, at_once=5)
def test_numbers(number):
    if number in (1, 3):
        assert number == 0, "it is another"
    if number in (2, 7):
        pytest.skip(f"no {number} here")

@each({"a": (1,), "b": (2,)})
def test_skipped(number):
    pytest.skip("not here")

@each({"a": (1,), "b": (2,)})
def test_fine(number):
    pass
"""
CONFTEST = """
from many import Cases, generate
from reporting import Reporting, only_outcomes

def pytest_configure(config):
    if only_outcomes(config):
        config.pluginmanager.register(Reporting())
    config.pluginmanager.register(Cases(config))

def pytest_generate_tests(metafunc):
    generate(metafunc, alone=any("::" in argument for argument in metafunc.config.args))
"""


@each({"one": (1,), "two": (2,), "three": (3,)}, at_once=2)
def test_cases_are_given(number: int) -> None:
    assert number in (1, 2, 3)


def test_some_cases_are_one_test(request: pytest.FixtureRequest) -> None:
    names = {item.name for item in request.session.items if item.nodeid.partition("::")[2].startswith("test_cases_are")}
    alone = any("::" in argument for argument in request.config.args)
    together = {"test_cases_are_given[one]", "test_cases_are_given[three]"}
    assert names <= (together | {"test_cases_are_given[two]"} if alone else together)


def test_all_cases_run_and_what_came_of_each_is_told() -> None:
    ran = []

    def check(number: int) -> None:
        ran.append((number, random.random()))
        if number == 2:
            raise ValueError("two is wrong")
        if number == 3:
            pytest.skip("three is not for here")
        if number == 4:
            mx.autograd.set_recording(True)

    cases = {str(number): (number,) for number in range(1, 6)}
    with pytest.raises(Outcomes) as caught:
        require_each(check, cases)
    text = str(caught.value)
    assert text.startswith(
        "2 of 5 cases fail, 1 are skipped:\n2: ValueError: two is wrong\n4: AssertionError: it leaves"
    )
    assert "(recording, training) at (True, False)" in text
    assert list(caught.value.skipped) == ["3"]
    assert [number for number, _ in ran] == [1, 2, 3, 4, 5]
    assert len({value for _, value in ran}) == 1, "each begins with the same random numbers"
    assert mx.autograd.is_recording() is False
    for name in ("2", "3", "4"):
        del cases[name]
    require_each(check, cases)
    with pytest.raises(pytest.skip.Exception, match="three is not for here"):
        require_each(check, {"3": (3,)})
    with pytest.raises(ValueError, match="two is wrong"):
        require_each(check, {"2": (2,)})


def _run(folder: Path, *arguments: str) -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_all.py").write_text(TESTS)
    path = os.pathsep.join([str(SUPPORT), str(Path(mx.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]  # of the run that this test is in
    command = [sys.executable, "-m", "pytest", "-rA", "-pno:cacheprovider", "-pno:hypothesispytest"]
    command += [f"--rootdir={folder}", "-c", os.devnull, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=120).stdout


@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["one process", "xdist"])
def test_cases_that_do_not_pass_are_reported_under_their_names(arguments: tuple[str, ...], tmp_path: Path) -> None:
    if arguments:
        pytest.importorskip("xdist")
    printed = _run(tmp_path, *arguments)
    for expected in (
        "FAILED test_all.py::test_numbers[1] - AssertionError: it is another",
        "FAILED test_all.py::test_numbers[3] - AssertionError: it is another",
        "SKIPPED [1] test_all.py: 2: no 2 here",
        "SKIPPED [1] test_all.py: 7: no 7 here",
        "SKIPPED [1] test_all.py: b: not here",
        "PASSED test_all.py::test_fine[a]",
        'assert number == 0, "it is another"',
        # Of nine numbers in two tests two fail and two are skipped, and of two others both are skipped.
        "2 failed, 1 passed, 4 skipped",
    ):
        assert expected in printed, printed


def test_a_case_is_found_by_its_name(tmp_path: Path) -> None:
    printed = _run(tmp_path, "test_all.py::test_numbers[3]", "test_all.py::test_numbers[4]")
    assert "FAILED test_all.py::test_numbers[3]" in printed, printed
    assert "PASSED test_all.py::test_numbers[4]" in printed, printed
    assert "1 failed, 1 passed" in printed, printed
