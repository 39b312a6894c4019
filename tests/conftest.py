"""What every test gets: the same random numbers, and a check that it leaves the flags of autograd as it found them."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from many import Cases, generate, seed
from missing_frameworks import MissingFrameworks
from native.building import folder as libraries
from reporting import Reporting, only_outcomes
from selecting import Selecting, Times

import minpy as mx
from minpy.backends.switches import disabled
from minpy.jit import budget
from minpy.jit.trial import trials

# Every run draws the same examples, so that a failure is the change's own. `--hypothesis-profile=default` draws others.
settings.register_profile("same-examples", derandomize=True)
settings.load_profile("same-examples")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that tells what is drawn out."""
    parser.addoption(
        "--processor-times", action="store_true", help="tell which tests take more than half a second of a processor"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests, and the Pythons that they start, a folder for temporary files that goes with them."""
    environment = pytest.MonkeyPatch()
    config.add_cleanup(environment.undo)
    # What is looked at after a failure, and what the next run takes again, stays where it always is.
    environment.setenv("PYTEST_DEBUG_TEMPROOT", os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir()))
    environment.setenv("MINPY_NATIVE_TESTS", str(libraries()))
    own = tempfile.TemporaryDirectory(prefix="minpy-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(own.cleanup)
    environment.setenv("TMPDIR", own.name)
    environment.setattr(tempfile, "tempdir", own.name)
    # All processes of a run share the graphs that they compile.
    environment.setenv("MINPY_CACHE", os.environ.get("MINPY_CACHE", os.path.join(own.name, "cache")))
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        # They would compile all of minpy each.
        environment.setenv("PYTHONPYCACHEPREFIX", os.path.join(own.name, "bytecode"))
        environment.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    if getattr(config.option, "numprocesses", None):
        # Several processes fill the machine, and threads of theirs would wait for each other.
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment.setenv(variable, os.environ.get(variable, "1"))
    if only_outcomes(config):
        config.pluginmanager.register(Reporting())
    config.pluginmanager.register(Cases(config))
    config.pluginmanager.register(MissingFrameworks())
    config.pluginmanager.register(Selecting(config))
    if config.getoption("processor_times"):
        config.pluginmanager.register(Times())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the tests of many small cases: alone, so that each has its name, where tests are named."""
    generate(metafunc, alone=any("::" in str(argument) for argument in metafunc.config.args))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the collector of garbage look only at what tests make: tens of thousands of tests are no garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let who is done take tests over from who is not: else all wait for the last one, for half a minute."""
    if config.getvalue("dist") != "load":  # what was asked for is done
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[list[pytest.Collector]]:
    """Look for examples in docstrings of tests only where there may be one."""
    found: list[pytest.Collector] = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found


# Scripts: test_programs.py runs those of programs, the real MXNet the others.
collect_ignore_glob = [
    "programs/*.py",
    "golden/make_native*.py",
    "golden/native/make_*.py",
    "native/compare_headers.py",
]


# Hooks, and no fixtures: there are tens of thousands of tests, and fixtures would take a tenth of their time.


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Require that a test leaves the flags of autograd as it found them."""
    leaked = mx.autograd.set_recording(False), mx.autograd.set_training(False)
    assert leaked == (False, False), f"the test leaves (recording, training) at {leaked}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Let each test draw the same random numbers, whichever ran before, and fixtures run programs as the test does."""
    seed()
    with programs_of(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test with the programs that are meant."""
    with programs_of(item):
        return (yield)


@contextmanager
def programs_of(item: pytest.Item) -> Iterator[None]:
    """Let programs stay those of Python, but where a test's module says `COMPILES = True`, and where doctests run.

    Most tests hold them against NumPy, or against golden numbers, bit by bit. With MINPY_TEST_COMPILE=1 all tests run
    what is compiled, but for those marked `stays_python`.
    """
    module = getattr(item, "module", None)
    if item.get_closest_marker("stays_python") is not None:
        with disabled():
            yield
    elif module is None or getattr(module, "COMPILES", False) or os.environ.get("MINPY_TEST_COMPILE") == "1":
        yield
    else:
        with disabled():
            yield


@pytest.fixture(autouse=True)
def _captures_are_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the code of a test that has many cases be captured in each of them, and run so, however small its arrays."""
    budget.forget()
    monkeypatch.setattr(trials, "enabled", False)
