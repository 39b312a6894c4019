"""The libraries of `examples/native`, compiled as its scripts do: once for all tests, in a cache of the tests' own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import minpy as mx
from native.building import compiler, folder

__all__ = ["NATIVE", "cache_of_tests", "load_example", "needs_compiler"]

NATIVE = Path(__file__).resolve().parents[2] / "examples" / "native"

needs_compiler = pytest.mark.skipif(
    compiler() is None, reason="there is no C++ compiler ($CXX, c++, g++, clang++) to build the examples with"
)


@pytest.fixture(scope="session")
def cache_of_tests() -> Iterator[str]:
    """Let this process, and those that it starts, keep what they compile where other tests find it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINPY_CACHE", os.fspath(folder() / "cache"))
        yield os.environ["MINPY_CACHE"]


def load_example(name: str) -> mx.library.Library:
    """Compile a source, if that has not been done before, and load it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINPY_CACHE", os.fspath(folder() / "cache"))
        return mx.library.compile(NATIVE / f"{name}.cc")
