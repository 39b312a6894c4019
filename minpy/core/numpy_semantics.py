"""The switches of NumPy's semantics, which `set_np` sets for a thread: arrays, shapes, and the default dtype.

- *arrays*: layers and models are given NumPy's arrays. Functions do not depend on it: `minpy.np` returns its own
  arrays, and `minpy.nd` NDArrays.
- *shapes*: an array may have no axes, and lengths of 0. So where shapes are given and inferred, what is not known is -1
  for a length and None for a shape; without the switch it is 0 and ().
- *dtype*: what is made without a dtype is float64, as in NumPy; without the switch float32.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.core.state import ThreadValues, leaving

__all__ = [
    "SwitchScope",
    "default_float",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "reset_np",
    "set_np",
    "set_np_shape",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _Switches(ThreadValues):
    array: bool
    shape: bool
    dtype: bool


switches = _Switches(array=False, shape=False, dtype=False)
_FLOAT32, _FLOAT64 = numpy.dtype("float32"), numpy.dtype("float64")


def is_np_array() -> bool:
    """Tell whether this thread uses NumPy's arrays: see `set_np`.

    Examples
    --------
    >>> is_np_array()
    False
    """
    return switches.array


def is_np_shape() -> bool:
    """Tell whether in this thread -1 is a length that is not known, and 0 is a length: see `np_shape`.

    Examples
    --------
    >>> with np_shape():
    ...     is_np_shape()
    True
    """
    return switches.shape


def is_np_default_dtype() -> bool:
    """Tell whether in this thread arrays that are made without a dtype are float64: see `set_np`.

    Examples
    --------
    >>> is_np_default_dtype()
    False
    """
    return switches.dtype


def default_float() -> numpy.dtype:
    """Return the dtype of arrays of `minpy.np` that are made without one."""
    return _FLOAT64 if switches.dtype else _FLOAT32


# -- setting -----------------------------------------------------------------------------------------------------------


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Switch to NumPy's semantics in this thread: its arrays, its shapes, and optionally its default dtype.

    Parameters
    ----------
    shape : bool
        Whether arrays may have no axes and lengths of 0; what is not known is -1 or None then.
    array : bool
        Whether layers and models use `minpy.np.ndarray`.
    dtype : bool
        Whether arrays that are made without a dtype are float64 and not float32.

    Raises
    ------
    ArgumentValueError
        For `array` without `shape`.

    Examples
    --------
    >>> set_np()
    >>> is_np_array(), is_np_shape(), is_np_default_dtype()
    (True, True, False)
    >>> reset_np()
    """
    if array and not shape:
        raise ArgumentValueError(
            "set_np: array=True needs shape=True, because NumPy's arrays may have no axes. Leave `shape` out, or give "
            "array=False, too."
        )
    vars(switches).update(array=bool(array), shape=bool(shape), dtype=bool(dtype))


def reset_np() -> None:
    """Switch NumPy's semantics off in this thread: what `set_np(shape=False, array=False)` does."""
    set_np(shape=False, array=False, dtype=False)


def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes on or off in this thread, and return what was set before.

    Examples
    --------
    >>> set_np_shape(True), set_np_shape(False)
    (False, True)
    """
    before = switches.shape
    switches.shape = bool(active)
    return before


class SwitchScope:
    """Sets switches of this thread inside `with`, and restores them, exceptions and interrupts or not."""

    def __init__(self, **values: bool) -> None:
        self._values = values

    def __repr__(self) -> str:
        return f"<scope of NumPy's semantics: {', '.join(f'{name}={value}' for name, value in self._values.items())}>"

    def __enter__(self) -> None:
        values = vars(switches)
        before = {name: values[name] for name in self._values}
        before["leave"] = values["leave"]
        values |= {**self._values, "leave": partial(values.update, before)}

    __exit__ = leaving(switches)


def np_shape(active: bool = True) -> SwitchScope:
    """Return a scope in which arrays may have no axes and lengths of 0.

    Where shapes are inferred, lengths that are not known are -1, and shapes of which nothing is known None. A shape
    that is given as () is that of an array without axes.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x')
    >>> with np_shape(True):
    ...     (x + 1).infer_shape(x=(0, 3))
    ([(0, 3)], [(0, 3)], [])
    >>> (x + 1).infer_shape(x=(0, 3))
    (None, None, None)
    """
    return SwitchScope(shape=bool(active))


def np_array(active: bool = True) -> SwitchScope:
    """Return a scope in which layers and models use `minpy.np.ndarray`.

    Examples
    --------
    >>> with np_array():
    ...     is_np_array()
    True
    """
    return SwitchScope(array=bool(active))


def np_default_dtype(active: bool = True) -> SwitchScope:
    """Return a scope in which arrays that are made without a dtype are float64.

    Examples
    --------
    >>> import minpy as mx
    >>> with np_default_dtype():
    ...     mx.np.ones(2).dtype
    dtype('float64')
    """
    return SwitchScope(dtype=bool(active))


# -- decorators --------------------------------------------------------------------------------------------------------


def _in_scope(function: Decorated, **values: bool) -> Decorated:
    """Return a function that runs in a scope of its own at each call."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with SwitchScope(**values):
            return function(*arguments, **keywords)

    vars(call)["_switches"] = values
    return call  # type: ignore[return-value]


