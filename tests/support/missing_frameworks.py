"""Examples in docstrings where PyTorch, JAX or PyTensor is not installed: no extra for tests installs them."""

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

__all__ = ["MissingFrameworks"]

_ROOM = Path(minpy.__file__).parent / "frameworks"
_IMPORTS = re.compile(r"^(?:import|from) .*\b(jax|pytensor|torch)\b", re.MULTILINE)


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
                for framework in {*_IMPORTS.findall(source)}:
                    if find_spec(framework) is None:
                        item.add_marker(pytest.mark.skip(reason=f"{framework} is not installed"))
