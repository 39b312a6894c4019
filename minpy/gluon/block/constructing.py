"""Keywords that no block takes: said with the name of the class, what it takes, and the nearest name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from minpy.core.errors import ArgumentError, nearest

__all__ = ["refusing_unknown", "unknown_keywords"]


def unknown_keywords(cls: type, unknown: Iterable[str]) -> ArgumentError:
    """Return the error for keywords that the constructors of a block's class do not take."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        init = vars(base).get("__init__")
        if init is None or base is object:
            continue
        parameters = [*inspect.signature(init).parameters.values()][1:]
        names.update(
            (part.name, None) for part in parameters if part.kind in (part.POSITIONAL_OR_KEYWORD, part.KEYWORD_ONLY)
        )
        if not any(part.kind is part.VAR_KEYWORD for part in parameters):
            break
    first = next(iter(unknown))
    return ArgumentError(
        f"{cls.__name__} has no argument {first!r}; it takes {', '.join(names) or 'none'}.{nearest(first, names)}"
    )


def refusing_unknown(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor of ours that says what it takes when it is given another keyword, if it takes no others."""
    code = init.__code__
    if code.co_flags & inspect.CO_VARKEYWORDS:
        return init
    names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        if not names.issuperset(kwargs):
            raise unknown_keywords(type(self), [name for name in kwargs if name not in names])
        init(self, *args, **kwargs)

    return checked