def _member_in_scope(member: Any, **values: bool) -> Any:
    """Return a member of a class wrapped so that it runs in a scope; None if it is no function or property."""
    if isinstance(member, (staticmethod, classmethod)):
        return type(member)(_in_scope(member.__func__, **values))
    if isinstance(member, property):
        accessors: list[Any] = [member.fget, member.fset, member.fdel]
        wrapped = [None if accessor is None else _in_scope(accessor, **values) for accessor in accessors]
        return property(wrapped[0], wrapped[1], wrapped[2], member.__doc__)
    return _in_scope(member, **values) if inspect.isfunction(member) else None


def _inherited_members(cls: type) -> dict[str, Any]:
    """Return the inherited members that are wrapped: of users' classes all that are public.

    A class of minpy lists in `_entered_by_users` which of its methods are wrapped: those that make arrays.
    """
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        entries = getattr(base, "_entered_by_users", ())
        is_minpy_class = base.__module__.partition(".")[0] == "minpy"
        for key, member in vars(base).items():
            public = not key.startswith("_") or key in ("__init__", "__call__", "__getitem__", "__iter__")
            if key in entries if is_minpy_class else public:
                members[key] = member
            else:
                members.pop(key, None)  # it overrides the member of a base class
    return members


def _decorate(name: str, decorated: Any, **values: bool) -> Any:
    if inspect.isclass(decorated):
        members = {**_inherited_members(decorated), **vars(decorated)}
        for key, member in members.items():
            wrapped = _member_in_scope(member, **values)
            if wrapped is not None:
                setattr(decorated, key, wrapped)
        return decorated
    if callable(decorated):
        return _in_scope(decorated, **values)
    raise ArgumentError(f"{name} decorates functions and classes; got {describe(decorated)}.")


def _decorator(name: str, semantics: str, **values: bool) -> Callable[[Decorated], Decorated]:
    """Return a decorator with this name, whose functions run with some switches set."""

    def decorate(func: Decorated) -> Decorated:
        decorated: Decorated = _decorate(name, func, **values)
        return decorated

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = f"""Make a function, or all that a class defines, run with {semantics}.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    return decorate


use_np_shape = _decorator("use_np_shape", "NumPy's shapes: see `np_shape`", shape=True)
use_np_array = _decorator("use_np_array", "NumPy's arrays: see `np_array`", array=True)
use_np_default_dtype = _decorator(
    "use_np_default_dtype", "float64 as the default dtype: see `np_default_dtype`", dtype=True
)


def use_np(func: Decorated) -> Decorated:
    """Make a function, or all that a class defines, run with NumPy's arrays and shapes: see `set_np`.

    Of a class, the functions, properties, class and static methods that it defines are wrapped, in place, and those
    that it has of classes of yours. Of a Gluon block, so are `initialize`, the call, and what else makes arrays: its
    parameters are `minpy.np.ndarray`s.

    Raises
    ------
    ArgumentError
        If it is neither a function nor a class.

    Examples
    --------
    >>> @use_np
    ... def inside():
    ...     return is_np_array(), is_np_shape()
    >>> inside(), is_np_array()
    ((True, True), False)
    """
    decorated: Decorated = _decorate("use_np", func, array=True, shape=True)
    return decorated
