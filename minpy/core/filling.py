"""Attributes filled in once: rules, kernels and inference rules get the attributes that they name, with their defaults.

A default stands in one place, the signature of the operator's forward function. What belongs to the operator names the
attributes that it reads, without restating them; one that drifted would be a silently wrong gradient.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from minpy.core.attributes import REQUIRED, Signature
from minpy.core.errors import ArgumentError, nearest

__all__ = ["adapted", "with_attributes"]


def adapted(function: Callable[..., Any], signature: Signature, what: str) -> Any:
    """Return a function that may be called with the attributes given in a call of the operator, whichever these are.

    Parameters
    ----------
    function : callable
        A rule, a kernel or an inference rule of the operator.
    signature : Signature
        The operator's.
    what : str
        What messages call the function.

    Returns
    -------
    callable
        The function itself where it can be, else one that fills in what it names and was not given, and leaves out what
        it does not name; its attribute `adapted_from` is the function.

    Raises
    ------
    ArgumentError
        If it names an attribute that the operator does not have.

    Examples
    --------
    >>> from minpy.core.attributes import read_signature
    >>> def scale(data, *, factor=2.0, verbose=False): ...
    >>> rule = adapted(lambda ans, data, *, factor: lambda g: g * factor, read_signature(scale), 'the rule of scale')
    >>> rule(None, 1.0)(10.0), rule(None, 1.0, factor=3.0, verbose=True)(10.0)
    (20.0, 30.0)
    """
    attributes = signature.attributes
    if not attributes and not signature.defaults:
        return function
    if not isinstance(function, types.FunctionType):
        return _adapted_callable(function, signature)
    code = function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    open_ended = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if open_ended and not names:  # a decorator's wrapper, say: whatever it calls finds all attributes
        return _filled(function, _defaults(signature))
    defaults = dict(function.__kwdefaults__ or {})
    missing = []
    for name in names:
        if name in attributes:
            if attributes[name].default is not REQUIRED:
                defaults[name] = attributes[name].default
        elif name not in defaults and not signature.open_ended:
            missing.append(name)
    if missing:
        raise ArgumentError(
            f"{what} names {', '.join(map(repr, missing))}, which the operator does not have; its attributes are "
            f"{', '.join(attributes)}.{nearest(missing[0], attributes)}"
        )
    whole, inputs = function, _input_defaults(function, signature)
    if defaults != (function.__kwdefaults__ or {}) or inputs != (function.__defaults__ or ()):
        whole = types.FunctionType(code, function.__globals__, function.__name__, inputs, function.__closure__)
        whole.__kwdefaults__ = defaults
        whole.__qualname__, whole.__module__, whole.__doc__ = (
            function.__qualname__,
            function.__module__,
            function.__doc__,
        )
        whole.adapted_from = function  # type: ignore[attr-defined]
    if open_ended or (len(names) >= len(attributes) and not signature.open_ended):
        return whole
    return _narrowed(whole, frozenset(names), function)


def with_attributes(function: Callable[..., Any], attributes: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a rule, kernel or form that an operator holds with the attributes of a call: what is called many times.

    Examples
    --------
    >>> from minpy.core.attributes import read_signature
    >>> def scale(data, *, factor=2.0, verbose=False): ...
    >>> kernel = adapted(lambda data, *, factor: data * factor, read_signature(scale), 'the kernel of scale')
    >>> with_attributes(kernel, {'factor': 3.0, 'verbose': True})(2.0)
    6.0
    """
    whole, names = getattr(function, "narrowed", (function, None))
    if names is not None:
        attributes = {name: value for name, value in attributes.items() if name in names}
    return functools.partial(whole, **attributes) if attributes else whole


def _input_defaults(function: types.FunctionType, signature: Signature) -> tuple[Any, ...]:
    """Return the defaults of a function's last positional parameters: the signature's where it has them."""
    code, own = function.__code__, function.__defaults__ or ()
    positions = code.co_varnames[: code.co_argcount]
    known = dict(zip(positions[len(positions) - len(own) :], own, strict=True))
    found: list[Any] = []
    for name in reversed(positions):
        if name in signature.defaults:
            found.append(signature.defaults[name])
        elif name in known:
            found.append(known[name])
        else:
            break
    return tuple(reversed(found))


def _defaults(signature: Signature) -> dict[str, Any]:
    return {name: one.default for name, one in signature.attributes.items() if one.default is not REQUIRED}


def _narrowed(whole: Callable[..., Any], names: frozenset[str], function: Callable[..., Any]) -> Any:
    """Return `function` with the attributes left out that it does not name."""
    if not names:

        def call(*arguments: Any, **attributes: Any) -> Any:
            return whole(*arguments)

    else:

        def call(*arguments: Any, **attributes: Any) -> Any:
            if not attributes.keys() <= names:
                for name in attributes.keys() - names:
                    del attributes[name]
            return whole(*arguments, **attributes)

    functools.update_wrapper(call, function)
    call.adapted_from = function  # type: ignore[attr-defined]
    call.narrowed = (whole, names)  # type: ignore[attr-defined]
    return call


def _filled(function: Callable[..., Any], defaults: dict[str, Any]) -> Any:
    """Return `function` with all attributes, given or not."""

    def call(*arguments: Any, **attributes: Any) -> Any:
        return function(*arguments, **{**defaults, **attributes})

    functools.update_wrapper(call, function)
    call.adapted_from = function  # type: ignore[attr-defined]
    return call


def _adapted_callable(function: Any, signature: Signature) -> Any:
    """Adapt what is no plain function: a partial, an instance with `__call__`, a built-in."""
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return function
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return _filled(function, _defaults(signature))
    names = frozenset(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)
    defaults = {name: value for name, value in _defaults(signature).items() if name in names}
    return _narrowed(_filled(function, defaults) if defaults else function, names, function)
