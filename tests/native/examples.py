"""The libraries of `examples/native`, compiled as its scripts do: once for all tests, in a cache of the tests' own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import minpy as mx
from native.building import compiler, folder

__all__ = ["NATIVE", "cache_of_tests", "load_example", "needs_compiler"]

NATIVE = Path(__file__).resolve().parents[2] / "examples" / "native"

needs_compiler = pytest.mark.skipif(
    compiler() is None, reason="there is no C++ compiler ($CXX, c++, g++, clang++) to build the examples with"
)


def cache_of_tests() -> str:
    """Return what `MINPY_CACHE` is to be, so that what is compiled is where other tests find it."""
    return os.fspath(folder() / "cache")


def load_example(name: str) -> mx.library.Library:
    """Compile a source, if that has not been done before, and load it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINPY_CACHE", cache_of_tests())
        return mx.library.compile(NATIVE / f"{name}.cc")
