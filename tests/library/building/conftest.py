"""What tests of `library.compile` start from: a cache of their own, and a compiler that is a script."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fake_compiler import FakeCompiler

from minpy.library import building


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MINPY_CACHE", str(tmp_path / "cache"))
    for variable in ("CXX", "CXXFLAGS", "CPPFLAGS", "CFLAGS", "LDFLAGS", "MINPY_COMPILE_TIMEOUT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(building, "_compiled", {})
    return tmp_path / "cache" / "native"


@pytest.fixture
def loads(monkeypatch):
    """What would be loaded: for tests of building alone."""
    seen = []

    def load(path, verbose=True, *, replace=False):
        seen.append(SimpleNamespace(path=path, verbose=verbose, replace=replace))
        return seen[-1]

    monkeypatch.setattr(building, "load", load)
    return seen


@pytest.fixture
def fake(tmp_path, monkeypatch, loads):
    made = FakeCompiler.made(tmp_path / "a compiler's folder")
    monkeypatch.setenv("CXX", f'"{made.path}" -first')
    return made
