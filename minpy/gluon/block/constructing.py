"""Keywords that no block takes: said with the name of the class, what it takes, and the nearest name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from minpy.core.errors import ArgumentError, nearest
from minpy.core.families import with_defaults

__all__ = ["block_with_defaults", "refusing_unknown", "unknown_keywords"]

Class = TypeVar("Class", bound=type)


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


def block_with_defaults(**defaults: Any) -> Callable[[Class], Class]:
    """Return a decorator: a block gets a copy of the constructor that it inherits, with other defaults."""

    def complete(block: Class) -> Class:
        with_defaults(**defaults)(block)
        block.__init__ = refusing_unknown(block.__init__)  # type: ignore[misc]
        return block

    return complete
