"""`Step`: a partitioner or a pass that the graphs of a block go through, with its options."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from minpy.core.errors import ArgumentError
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES

__all__ = ["Step", "taken_options"]

# Options that would be taken for arguments of `Symbol.optimize_for`.
_NO_OPTIONS = frozenset(["args", "aux", "backend", "ctx", "self", "shape_dict", "stype_dict", "type_dict"])


class Step:
    """One call of `optimize_for`: `backend` names a partitioner or a pass."""

    def __init__(self, backend: str, options: Mapping[str, Any]) -> None:
        for name in options:
            if name in _NO_OPTIONS:
                raise ArgumentError(
                    f"optimize_for: a backend cannot have an option {name!r}: Symbol.optimize_for has an argument of "
                    "that name, which blocks give it. Call the option otherwise."
                )
        self.backend = backend
        self.options = dict(options)
        self.is_done = False  # whether a graph has gone through it, and what it has written to parameters stands there

    def described(self) -> list[Any]:
        """Return what a file holds of it: options as Python writes them, those that it cannot read again as texts."""
        return [self.backend, {key: repr(_readable(value)) for key, value in self.options.items()}]

    @staticmethod
    def of(described: Sequence[Any]) -> Step:
        """Return what was described."""
        backend, options = described
        return Step(str(backend), {key: ast.literal_eval(text) for key, text in options.items()})


def _readable(value: Any) -> Any:
    try:
        return value if ast.literal_eval(repr(value)) == value else str(value)
    except (SyntaxError, ValueError):
        return str(value)


def taken_options(backend: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the options of a backend before that this one takes, too."""
    registered: Any = PARTITIONERS.get(backend) or PASSES.get(backend)
    if registered is None:
        return dict(options)
    accepted = {}
    for key, value in options.items():
        with suppress(ArgumentError):
            registered.check_options({key: value})
            accepted[key] = value
    return accepted
