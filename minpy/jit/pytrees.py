"""Nests of tuples, lists and dicts, taken apart into leaves and a hashable spec, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from minpy.capture.steps import frozen

__all__ = ["LEAF", "Nest", "flatten", "is_named", "unflatten"]

# The spec of everything that is no nest.
LEAF = None


class Nest(NamedTuple):
    """How a tuple, list or dict is made of parts."""

    kind: type  # `tuple`, `list`, `dict`, or a class of named tuples
    # What tells keys apart that are equal (1, 1.0 and True), where not all are texts; before the keys, as keys of other
    # types cannot be compared.
    key_kinds: Any
    keys: tuple[Any, ...] | None  # of a dict, in order
    parts: tuple[Any, ...]  # the specs of the values
    # Of a nest that was there before, the very same object: its number, in the order in which they begin. Its parts are
    # not there again.
    twin: int | None = None


def is_named(kind: type) -> bool:
    """Tell whether a class is one of named tuples, made as `collections.namedtuple` makes them."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__new__ is not tuple.__new__


def flatten(value: Any, leaves: list[Any], seen: dict[int, int] | None = None) -> Nest | None:
    """Add the leaves of a nest to a list, in order, and return its spec. Subclasses of dict and list are leaves.

    `seen`: the numbers of the nests that there were, by their ids.

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


def unflatten(spec: Nest | None, leaves: Iterator[Any], earlier_nests: list[Any] | None = None) -> Any:
    """Return the nest of a spec with the next leaves in it; `earlier_nests` has those that began before it."""
    if spec is None:
        return next(leaves)
    earlier_nests = [] if earlier_nests is None else earlier_nests
    if spec.twin is not None:
        return earlier_nests[spec.twin]
    number = len(earlier_nests)
    earlier_nests.append(None)
    parts: Any = [unflatten(part, leaves, earlier_nests) for part in spec.parts]
    if spec.keys is not None:
        parts = dict(zip(spec.keys, parts, strict=True))
    elif spec.kind is not list:
        parts = spec.kind(*parts) if is_named(spec.kind) else tuple(parts)
    earlier_nests[number] = parts
    return parts
