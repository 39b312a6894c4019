"""Families of classes that differ in defaults only: one `__init__`, copied for each."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["constructor_defaults", "with_defaults"]

Class = TypeVar("Class", bound=type)


def constructor_defaults(owner: type) -> dict[str, Any]:
    """Return the defaults of a class's `__init__` by the names of its parameters."""
    init: Any = inspect.unwrap(owner.__init__)  # type: ignore[misc]
    defaults = init.__defaults__ or ()
    count = init.__code__.co_argcount
    return dict(zip(init.__code__.co_varnames[count - len(defaults) : count], defaults, strict=True))


def with_defaults(**defaults: Any) -> Callable[[Class], Class]:
    """Return a class decorator: the class gets a copy of the `__init__` that it inherits, with other defaults.

    Parameters
    ----------
    **defaults
        Of parameters that have a default, by name.

    Returns
    -------
    callable
        Takes a class and returns it.

    Raises
    ------
    ValueError
        For a name that no parameter with a default has.

    Examples
    --------
    >>> class Window:
    ...     def __init__(self, length=1, step=1):
    ...         self.length, self.step = length, step
    >>> @with_defaults(length=8)
    ... class Wide(Window):
    ...     pass
    >>> Wide().length, inspect.signature(Wide)
    (8, <Signature (length=8, step=1)>)
    """

    def complete(owner: Class) -> Class:
        inherited: Any = inspect.unwrap(owner.__init__)  # type: ignore[misc]
        inherited_defaults = constructor_defaults(owner)
        if unknown := sorted(defaults.keys() - inherited_defaults.keys()):
            raise ValueError(
                f"with_defaults: {owner.__qualname__}.__init__ has no default of {', '.join(unknown)}; it has some of "
                f"{', '.join(inherited_defaults)}."
            )
        values = tuple({**inherited_defaults, **defaults}.values())
        code, scope, closure = inherited.__code__, inherited.__globals__, inherited.__closure__
        copied: Any = types.FunctionType(code, scope, inherited.__name__, values, closure)
        copied.__kwdefaults__, copied.__annotations__ = inherited.__kwdefaults__, inherited.__annotations__
        copied.__doc__, copied.__module__ = inherited.__doc__, owner.__module__
        copied.__qualname__ = f"{owner.__qualname__}.{inherited.__name__}"
        owner.__init__ = copied  # type: ignore[misc]
        return owner

    return complete
