"""Nests of dicts, lists and tuples (named ones too), and what stands at their leaves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

__all__ = ["leaves_of", "map_tree"]


def map_tree(function: Callable[[Any, str], Any], tree: Any, path: str = "") -> Any:
    """Return a nest like `tree` with `function(leaf, path)` for each leaf.

    Examples
    --------
    >>> map_tree(lambda leaf, path: f'{path} = {leaf}', {'a': 1, 'b': [2, 3]})
    {'a': "['a'] = 1", 'b': ["['b'][0] = 2", "['b'][1] = 3"]}
    """
    if isinstance(tree, dict):
        items = {key: map_tree(function, value, f"{path}[{key!r}]") for key, value in tree.items()}
        if type(tree) is dict:
            return items
        result = copy.copy(tree)
        result.update(items)
        return result
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(
            *(map_tree(function, value, f"{path}.{name}") for name, value in zip(tree._fields, tree, strict=True))
        )
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_tree(function, value, f"{path}[{position}]") for position, value in enumerate(tree))
    return function(tree, path)


def leaves_of(tree: Any) -> list[Any]:
    """Return the leaves of a nest, in order."""
    if not isinstance(tree, (dict, list, tuple)):
        return [tree]
    leaves: list[Any] = []
    for item in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(item, (dict, list, tuple)):
            leaves.extend(leaves_of(item))
        else:
            leaves.append(item)
    return leaves
