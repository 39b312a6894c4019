"""What modules above the core add to it, by name: each is registered as text, and imported at its first use.

The core imports nothing from above. What completes it there (`op.check`, graphs for operators that are compiled) is
entered here as text, `"module:name"`, as entry points are; `minpy.wiring` holds the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from minpy.importing import import_module

__all__ = ["add_module", "extension", "import_modules", "is_provided", "provide", "provided"]

_TARGETS: dict[str, str] = {}
_MODULES: dict[str, list[str]] = {}


def provide(targets: Mapping[str, str]) -> None:
    """Register extensions: by the extension's name, `"module:name"`, where the latter name may have dots.

    Examples
    --------
    >>> provide({'square root': 'math:sqrt'})
    >>> extension('square root')(4.0)
    2.0
    """
    _TARGETS.update(targets)


def is_provided(name: str) -> bool:
    """Tell whether there is an extension of that name; nothing is imported."""
    return name in _TARGETS


def provided(prefix: str) -> list[str]:
    """Return the names of the extensions that begin with a text, in the order in which they were provided.

    >>> provide({'roots.square': 'math:sqrt'})
    >>> provided('roots.')
    ['roots.square']
    """
    return [name for name in _TARGETS if name.startswith(prefix)]


def extension(name: str) -> Any:
    """Return the extension of a name, or raise a LookupError; its module is imported if it is not yet."""
    target = _TARGETS.get(name)
    if target is None:
        raise LookupError(f"no extension {name!r} is provided; there are {', '.join(sorted(_TARGETS)) or 'none'}.")
    module, _, path = target.partition(":")
    return attrgetter(path)(import_module(module))


def add_module(point: str, module: str) -> None:
    """Add a module to those that `import_modules` imports for a point: what it registers is not needed before."""
    modules = _MODULES.setdefault(point, [])
    if module not in modules:
        modules.append(module)


def import_modules(point: str) -> None:
    """Import the modules that were added for something, in the order in which they were added."""
    for module in tuple(_MODULES.get(point, ())):
        import_module(module)
