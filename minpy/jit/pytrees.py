"""Nests of tuples, lists and dicts, taken apart into leaves and a hashable spec, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from minpy.capture.steps import frozen

__all__ = ["LEAF", "Nest", "flatten", "is_named", "unflatten"]

# The spec of everything that is no nest.
LEAF = None


class Nest(NamedTuple):
    """How a tuple, list or dict is made of parts.

    Attributes
    ----------
    kind : type
        `tuple`, `list`, `dict`, or a class of named tuples.
    key_kinds
        What tells keys apart that are equal (1, 1.0 and True), where not all are texts.
    keys : tuple or None
        Of a dict, in order.
    parts : tuple
        The specs of the values.
    twin : int or None
        Of a nest that was there before, the very same object: its number, in the order in which they begin. Its parts
        are not there again.
    """

    kind: type
    key_kinds: Any  # before the keys, as keys of other types cannot be compared
    keys: tuple[Any, ...] | None
    parts: tuple[Any, ...]
    twin: int | None = None


def is_named(kind: type) -> bool:
    """Tell whether a class is one of named tuples, made as `collections.namedtuple` makes them."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__new__ is not tuple.__new__


def flatten(value: Any, leaves: list[Any], seen: dict[int, int] | None = None) -> Nest | None:
    """Add the leaves of a nest to a list, in order, and return its spec. Subclasses of dict and list are leaves.

    Parameters
    ----------
    value
    leaves : list
    seen : dict, optional
        The numbers of the nests that there were, by their ids.

    Examples
    --------
    >>> leaves = []
    >>> spec = flatten([1, {"a": 2}], leaves)
    >>> leaves, unflatten(spec, iter(leaves))
    ([1, 2], [1, {'a': 2}])
    """
    kind = type(value)
    is_sequence = kind is tuple or kind is list or is_named(kind)
    if not is_sequence and kind is not dict:
        leaves.append(value)
        return LEAF
    seen = {} if seen is None else seen
    if id(value) in seen:
        return Nest(kind, None, None, (), seen[id(value)])
    seen[id(value)] = len(seen)
    if is_sequence:
        return Nest(kind, None, None, tuple([flatten(part, leaves, seen) for part in value]))
    keys = tuple(value)
    kinds = None if all(type(key) is str for key in keys) else frozen(keys)
    return Nest(kind, kinds, keys, tuple([flatten(part, leaves, seen) for part in value.values()]))


def unflatten(spec: Nest | None, leaves: Iterator[Any], made_before: list[Any] | None = None) -> Any:
    """Return the nest of a spec with the next leaves in it; `made_before` has the nests that there were."""
    if spec is None:
        return next(leaves)
    made_before = [] if made_before is None else made_before
    if spec.twin is not None:
        return made_before[spec.twin]
    number = len(made_before)
    made_before.append(None)
    parts: Any = [unflatten(part, leaves, made_before) for part in spec.parts]
    if spec.keys is not None:
        parts = dict(zip(spec.keys, parts, strict=True))
    elif spec.kind is not list:
        parts = spec.kind(*parts) if is_named(spec.kind) else tuple(parts)
    made_before[number] = parts
    return parts
