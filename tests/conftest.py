"""What every test gets: the same random numbers, and a check that it leaves the flags of autograd as it found them."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

import minpy as mx
from minpy.graph.native.enabling import disabled

# Every run draws the same examples, so that a failure is the change's own. `--hypothesis-profile=default` draws others.
settings.register_profile("same-examples", derandomize=True)
settings.load_profile("same-examples")


def pytest_configure(config: pytest.Config) -> None:
    """Let all processes of a run share what they compile: Python's bytecode where none is written, and graphs."""
    if "MINPY_CACHE" not in os.environ:
        cache = tempfile.TemporaryDirectory(prefix="minpy-cache-")
        config.add_cleanup(cache.cleanup)
        setting = pytest.MonkeyPatch()
        setting.setenv("MINPY_CACHE", cache.name)
        config.add_cleanup(setting.undo)
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="minpy-bytecode-")
        config.add_cleanup(folder.cleanup)
        environment = pytest.MonkeyPatch()
        environment.setenv("PYTHONPYCACHEPREFIX", folder.name)
        environment.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        config.add_cleanup(environment.undo)


# Scripts: test_programs.py runs those of programs, the real MXNet the others.
collect_ignore_glob = [
    "programs/*.py",
    "golden/make_native*.py",
    "golden/native/make_*.py",
    "native/compare_headers.py",
]


@pytest.fixture(autouse=True)
def _seeds() -> None:
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)


@pytest.fixture(autouse=True)
def _flags_are_left_alone() -> Iterator[None]:
    yield
    leaked = mx.autograd.set_recording(False), mx.autograd.set_training(False)
    assert leaked == (False, False), f"the test leaves (recording, training) at {leaked}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Let programs stay those of Python, but where a test's module says `COMPILES = True`, and where doctests run.

    Most tests hold them against NumPy, or against golden numbers, bit by bit. With MINPY_TEST_COMPILE=1 all tests run
    what is compiled.
    """
    module = getattr(item, "module", None)
    if module is None or getattr(module, "COMPILES", False) or os.environ.get("MINPY_TEST_COMPILE") == "1":
        return (yield)
    with disabled():
        return (yield)
