"""The backend of `docs/guide/backends.md`, registered as 'toy', and a fixture that lets it run a module's tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from minpy.backends import using

__all__ = ["built_in_and_documented", "scope_of_guide"]

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "backends.md"


@cache
def scope_of_guide() -> dict[str, Any]:
    """Run the guide's first block, which registers the backend, and return what it defines."""
    text = GUIDE.read_text(encoding="utf-8")
    block = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    scope: dict[str, Any] = {"__name__": "documented_backend"}
    exec(compile(block[1].replace('"counting"', '"toy"'), str(GUIDE), "exec"), scope)
    return scope


def built_in_and_documented() -> Any:
    """Return a fixture that runs every test of a module twice: with the built-in backends, and with the guide's."""

    @pytest.fixture(autouse=True, params=["built in", "documented"])
    def backend(request: pytest.FixtureRequest) -> Iterator[str]:
        if request.param == "built in":
            yield request.param
            return
        scope_of_guide()
        with using("toy"):
            yield request.param

    return backend
