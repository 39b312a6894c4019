"""MinPy's decorator that converts arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minpy.namespaces import module_functions

__all__ = ["enforce_type"]
__dir__, __getattr__ = module_functions(__name__, __all__)


def enforce_type(T: type, method: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes all arguments of a function instances of a type, by calling it.

    Parameters
    ----------
    T : type
    method : bool
        Whether it is a method, whose first argument is left as it is.

    Examples
    --------
    >>> enforce_type(float)(lambda x, y: (x, y))(1, y='2')
    (1.0, 2.0)
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            unconverted = args[:1] if method else ()
            converted = [arg if isinstance(arg, T) else T(arg) for arg in args[len(unconverted) :]]
            named = {name: arg if isinstance(arg, T) else T(arg) for name, arg in kwargs.items()}
            return func(*unconverted, *converted, **named)

        return call

    return decorate
