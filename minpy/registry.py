"""`mx.registry`: classes that are found by name, as optimizers, initializers and metrics are."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.namespaces import listing

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]
__dir__ = listing(__all__)

_C = TypeVar("_C", bound=type)

_CLASSES: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """Return the classes that are registered for a base, by their names in lower case: a copy.

    Parameters
    ----------
    base_class : type

    Returns
    -------
    dict
    """
    return _CLASSES.setdefault(base_class, {}).copy()


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return the function that registers classes derived from a base.

    Parameters
    ----------
    base_class : type
    nickname : str
        What messages call such a class.

    Returns
    -------
    callable
        `register(cls, name=None)` returns the class; its name is by default that of the class. A name that is taken
        goes to the new class, with a warning.

    Raises
    ------
    ArgumentError
        By `register`, for what is not derived from the base.

    Examples
    --------
    >>> import minpy as mx
    >>> class Schedule:
    ...     pass
    >>> register = mx.registry.get_register_func(Schedule, 'schedule')
    >>> @register
    ... class Constant(Schedule):
    ...     pass
    >>> mx.registry.get_create_func(Schedule, 'schedule')('constant')  # doctest: +ELLIPSIS
    <...Constant object at ...>
    """
    classes = _CLASSES.setdefault(base_class, {})

    def register(cls: _C, name: str | None = None) -> _C:
        if not (isinstance(cls, type) and issubclass(cls, base_class)):
            raise ArgumentError(
                f"register: expected a class derived from {base_class.__name__}, to be {_one(nickname)}; got "
                f"{describe(cls)}."
            )
        return enter_class(classes, cls, nickname, name)

    register.__doc__ = f"Register a class derived from {base_class.__name__} as {_one(nickname)}, under its name."
    return register


def enter_class(classes: dict[str, type], cls: _C, nickname: str, name: str | None = None) -> _C:
    """Put a class into a table under its name, or another, in lower case; warn if that was another class's."""
    key = (cls.__name__ if name is None else name).lower()
    before = classes.get(key)
    if before is not None and (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
        warnings.warn(
            f"the {nickname} {key!r} is now {cls.__module__}.{cls.__qualname__}; it was "
            f"{before.__module__}.{before.__qualname__}.",
            UserWarning,
            stacklevel=3,
        )
    classes[key] = cls
    return cls


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return the function that makes decorators which register a class under several names.

    Parameters
    ----------
    base_class : type
    nickname : str

    Returns
    -------
    callable
        `alias(*names)` returns a decorator.

    Examples
    --------
    >>> import minpy as mx
    >>> class Rule:
    ...     pass
    >>> @mx.registry.get_alias_func(Rule, 'rule')('first', 'one')
    ... class First(Rule):
    ...     pass
    >>> sorted(mx.registry.get_registry(Rule))
    ['first', 'one']
    """
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[_C], _C]:
        def decorate(cls: _C) -> _C:
            for name in names:
                register(cls, name)
            return cls

        return decorate

    alias.__doc__ = f"Return a decorator that registers {_one(nickname)} under these names."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return the function that makes an instance of a registered class.

    Parameters
    ----------
    base_class : type
    nickname : str

    Returns
    -------
    callable
        `create(what, *args, **kwargs)`, where `what` is a name, an instance (which is returned), a dict whose entry
        `nickname` is the name and whose others are the arguments, or the JSON of such a dict, or of a list of a name
        and a dict of arguments.

    Raises
    ------
    ArgumentError
        By `create`, for what is none of these, or for arguments beside an instance.
    ArgumentValueError
        By `create`, for names that are not registered.

    Examples
    --------
    >>> import minpy as mx
    >>> class Shape:
    ...     def __init__(self, size=1):
    ...         self.size = size
    >>> class Square(Shape):
    ...     pass
    >>> mx.registry.get_register_func(Shape, 'shape')(Square) is Square
    True
    >>> create = mx.registry.get_create_func(Shape, 'shape')
    >>> create('square', size=3).size, create('["square", {"size": 4}]').size
    (3, 4)
    """
    classes = _CLASSES.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        if args:
            what, args = args[0], args[1:]
        elif nickname in kwargs:
            what = kwargs.pop(nickname)
        else:
            raise ArgumentError(f"create: which {nickname}? Give a name: {_names(classes)}.")
        if isinstance(what, base_class):
            if args or kwargs:
                raise ArgumentError(
                    f"create: {type(what).__name__} is made already, and cannot take further arguments "
                    f"({', '.join([*map(str, args), *kwargs])}); give its name instead, or set its attributes."
                )
            return what
        if isinstance(what, str) and what.startswith(("[", "{")):
            text = what
            try:
                what = json.loads(text)
            except ValueError as error:
                raise ArgumentValueError(f"create: {text!r} is no JSON that names {_one(nickname)}: {error}") from None
            if isinstance(what, list):
                if args or kwargs or [*map(type, what)] != [str, dict]:
                    raise ArgumentValueError(
                        f"create: {text!r} must be a list of the {nickname}'s name and a dict of its arguments, and "
                        "stand alone."
                    )
                what, kwargs = what
        if isinstance(what, dict):
            if args or kwargs or nickname not in what:
                raise ArgumentError(
                    f"create: {what!r} must have an entry {nickname!r}, and stand alone: its other entries are the "
                    "arguments."
                )
            return create(**{str(key): value for key, value in what.items()})
        if not isinstance(what, str):
            raise ArgumentError(
                f"create: expected the name of {_one(nickname)}, or {_one(base_class.__name__)}; got {describe(what)}."
            )
        cls = classes.get(what.lower())
        if cls is None:
            raise ArgumentValueError(
                f"create: there is no {nickname} {what!r}.{nearest(what.lower(), classes)} "
                f"There are {_names(classes)}. Others have to be registered first, with {nickname}.register."
            )
        return cls(*args, **kwargs)

    create.__doc__ = f"Make {_one(nickname)}, by its name in lower or upper case."
    return create


def _one(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _names(classes: dict[str, type]) -> str:
    return ", ".join(repr(name) for name in classes if not name.startswith("_")) or "none"
