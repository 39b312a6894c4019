"""Modules of minpy, of which some need what the tests' extra does not install."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from minpy.core.errors import MissingDependencyError

__all__ = ["module_or_skip"]


def module_or_skip(name: str) -> Any:
    """Return a module of minpy; skip the test, with the reason, where a framework that it is about is missing."""
    try:
        return importlib.import_module(name)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if not name.startswith("minpy.frameworks.") or (error.name or "").startswith("minpy"):
            raise
        pytest.skip(f"{name}: {error}")
