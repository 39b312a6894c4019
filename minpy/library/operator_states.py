"""The states of stateful operators: objects of the library, which are destroyed when nobody needs them any more."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from ctypes import c_ubyte
from typing import Any

from minpy.library.binary import Binary

__all__ = ["KeptState", "State"]

# Where the objects of version 11 say that they were made by `CustomStatefulOp::create`, or that this does not matter.
_IGNORES_WARNING, _WAS_CREATED = 8, 9
_warned: set[tuple[str, str]] = set()


class State:
    """A state, which is destroyed with this object. Versions before 11 have no function for that: it then stays.

    Attributes
    ----------
    pointer : int
    lock : lock
        Held during calls: two must not use a state at once.
    """

    __slots__ = ("_destroy", "lock", "pointer")

    def __init__(self, binary: Binary, pointer: int, name: str) -> None:
        self._destroy: Callable[[int], None] | None = binary.functions.get("_opCallDestroyOpState")
        self.pointer = pointer
        self.lock = threading.RLock()
        if binary.version >= 11:
            _warn_about_creation(pointer, name, binary.path)

    def __del__(self) -> None:
        try:
            destroy, self._destroy = self._destroy, None
        except AttributeError:  # interrupted before it had one
            return
        if destroy is not None:
            destroy(self.pointer)


def _warn_about_creation(pointer: int, name: str, path: str) -> None:
    flags = (c_ubyte * 16).from_address(pointer)
    if flags[_IGNORES_WARNING] or flags[_WAS_CREATED] or (path, name) in _warned:
        return
    _warned.add((path, name))
    warnings.warn(
        f"{name}: its state was made without CustomStatefulOp::create<...>(), so that MXNet warns: an object made by "
        "another runtime library than the one that destroys it may not survive that. Make it with create, or set "
        "ignore_warn.",
        stacklevel=2,
    )


class KeptState:
    """A state that lives over calls, for inputs of one kind; for others there is a new one."""

    __slots__ = ("_key", "_lock", "_state")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._key: Any = None
        self._state: State | None = None

    def get(self, key: Any, make: Callable[[Any], State]) -> State:
        """Return the state for inputs of a kind, which `make(key)` makes if there is none."""
        with self._lock:
            if self._state is None or key != self._key:
                self._state = None
                self._state = make(key)
                self._key = key
            return self._state
