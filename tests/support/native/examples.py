"""The libraries of `examples/native`, compiled as its scripts do: once for all tests, in a cache of the tests' own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import minpy as mx
from native.building import compiler, folder

__all__ = ["NATIVE", "compile_for_tests", "load_example", "needs_compiler"]

NATIVE = Path(__file__).resolve().parents[3] / "examples" / "native"

needs_compiler = pytest.mark.skipif(
    compiler() is None, reason="there is no C++ compiler ($CXX, c++, g++, clang++) to build the examples with"
)


def compile_for_tests(patch: pytest.MonkeyPatch) -> None:
    """Have `library.compile`, here and in the scripts started from here, keep libraries where other tests find them.

    They are not optimized, which takes half of the time that it takes to compile them.
    """
    patch.setenv("MINPY_CACHE", os.fspath(folder() / "cache"))
    patch.setenv("CXXFLAGS", "-O0")


def load_example(name: str) -> mx.library.Library:
    """Compile a source, if that has not been done before, and load it."""
    with pytest.MonkeyPatch.context() as patch:
        compile_for_tests(patch)
        return mx.library.compile(NATIVE / f"{name}.cc")
