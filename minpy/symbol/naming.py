"""Names and attributes that symbols get by where they are made: `NameManager`, `Prefix`, `AttrScope`."""

from __future__ import annotations

from functools import partial
from typing import Any

from minpy.core.errors import ArgumentValueError, describe
from minpy.core.state import ThreadValues, leaving

__all__ = ["AttrScope", "NameManager", "Prefix", "hidden_key", "is_annotation", "naming"]

# Attributes that MXNet lets users write without underscores, and stores with them.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


def hidden_key(name: str) -> str:
    """Return the key under which an attribute is stored: `lr_mult` as `__lr_mult__`."""
    return f"__{name}__" if name in HIDDEN else name


def is_annotation(key: str) -> bool:
    """Tell whether an attribute is noted at a node, and not one of its operator: `__lr_mult__`."""
    return key.startswith("__") and key.endswith("__")


def shown(annotations: dict[str, str]) -> dict[str, str]:
    """Return annotations as `list_attr` shows them: the hidden ones under both names."""
    result = dict(annotations)
    for name in HIDDEN:
        key = f"__{name}__"
        if key in annotations:
            result[name] = annotations[key]
    return result


class _Current(ThreadValues):
    names: Any
    attributes: Any
    inherited: dict[str, str]  # what the current attribute scope has from those around it


_current = naming = _Current(names=None, attributes=None, inherited={})


class _HasCurrentNames(type):
    @property
    def current(cls) -> NameManager:
        """The name manager of this thread. It can be set; `with` undoes that, and is better."""
        return current_names()

    @current.setter
    def current(cls, names: NameManager) -> None:
        _current.names = names


class _HasCurrentScope(type):
    @property
    def current(cls) -> AttrScope:
        """The attribute scope of this thread. It can be set; `with` undoes that, and is better."""
        return current_scope()

    @current.setter
    def current(cls, scope: AttrScope) -> None:
        vars(_current).update(attributes=scope, inherited={})


class NameManager(metaclass=_HasCurrentNames):
    """Gives symbols their names where users give none: the operator's name and a number. Usable with `with`.

    Examples
    --------
    >>> from minpy import sym
    >>> with NameManager():
    ...     sym.tanh(sym.var('x')).name, sym.tanh(sym.var('x')).name, sym.tanh(sym.var('x'), name='t').name
    ('tanh0', 'tanh1', 't')
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """Return `name`, or, if there is none, `hint` with the next number."""
        if name:
            return name
        number = self._counts.get(hint, 0)
        self._counts[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        values, before = vars(_current), {"names": current_names(), "leave": _current.leave}
        values |= {"names": self, "leave": partial(values.update, before)}
        return self

    __exit__ = leaving(_current)


class Prefix(NameManager):
    """A `NameManager` that puts a prefix in front of every name, given ones included.

    Examples
    --------
    >>> from minpy import sym
    >>> with Prefix('net_'):
    ...     sym.tanh(sym.var('x'), name='t').name
    'net_t'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the name with the prefix."""
        return self._prefix + super().get(name, hint)


class AttrScope(metaclass=_HasCurrentScope):
    """Notes attributes at every symbol made inside `with`: `with AttrScope(lr_mult='2'):`.

    Raises
    ------
    ArgumentError
        If an attribute is no string.

    Examples
    --------
    >>> from minpy import sym
    >>> with AttrScope(ctx_group='first'):
    ...     sym.var('x').attr('ctx_group')
    'first'
    """

    def __init__(self, **attributes: str) -> None:
        for name, value in attributes.items():
            if not isinstance(value, str):
                raise ArgumentValueError(f"AttrScope: attribute {name!r} is {describe(value)}; expected a string.")
        self._attributes = {hidden_key(name): value for name, value in attributes.items()}

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """Return the scope's attributes, updated by those of one symbol."""
        own = {hidden_key(name): value for name, value in (attr or {}).items()}
        inherited = _current.inherited if _current.attributes is self else {}
        return {**inherited, **self._attributes, **own}

    def __enter__(self) -> AttrScope:
        values, outer = vars(_current), current_scope()
        before = {"attributes": outer, "inherited": _current.inherited, "leave": _current.leave}
        values |= {"attributes": self, "inherited": outer.get(None), "leave": partial(values.update, before)}
        return self

    __exit__ = leaving(_current)


def current_names() -> NameManager:
    """Return the name manager of this thread."""
    if _current.names is None:
        _current.names = NameManager()
    return _current.names


def current_scope() -> AttrScope:
    """Return the attribute scope of this thread."""
    if _current.attributes is None:
        _current.attributes = AttrScope()
    return _current.attributes
