"""The backends that there are, by name: those that `minpy.wiring` provides, and others that are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minpy.core.errors import ArgumentError
from minpy.core.extensions import extension, provided
from minpy.importing import import_module

if TYPE_CHECKING:
    from minpy.backends.protocol import Backend

__all__ = ["backend", "names", "register"]

_makers: dict[str, Callable[[], Backend]] = {}
_made: dict[str, Backend] = {}


def register(name: str, maker: Callable[[], Backend] | str) -> None:
    """Let a backend be selected by a name; it is made when a program first asks for it.

    Parameters
    ----------
    name : str
    maker : callable or str
        Returns the backend: its class, say; or where that is, as 'module:class', which is imported then.

    Raises
    ------
    ArgumentError
        If there is a backend of this name.

    Examples
    --------
    >>> register('python', 'minpy.backends.python.python_backend:PythonBackend')
    Traceback (most recent call last):
    minpy.core.errors.ArgumentError: register: there is a backend 'python' already; choose another name.
    """
    if name in _makers:
        raise ArgumentError(f"register: there is a backend {name!r} already; choose another name.")
    if isinstance(maker, str):
        module, _, attribute = maker.partition(":")

        def imported() -> Backend:
            instance: Backend = getattr(import_module(module), attribute)()
            return instance

        _makers[name] = imported
    else:
        _makers[name] = maker


def names() -> list[str]:
    """Return the names of all backends.

    >>> names()[:2]
    ['native', 'python']
    """
    return list(_makers)


def backend(name: str) -> Backend:
    """Return a backend.

    Raises
    ------
    ArgumentError
        If none is registered by this name.

    Examples
    --------
    >>> backend('python').name
    'python'
    """
    instance = _made.get(name)
    if instance is None:
        maker = _makers.get(name)
        if maker is None:
            raise ArgumentError(
                f"there is no backend {name!r}; there are {', '.join(map(repr, _makers))}. Register one with "
                "minpy.backends.register(name, maker)."
            )
        instance = _made.setdefault(name, maker())
    return instance


def _made_by(name: str) -> Callable[[], Backend]:
    """Return what makes a backend that is provided; it is imported then."""
    return lambda: extension(name)()


for _name in provided("backends."):
    register(_name.partition(".")[2], _made_by(_name))
