"""What `to_torch`, `to_jax` and `to_pytensor` are asked for in the same words, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, describe

__all__ = ["THROUGH", "require_choice", "require_count", "visible_count"]

THROUGH = ("auto", "graph", "numpy")


def require_choice(maker: str, parameter: str, value: Any, choices: Sequence[str]) -> None:
    """Raise an ArgumentError for an argument that is none of some texts."""
    if value not in choices:
        *but_last, last = map(repr, choices)
        raise ArgumentError(f"{maker}: {parameter}={value!r}; expected {', '.join(but_last)} or {last}.")


def require_count(maker: str, outputs: Any) -> None:
    """Raise an ArgumentError for `outputs` that is no number of arrays; None leaves it open."""
    if outputs is not None and (not isinstance(outputs, int) or isinstance(outputs, bool) or outputs < 1):
        raise ArgumentError(f"{maker}: outputs is {describe(outputs)}; expected how many arrays it returns, such as 2.")


def visible_count(operator: Any, attributes: Mapping[str, Any], count: int) -> int:
    """Return how many of an operator's `count` outputs callers see."""
    visible = operator.visible_outputs
    if callable(visible):
        visible = visible(attributes)
    return count if visible is None else int(visible)
