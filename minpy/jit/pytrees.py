"""Nests of tuples, lists and dicts, taken apart into leaves and a hashable spec, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["LEAF", "Nest", "flatten", "is_named", "shares_containers", "unflatten"]

# The spec of everything that is no nest.
LEAF = None


class Nest(NamedTuple):
    """How a tuple, list or dict is made of parts.

    Attributes
    ----------
    kind : type
        `tuple`, `list`, `dict`, or a class of named tuples.
    keys : tuple or None
        Of a dict, in order.
    parts : tuple
        The specs of the values.
    """

    kind: type
    keys: tuple[Any, ...] | None
    parts: tuple[Any, ...]


def is_named(kind: type) -> bool:
    """Tell whether a class is one of named tuples, made as `collections.namedtuple` makes them."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__new__ is not tuple.__new__


def flatten(value: Any, leaves: list[Any]) -> Nest | None:
    """Add the leaves of a nest to a list, in order, and return its spec. Subclasses of dict and list are leaves.

    Examples
    --------
    >>> leaves = []
    >>> spec = flatten([1, {"a": 2}], leaves)
    >>> leaves, unflatten(spec, iter(leaves))
    ([1, 2], [1, {'a': 2}])
    """
    kind = type(value)
    if kind is tuple or kind is list or is_named(kind):
        return Nest(kind, None, tuple([flatten(part, leaves) for part in value]))
    if kind is dict:
        return Nest(kind, tuple(value), tuple([flatten(part, leaves) for part in value.values()]))
    leaves.append(value)
    return LEAF


def unflatten(spec: Nest | None, leaves: Iterator[Any]) -> Any:
    """Return the nest of a spec with the next leaves in it."""
    if spec is None:
        return next(leaves)
    parts = [unflatten(part, leaves) for part in spec.parts]
    if spec.keys is not None:
        return dict(zip(spec.keys, parts, strict=True))
    if spec.kind is list:
        return parts
    return spec.kind(*parts) if is_named(spec.kind) else tuple(parts)


def shares_containers(value: Any) -> bool:
    """Tell whether one list or dict stands at several places of a nest: functions may ask whether two are one.

    >>> one = [1]
    >>> shares_containers(([1], [1])), shares_containers((one, {"a": one}))
    (False, True)
    """
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind is list or kind is dict:
            if id(part) in seen:
                return True
            seen.add(id(part))
        if kind is dict:
            waiting += part.values()
        elif kind is tuple or kind is list or is_named(kind):
            waiting += part
    return False
