"""Functions of ours that captured functions may call, and the proxy of each: registered by the rooms above."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minpy.core.extensions import import_modules
from minpy.core.operator import Operator

__all__ = [
    "CLASSES",
    "CONSTANT_CLASSES",
    "MEMBERS",
    "MODULES",
    "member_of_array",
    "proxy_of",
    "proxy_of_instance",
    "register",
]

# Modules of ours whose members may be read: what a member is decides.
MODULES: set[str] = set()
# Classes whose instances never change.
CONSTANT_CLASSES: set[type] = set()
# What gives members of arrays of ours that NumPy's do not have: `member(proxy, name)`; None: there is no such.
MEMBERS: list[Callable[[Any, str], Any]] = []
# By class of values: what makes their proxies, as in `register`.
CLASSES: dict[type, Callable[[Any, Any, str], Any]] = {}
_handlers: dict[Any, Callable[[Any, Any, str], Any]] = {}


def register(values: Any, handler: Callable[[Any, Any, str], Any]) -> None:
    """Let `handler(shadow, value, name)` make the proxies of some values: functions of ours, mostly."""
    _handlers.update(dict.fromkeys(values, handler))


def proxy_of(shadow: Any, value: Any, name: str) -> Any:
    """Return the proxy of a function of ours, which the user's code calls by a name; None if it is not known."""
    _complete(value)
    handler = _handlers.get(value)
    return None if handler is None else handler(shadow, value, name)


def proxy_of_instance(shadow: Any, value: Any, name: str) -> Any:
    """Return the proxy of an instance of a class of ours: itself, if it never changes; None if it is not known."""
    kind = type(value)
    _complete(kind)
    if kind in CONSTANT_CLASSES:
        return value
    return next((handler(shadow, value, name) for cls, handler in CLASSES.items() if isinstance(value, cls)), None)


def _complete(value: Any) -> None:
    """Import what enters functions and classes of ours, if something is one of them."""
    if str(getattr(value, "__module__", None)).startswith(("minpy.", "mxnet.")):
        import_modules("captured functions")


def member_of_array(proxy: Any, name: str) -> Any:
    """Return a member of an array of ours, bound to its proxy; None if it is not known."""
    import_modules("captured functions")
    for member in MEMBERS:
        value = member(proxy, name)
        if value is not None:
            return value
    return None


def with_states(recorder: Any, operator: Any) -> Callable[..., Any] | None:
    """Return what calls an operator on proxies that draws, has states, acts as in training, or is of another kind.

    None: it is none of these, or nothing does.
    """
    if recorder.capture is None:
        return None
    is_plain = not operator.builtin or not (operator.random or operator.auxiliary or operator.uses_training)
    if isinstance(operator, Operator) and is_plain:
        return None
    handler = proxy_of(recorder.capture.shadow, Operator, operator.__name__)
    return None if handler is None else functools.partial(handler, operator)
