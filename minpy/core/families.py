"""Families of classes that differ in defaults only: one `__init__`, copied for each."""

from __future__ import annotations

import inspect
import types
from typing import Any

__all__ = ["with_defaults"]


def with_defaults(owner: type, **defaults: Any) -> Any:
    """Return a copy of the `__init__` that a class inherits, with other defaults.

    Parameters
    ----------
    owner : type
        The class, whose own `__init__` the copy is to be.
    **defaults
        Of parameters that have a default, by name.

    Returns
    -------
    function

    Examples
    --------
    >>> class Window:
    ...     def __init__(self, length=1, step=1):
    ...         self.length, self.step = length, step
    >>> class Wide(Window):
    ...     pass
    >>> Wide.__init__ = with_defaults(Wide, length=8)
    >>> Wide().length, inspect.signature(Wide)
    (8, <Signature (length=8, step=1)>)
    """
    function: types.FunctionType = inspect.unwrap(owner.__init__)  # type: ignore[misc,assignment]
    parameters = inspect.signature(function).parameters.values()
    copied = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        tuple(
            defaults.get(parameter.name, parameter.default)
            for parameter in parameters
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is not parameter.empty
        ),
        function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__annotations__ = function.__annotations__
    copied.__doc__ = function.__doc__
    copied.__qualname__ = f"{owner.__qualname__}.{function.__name__}"
    copied.__module__ = owner.__module__
    return copied
