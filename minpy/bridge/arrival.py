"""Registers minpy's arrays and operators with HIPS autograd as soon as somebody imports it.

`minpy.bridge.hips`, which handles them, is imported when autograd first needs it. Not earlier: whoever imports autograd
holds its lock, for which a thread that is importing the bridge may wait. And minpy imports autograd through the bridge
alone: threads that import parts of it at once may find parts that are not finished.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from minpy.bridge.hips_boxes import boxes
from minpy.core import dispatch
from minpy.core.array import Array
from minpy.importing import import_module

__all__ = ["await_autograd", "register_array"]


def await_autograd() -> None:
    """Register our arrays with autograd as soon as it is imported; at once if it is already."""
    if "autograd" in sys.modules:
        import_module("autograd")  # to its end, should another thread be importing it
        _register_arrays()
    else:
        sys.meta_path.insert(0, _Finder())


def register_array(cls: type) -> None:
    """Let `autograd.grad(f)(x)` and its kin take an array of a class: as NumPy's array, which `f` then sees.

    Before autograd is there nothing is done: then it is told of all classes that there are.
    """
    if boxes.types:
        tracer, core = sys.modules["autograd.tracer"], sys.modules["autograd.core"]
        tracer.Box.type_mappings[cls] = lambda *arguments: _bridge().box_of_array(*arguments)
        core.VSpace.register(cls, lambda array: core.vspace(array._data))


def _register_arrays() -> None:
    """Register our arrays with autograd, which is imported, and its boxes with our operators."""
    box = sys.modules["autograd.tracer"].Box
    boxes.types = box.types
    _register_subclasses(Array)
    dispatch.register_tracer(
        box, lambda *arguments: _bridge().call_on_boxes(*arguments), "an argument traced by HIPS autograd"
    )


def _register_subclasses(cls: type) -> None:
    subclasses: list[type] = type.__subclasses__(cls)
    for subclass in subclasses:
        register_array(subclass)
        _register_subclasses(subclass)


def _bridge() -> Any:
    return import_module("minpy.bridge.hips")


class _Finder:
    """Finds autograd as usual, but with a loader that registers our arrays afterwards."""

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
            spec.loader = _RegisteringLoader(spec.loader)  # type: ignore[assignment]
        return spec


class _RegisteringLoader:
    """Autograd's own loader, which then registers our arrays."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the module's own loader makes."""
        module: ModuleType | None = self.own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module as its own loader does, which is the only one that anybody gets to see."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.own
        self.own.exec_module(module)
        _register_arrays()
