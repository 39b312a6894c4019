"""Examples in docstrings where PyTorch, JAX, PyTensor or onnx is not installed: no extra for tests installs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem

import minpy
from minpy.core.errors import MissingDependencyError

__all__ = ["MissingFrameworks", "missing_framework"]

_ROOM = Path(minpy.__file__).parent / "frameworks"
_IMPORTS = re.compile(r"^(?:>>> )?(?:import|from) .*\b(jax|onnx|onnxruntime|pytensor|torch)\b", re.MULTILINE)


def missing_framework(source: str) -> str | None:
    """Return a framework that a piece of code imports and that is not installed; None if there is none."""
    return next((name for name in sorted({*_IMPORTS.findall(source)}) if not _is_installed(name)), None)


def _is_installed(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.origin is not None  # else a folder of tests that is called so


class MissingFrameworks:
    """A plugin: `conftest.py` asks for files below its folder alone, and a plugin for all."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Iterator[list[pytest.Collector]]:
        """Leave out modules that stand on a framework which is not there: their tests skip, with that reason."""
        collectors: list[pytest.Collector] = yield
        if file_path.parent == _ROOM and collectors and file_path.stem != "__init__":
            try:
                import_module(f"minpy.frameworks.{file_path.stem}")
            except ImportError as error:
                if isinstance(error, MissingDependencyError) or error.name in ("jax", "pytensor", "torch"):
                    return []
                raise
        return collectors

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Skip examples that import a framework which is not there."""
        for item in items:
            if isinstance(item, DoctestItem) and item.dtest is not None:
                source = "".join(example.source for example in item.dtest.examples)
                if missing := missing_framework(source):
                    item.add_marker(pytest.mark.skip(reason=f"{missing} is not installed"))
