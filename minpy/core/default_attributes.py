"""Attributes filled in once: rules, kernels and inference rules get the attributes that they name, with their defaults.

A default is in one place, the signature of the operator's forward function. Rules and kernels name the attributes that
they read, without restating defaults: one that drifted would be a silently wrong gradient.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minpy.core.errors import ArgumentError, nearest
from minpy.core.signatures import REQUIRED, Signature

__all__ = ["adapted", "default_attributes", "require_parameters", "with_attributes", "with_keyword_defaults"]


def adapted(function: Callable[..., Any], signature: Signature, role: str, leading: int) -> Any:
    """Return a function that may be called with the attributes given in a call of the operator, whichever these are.

    It is the function itself where possible, else one that fills in the attributes that it names and the call lacks,
    and drops those that it does not name; its attribute `adapted_from` is the function. Raises an ArgumentError
    if it names an attribute that the operator does not have.

    `function`: a rule, a kernel or an inference rule of the operator, which messages call `role`. `leading`: how many
    of its parameters are not attributes: usually the result and the inputs.

    Examples
    --------
    >>> from minpy.core.signatures import read_signature
    >>> def scale(data, *, factor=2.0, verbose=False): ...
    >>> rule = adapted(lambda ans, data, *, factor: lambda g: g * factor, read_signature(scale), 'the rule of scale', 2)
    >>> rule(None, 1.0)(10.0), rule(None, 1.0, factor=3.0, verbose=True)(10.0)
    (20.0, 30.0)
    """
    attributes = signature.attributes
    if not attributes and not signature.defaults:
        return function
    spec = _parameters_of(function)
    if spec is None:  # a built-in function: it is called with all arguments
        return function
    if spec.open_ended:
        call = _filled(_with_inputs(function, signature) if spec.is_plain else function, default_attributes(signature))
        call.adapted_from = function
        return call
    missing = [name for name in spec.required if name not in attributes]
    if missing and not signature.open_ended:
        raise ArgumentError(
            f"{role} names {', '.join(map(repr, missing))}, which is no attribute of the operator; its attributes are "
            f"{', '.join(attributes) or 'none'}.{nearest(missing[0], attributes)}"
            + (" Inputs are given to it by position." if missing[0] in signature.inputs else "")
        )
    defaults = {
        name: attributes[name].default
        for name in spec.named
        if name in attributes and attributes[name].default is not REQUIRED
    }
    by_position = [name for name in spec.positions[leading:] if name in attributes]
    names = frozenset((*spec.named, *by_position))
    if by_position or not spec.is_plain:
        defaults.update((name, value) for name, value in default_attributes(signature).items() if name in by_position)
        return _narrowed(_filled(function, defaults) if defaults else function, names, function)
    target: Any = function
    own_defaults, inputs = target.__kwdefaults__ or {}, _input_defaults(target, signature)
    if {**own_defaults, **defaults} != own_defaults or inputs != (function.__defaults__ or ()):
        target = _copied(function, inputs, {**own_defaults, **defaults})
        target.adapted_from = function
    if len(names) >= len(attributes) and not signature.open_ended:
        return target
    return _narrowed(target, names, function)


def require_parameters(
    function: Callable[..., Any], signature: Signature, role: str, before: Sequence[str] = ()
) -> None:
    """Raise unless a user's function takes the inputs, after the parameters `before` them.

    Examples
    --------
    >>> from minpy.core.signatures import read_signature
    >>> def scale(data, factor): ...
    >>> require_parameters(lambda ans, data, factor: 0, read_signature(scale), 'scale: the rule', ['ans'])
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a built-in function, which raises when it is called
        return
    arguments = [*before, *signature.inputs]
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    too_few = len(positional) < len(arguments) and not any(
        parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters
    )
    surplus = [
        parameter
        for parameter in positional[len(arguments) :]
        if parameter.default is REQUIRED and parameter.name not in signature.attributes
    ]
    if not too_few and (not surplus or signature.variadic is not None):
        return
    if signature.variadic is not None:
        arguments.append(f"*{signature.variadic}")
    is_rule = "ans" in before
    first = (
        " What the operator returned, ans, comes first."
        if is_rule and "ans" not in [parameter.name for parameter in positional]
        else ""
    )
    written = [*arguments, *(["*", *signature.attributes] if signature.attributes else [])]
    raise ArgumentError(
        f"{role} takes ({', '.join(parameter.name for parameter in positional)}), and is called with "
        f"({', '.join(arguments)}).{first} Write "
        f"def rule({', '.join(written)}){': return lambda g: ...' if is_rule else ''}"
        + (", with those of the attributes that it reads." if signature.attributes else "" if is_rule else ".")
    )


