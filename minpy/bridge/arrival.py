"""HIPS autograd is imported by whoever needs it, and the bridge to it (`minpy.bridge.hips`) as soon as it is there."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["await_autograd"]


def await_autograd() -> None:
    """Let autograd know our arrays as soon as it is imported; at once if it is there already."""
    if "autograd" in sys.modules:
        import_module("minpy.bridge.hips")
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds autograd as it would be found, with a loader that imports the bridge to it afterwards."""

    def __init__(self) -> None:
        self.is_asked = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "autograd" or self.is_asked:
            return None
        self.is_asked = True
        try:
            spec = find_spec(name)
        finally:
            self.is_asked = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Followed(spec.loader)  # type: ignore[assignment]
        return spec


class _Followed:
    """A module's own loader, after which the bridge is imported."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the module's own loader makes."""
        module: ModuleType | None = self.own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module as its own loader does, which is the only one that anybody sees, and import the bridge."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        import_module("minpy.bridge.hips")
