"""What stands for modules, instances and containers that a traced function reads: nothing of it can be changed."""

from __future__ import annotations

import types
from typing import Any, NoReturn, Protocol

__all__ = ["DictProxy", "ListProxy", "ModuleProxy", "ObjectProxy"]


class Shadow(Protocol):
    """What gives these their members: the `ShadowFunctions` of a capture."""

    recorder: Any

    def member_of(self, module: types.ModuleType, name: str, path: str) -> Any:
        """Return what stands for a member of a module."""
        ...

    def attribute_of(self, owner: Any, proxy: Any, name: str, path: str) -> Any:
        """Return what stands for an attribute of an instance."""
        ...


class ModuleProxy:
    """A module, of whose members those are there that are free of effects."""

    def __init__(self, shadow: Shadow, module: types.ModuleType, path: str) -> None:
        self._shadow, self._module, self._path = shadow, module, path

    def __getattr__(self, name: str) -> Any:
        return self._shadow.member_of(self._module, name, f"{self._path}.{name}")


class ObjectProxy:
    """An instance (`self`, or one that a function refers to), whose attributes may be read."""

    __slots__ = ("_owner", "_path", "_shadow")
    _owner: Any
    _path: str
    _shadow: Shadow

    def __init__(self, shadow: Shadow, owner: Any, path: str) -> None:
        object.__setattr__(self, "_shadow", shadow)
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        return self._shadow.attribute_of(self._owner, self, name, f"{self._path}.{name}")

    def _refuse(self, *_: Any) -> NoReturn:
        raise self._shadow.recorder.refuse(f"what it does with {self._path} is not traced")

    __setattr__ = __delattr__ = __eq__ = __bool__ = __call__ = _refuse
    __hash__ = _refuse


def _refuses(name: str) -> Any:
    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise self.shadow.recorder.refuse("it changes a list or a dict that it did not make")

    refuse.__name__ = name
    refuse.__doc__ = f"Refuse `{name}`: the list or dict belongs to somebody else."
    return refuse


class ListProxy(list[Any]):
    """A list that the function refers to."""

    def __init__(self, shadow: Shadow, values: Any) -> None:
        super().__init__(values)
        self.shadow = shadow


class DictProxy(dict[Any, Any]):
    """A dict that the function refers to."""

    def __init__(self, shadow: Shadow, values: Any) -> None:
        super().__init__(values)
        self.shadow = shadow


_CHANGES = "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort"
for _name in _CHANGES.split():
    setattr(ListProxy, _name, _refuses(_name))
for _name in ["__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"]:
    setattr(DictProxy, _name, _refuses(_name))