def with_attributes(function: Callable[..., Any], attributes: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a rule, kernel or form of an operator with the attributes of a call, for many calls.

    Examples
    --------
    >>> from minpy.core.signatures import read_signature
    >>> def scale(data, *, factor=2.0, verbose=False): ...
    >>> kernel = adapted(lambda data, *, factor: data * factor, read_signature(scale), 'the kernel of scale', 1)
    >>> with_attributes(kernel, {'factor': 3.0, 'verbose': True})(2.0)
    6.0
    """
    target, names = getattr(function, "narrowed", (function, None))
    if names is not None:
        attributes = {name: value for name, value in attributes.items() if name in names}
    return functools.partial(target, **attributes) if attributes else target


class _Parameters(NamedTuple):
    """The parameters of a function: those by position, the keyword-only ones, and those of them without a default."""

    positions: Sequence[str]
    named: Sequence[str]
    required: Sequence[str]
    open_ended: bool
    is_plain: bool


def _parameters_of(function: Any) -> _Parameters | None:
    """Return the parameters of a function; None if they cannot be read."""
    if type(function) is types.FunctionType and not hasattr(function, "__wrapped__"):  # nearly all; `inspect` is slow
        code, own = function.__code__, function.__kwdefaults__ or {}
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        required = [name for name in named if name not in own]
        open_ended = bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return _Parameters(code.co_varnames[: code.co_argcount], named, required, open_ended, True)
    if type(function) is types.MethodType and (form := _parameters_of(function.__func__)) is not None and form.is_plain:
        return form._replace(positions=form.positions[1:], is_plain=False)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    keyword_only = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return _Parameters(
        [
            parameter.name
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ],
        [parameter.name for parameter in keyword_only] + sorted(_strings_in_wrappers(function)),
        [parameter.name for parameter in keyword_only if parameter.default is REQUIRED],
        any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters),
        False,
    )


def _strings_in_wrappers(function: Any) -> set[str]:
    """Return the strings in the code of a decorator's wrappers: the keywords that they may handle themselves."""
    strings: set[str] = set()
    while hasattr(function, "__wrapped__"):
        code = getattr(function, "__code__", None)
        strings.update(constant for constant in getattr(code, "co_consts", ()) if isinstance(constant, str))
        function = function.__wrapped__
    return strings


def _with_inputs(function: Any, signature: Signature) -> Any:
    """Return a function whose last positional parameters have the signature's defaults, as far as it has them."""
    inputs = _input_defaults(function, signature)
    if inputs == (function.__defaults__ or ()):
        return function
    return functools.update_wrapper(_copied(function, inputs, function.__kwdefaults__), function)


def with_keyword_defaults(function: Any, defaults: Mapping[str, Any]) -> Any:
    """Return a copy of a plain function with other defaults of keyword parameters: a call costs no more than before.

    Examples
    --------
    >>> def double(x, *, _add=lambda a, b: a + b): return _add(x, x)
    >>> with_keyword_defaults(double, {'_add': lambda a, b: (a, b)})(1)
    (1, 1)
    """
    return _copied(function, function.__defaults__, {**function.__kwdefaults__, **defaults})


def _copied(function: Any, inputs: Any, keyword_defaults: dict[str, Any] | None) -> Any:
    """Return a copy of a plain function with other defaults, of parameters by position and of keyword parameters."""
    copy: Any = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, inputs, function.__closure__
    )
    copy.__kwdefaults__ = keyword_defaults
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return copy


def _input_defaults(function: types.FunctionType, signature: Signature) -> tuple[Any, ...]:
    """Return the defaults of a function's last positional parameters: the signature's where it has them."""
    code, own = function.__code__, function.__defaults__ or ()
    positions = code.co_varnames[: code.co_argcount]
    defaults = {**dict(zip(positions[len(positions) - len(own) :], own, strict=True)), **signature.defaults}
    last = itertools.takewhile(defaults.__contains__, reversed(positions))
    return tuple(defaults[name] for name in last)[::-1]


def default_attributes(signature: Signature) -> dict[str, Any]:
    """Return the defaults of the attributes that have one."""
    return {
        name: attribute.default for name, attribute in signature.attributes.items() if attribute.default is not REQUIRED
    }


def _narrowed(target: Callable[..., Any], names: frozenset[str], function: Callable[..., Any]) -> Any:
    """Return `function` with the attributes left out that it does not name."""
    if not names:

        def call(*arguments: Any, **attributes: Any) -> Any:
            return target(*arguments)

    else:

        def call(*arguments: Any, **attributes: Any) -> Any:
            if not attributes.keys() <= names:
                for name in attributes.keys() - names:
                    del attributes[name]
            return target(*arguments, **attributes)

    call.__doc__ = function.__doc__
    call.adapted_from = function  # type: ignore[attr-defined]
    call.narrowed = (target, names)  # type: ignore[attr-defined]
    return call


def _filled(function: Callable[..., Any], defaults: dict[str, Any]) -> Any:
    """Return `function` with all attributes, given or not."""

    def call(*arguments: Any, **attributes: Any) -> Any:
        return function(*arguments, **{**defaults, **attributes})

    functools.update_wrapper(call, function)
    call.adapted_from = function  # type: ignore[attr-defined]
    vars(call).pop("narrowed", None)  # that of a `function` which is adapted already
    return call
