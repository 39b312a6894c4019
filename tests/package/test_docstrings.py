"""Every public module, class, function, method and property of minpy says what it is."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

from many import each
from optional_modules import module_or_skip

import minpy


def public_modules() -> list[str]:
    found = ["minpy"]
    for module in pkgutil.walk_packages(minpy.__path__, "minpy."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            found.append(module.name)
    return found


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cls).items():
        value = getattr(value, "__func__", value)
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            yield f"{cls.__name__}.{name}", value


def definitions(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes that a module defines, and their public methods and properties."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            yield name, value
            if not issubclass(value, BaseException):
                yield from members_of(value)
        elif callable(value):
            yield name, value


@each({name: (name,) for name in public_modules()})
def test_everything_public_has_a_docstring(name):
    module = module_or_skip(name)
    missing = [] if module.__doc__ else [name]
    for what, value in definitions(module):
        text = inspect.getdoc(value)
        inherited = inspect.isclass(value) and "__doc__" not in vars(value)
        if not text or inherited or text.startswith(f"{what}("):  # as dataclasses and named tuples make up
            missing.append(what)
    assert not missing, f"{name}: no docstring on {', '.join(missing)}"
