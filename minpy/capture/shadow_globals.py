"""The globals of functions that run on proxies: each name is looked up, and noted, when it is read first."""

from __future__ import annotations

from typing import Any

from minpy.capture.guard_sources import ABSENT

__all__ = ["ShadowGlobals"]


class ShadowGlobals(dict[str, Any]):
    """The globals of shadows: reads of names look in the `scope` of the functions. No store here reaches a module."""

    __slots__ = ("__scope__", "__shadow__", "resolved")

    def __init__(self, shadow: Any, scope: dict[str, Any]) -> None:
        super().__init__(__builtins__={"__import__": shadow.import_module, "__build_class__": shadow.refuse_class})
        self.__scope__, self.__shadow__ = scope, shadow
        self.resolved: dict[str, Any] = {}  # by name, what a read gave

    def __missing__(self, name: str) -> Any:
        value = self.resolved[name] = self.__shadow__.global_value(self.__scope__, name)
        dict.__setitem__(self, name, value)
        return value

    def changed(self) -> str | None:
        """Return a name that was set or deleted; None if none was."""
        for name, value in self.items():
            if name != "__builtins__" and self.resolved.get(name, ABSENT) is not value:
                return name
        return next((name for name in self.resolved if name not in self), None)

    def forget(self) -> None:
        """Forget all names: what was read refers to the capture."""
        self.clear()
        self.resolved.clear()
