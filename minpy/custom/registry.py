"""The names under which `CustomOpProp` classes are registered."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from minpy.core.errors import ArgumentError, describe, nearest
from minpy.custom.prop import CustomOpProp
from minpy.ops.registry import OPERATORS

__all__ = ["PROPS", "find_prop", "get_all_registered_operators", "register"]

PROPS: dict[str, type[CustomOpProp]] = {}


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Return a decorator that registers a `CustomOpProp` class under a name for `nd.Custom(op_type=...)`.

    A second registration of a name wins; it warns, unless it is the same class in a cell of a notebook that runs again.

    Raises
    ------
    ArgumentError
        If the name is not a string, or the decorated object is not a `CustomOpProp` class.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.operator.register('doctest_registered')
    ... class Prop(mx.operator.CustomOpProp):
    ...     pass
    >>> 'doctest_registered' in mx.operator.get_all_registered_operators()
    True
    """
    if not isinstance(reg_name, str) or not reg_name:
        raise ArgumentError(f"operator.register needs a name, got {describe(reg_name)}: @operator.register('my_op').")

    def decorate(prop_class: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop_class, type) and issubclass(prop_class, CustomOpProp)):
            raise ArgumentError(
                f"operator.register({reg_name!r}) registers a class derived from CustomOpProp, "
                f"got {describe(prop_class)}."
            )
        registered = PROPS.get(reg_name)
        if registered is not None and registered is not prop_class and not _is_run_again(registered, prop_class):
            warnings.warn(
                f"custom operator {reg_name!r} is registered twice: {_full_name(prop_class)} replaces "
                f"{_full_name(registered)}.",
                stacklevel=2,
            )
        PROPS[reg_name] = prop_class
        return prop_class

    return decorate


def _is_run_again(first: type, second: type) -> bool:
    """Tell whether a class comes from the same cell of a notebook, run again."""
    files = [function.__code__.co_filename for function in vars(second).values() if hasattr(function, "__code__")]
    return _full_name(first) == _full_name(second) and bool(files) and not any(map(os.path.isfile, files))


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def find_prop(op_type: Any) -> type[CustomOpProp]:
    """Return the class registered under a name.

    Raises
    ------
    ArgumentError
        With the nearest names, if there is none.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.operator.register('doctest_found')
    ... class Prop(mx.operator.CustomOpProp):
    ...     pass
    >>> mx.operator.find_prop('doctest_found') is Prop
    True
    """
    prop_class = PROPS.get(op_type) if isinstance(op_type, str) else None
    if prop_class is None:
        names = f"Registered: {', '.join(map(repr, sorted(PROPS)))}." if PROPS else "None is registered."
        raise ArgumentError(
            f"nd.Custom: no custom operator {op_type!r} is registered.{nearest(str(op_type), PROPS)} {names} "
            "Register one with @mx.operator.register(name) on its CustomOpProp class."
        )
    return prop_class


def get_all_registered_operators() -> list[str]:
    """Return the names of all operators: the built-in ones and the registered custom ones.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import minpy as mx
    >>> 'FullyConnected' in mx.operator.get_all_registered_operators()
    True
    """
    return sorted({*OPERATORS, *PROPS, "Custom"})
