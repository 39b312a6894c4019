"""The names with which HIPS autograd is extended: for operators that were written for it.

`from autograd.extend import primitive, defvjp` becomes `from minpy.extend import primitive, defvjp`. A primitive is an
operator here, as `minpy.customop` makes them, so it runs in every mode; `op.def_grad` and its kin are what these
functions call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from minpy.bridge.autograd_functions import through_autograd
from minpy.core.array import Array, as_raw
from minpy.core.customop import USER_OPERATORS, user_name
from minpy.core.errors import ArgumentError, describe
from minpy.core.operator import Operator
from minpy.core.signatures import Attribute, Signature
from minpy.namespaces import module_functions

__all__ = [
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "register_notrace",
    "through_autograd",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


class ExtendPrimitive(Operator):
    """An operator whose parameters with defaults that are no numbers may be given by position, too.

    So autograd calls functions such as `def total(x, axis=None)`.
    """

    def __call__(self, *arguments: Any, **attributes: Any) -> Any:
        inputs = len(self.signature.inputs)
        if len(arguments) > inputs and self.signature.variadic is None:
            names = [name for name in self.signature.attributes if name not in attributes]
            if len(arguments) - inputs <= len(names):
                attributes.update(zip(names, arguments[inputs:], strict=False))
                arguments = arguments[:inputs]
        return super().__call__(*arguments, **attributes)


def primitive(f_raw: Callable[..., Any]) -> Operator:
    """Make an operator of a function in plain NumPy, whose gradients `defvjp` and `defjvp` define.

    Parameters
    ----------
    f_raw : callable
        Takes arrays by position; returns an array, a number, or a tuple of them. Parameters whose default is a number
        are inputs; with other defaults (`axis=None`) they are attributes, which have no gradient.

    Returns
    -------
    Operator
        As `minpy.customop` makes it.

    Raises
    ------
    ArgumentError
        If it is no function.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> from minpy.extend import defvjp, primitive
    >>> @primitive
    ... def logsumexp(x):
    ...     largest = np.max(x)
    ...     return largest + np.log(np.sum(np.exp(x - largest)))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))
    >>> minpy.grad(logsumexp)(np.zeros(2))
    array([0.5, 0.5])
    """
    if not callable(f_raw) or isinstance(f_raw, type):
        raise ArgumentError(f"primitive: got {describe(f_raw)}; expected a function in plain NumPy.")
    operator = ExtendPrimitive(f_raw, signature=_signature(f_raw))
    USER_OPERATORS[user_name(operator)] = operator
    return operator


def _signature(function: Callable[..., Any]) -> Signature | None:
    """Return the signature of an operator of a function; None where it is to be read as others' are."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    inputs: list[str] = []
    defaults: dict[str, Any] = {}
    attributes: dict[str, Attribute] = {}
    variadic, open_ended = None, False
    for parameter in parameters:
        default = parameter.default
        by_position = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        is_input = default is parameter.empty or isinstance(default, (float, complex, numpy.ndarray, numpy.inexact))
        if by_position and is_input and not attributes:
            inputs.append(parameter.name)
            if default is not parameter.empty:
                defaults[parameter.name] = default
        elif parameter.kind is parameter.VAR_POSITIONAL:
            if attributes:
                return None
            variadic = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        else:
            attributes[parameter.name] = Attribute(parameter.name, None, default)
    return Signature(tuple(inputs), defaults, attributes, variadic, open_ended)


def notrace_primitive(f_raw: Callable[..., Any]) -> Operator:
    """Make an operator of a function through which no gradient flows: it counts as constant.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> steps = minpy.extend.notrace_primitive(np.floor)
    >>> minpy.grad(lambda x: x * steps(x))(2.5)
    2.0
    """
    return primitive(f_raw).def_grad_zero()


def register_notrace(trace_type: Any, primitive_fun: Operator) -> None:
    """Say that no gradient flows through a primitive; for reverse and forward mode, whatever `trace_type` is."""
    _require_operator("register_notrace", primitive_fun)
    primitive_fun.def_grad_zero()


def defvjp(fun: Operator, *vjpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Define the gradients of a primitive, one argument after the other.

    Parameters
    ----------
    fun : Operator
        What `primitive` or `minpy.customop` returned.
    *vjpmakers : callable or None
        For each argument `vjpmaker(ans, *args, **kwargs)`, which returns a function from the gradient of the result to
        that of the argument; None for a gradient of zero.
    argnums : iterable of int, optional
        The positions of the arguments, by default 0, 1, ...

    Raises
    ------
    ArgumentError
        If `fun` is no operator, or has no such argument.

    Examples
    --------
    >>> import minpy
    >>> scaled = minpy.extend.primitive(lambda x, factor: x * factor)
    >>> minpy.extend.defvjp(scaled, lambda ans, x, factor: lambda g: g * factor, None)
    >>> minpy.grad(scaled, (0, 1))(2.0, 3.0)
    (3.0, 0.0)
    """
    _require_operator("defvjp", fun)
    for argnum, vjpmaker in zip(range(len(vjpmakers)) if argnums is None else argnums, vjpmakers, strict=False):
        if vjpmaker is None:
            fun.def_grad_zero(argnum)
        else:
            fun.def_grad(vjpmaker, argnum)


def defvjp_argnum(fun: Operator, vjpmaker: Callable[..., Any]) -> None:
    """Define the gradients of a primitive by one rule for any argument: `vjpmaker(argnum, ans, args, kwargs)`.

    It returns a function from the gradient of the result to that of the argument at position `argnum`.
    """
    _require_operator("defvjp_argnum", fun)

    def rule_of(argnum: int) -> Callable[..., Any]:
        return lambda ans, *args, **kwargs: vjpmaker(argnum, ans, args, kwargs)

    if fun.signature.variadic is not None:
        defvjp_argnums(
            fun,
            lambda argnums, ans, args, kwargs: (
                lambda g: tuple(vjpmaker(argnum, ans, args, kwargs)(g) for argnum in argnums)
            ),
        )
        return
    for argnum in range(len(fun.signature.inputs)):
        fun.def_grad(rule_of(argnum), argnum)


def defvjp_argnums(fun: Operator, vjpmaker: Callable[..., Any]) -> None:
    """Define the gradients of a primitive by one rule for all arguments: `vjpmaker(argnums, ans, args, kwargs)`.

    It returns a function from the gradient of the result to a sequence of gradients, one for each of `argnums`. These
    are all arguments that are floating point, also those whose gradient is not asked for.
    """
    _require_operator("defvjp_argnums", fun)

    def rule(ans: Any, *args: Any, **kwargs: Any) -> Callable[[Any], tuple[Any, ...]]:
        argnums = tuple(position for position, value in enumerate(args) if _has_gradient(value))
        pull = vjpmaker(argnums, ans, args, kwargs)

        def gradients(g: Any) -> tuple[Any, ...]:
            parts = dict(zip(argnums, pull(g), strict=True))
            return tuple(parts.get(position, 0.0) for position in range(len(args)))

        return gradients

    fun.def_multiple_grad(rule)


def _has_gradient(value: Any) -> bool:
    return isinstance(value, (Array, numpy.ndarray, numpy.generic, float, complex)) and as_raw(value).dtype.kind in "fc"


def defjvp(fun: Operator, *jvpfuns: Any, argnums: Iterable[int] | None = None) -> None:
    """Define the forward-mode rules of a primitive, one argument after the other.

    Parameters
    ----------
    fun : Operator
        What `primitive` or `minpy.customop` returned.
    *jvpfuns : callable, 'same' or None
        For each argument `jvpfun(g, ans, *args, **kwargs)`, which returns the tangent of the result for the argument's
        tangent g; 'same' where the function is linear in the argument, so that it is its own rule; None for zero.
    argnums : iterable of int, optional
        The positions of the arguments, by default 0, 1, ...

    Raises
    ------
    ArgumentError
        If `fun` is no operator, or has no such argument, or a rule is something else.

    Examples
    --------
    >>> import minpy
    >>> square = minpy.extend.primitive(lambda x: x * x)
    >>> minpy.extend.defjvp(square, lambda g, ans, x: 2 * x * g)
    >>> minpy.jvp(square, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    _require_operator("defjvp", fun)
    for argnum, jvpfun in zip(range(len(jvpfuns)) if argnums is None else argnums, jvpfuns, strict=False):
        fun.def_jvp(_forward_rule(fun, jvpfun, argnum), argnum)


def _forward_rule(fun: Operator, jvpfun: Any, argnum: int) -> Callable[..., Any]:
    if jvpfun is None:
        return lambda ans, *args, **kwargs: lambda t: _zeros_like(ans)
    if jvpfun == "same":
        return lambda ans, *args, **kwargs: lambda t: fun(*args[:argnum], t, *args[argnum + 1 :], **kwargs)
    if not callable(jvpfun):
        raise ArgumentError(
            f"defjvp: the rule of argument {argnum} of {fun.__name__} is {describe(jvpfun)}; expected a function "
            "rule(g, ans, *args), 'same', or None."
        )
    whole = fun._adapted(jvpfun, f"{fun.__name__}: the forward-mode rule", ("g", "ans"))
    return lambda ans, *args, **kwargs: lambda t: whole(t, ans, *args, **kwargs)


def _zeros_like(ans: Any) -> Any:
    return tuple(map(numpy.zeros_like, ans)) if isinstance(ans, (tuple, list)) else numpy.zeros_like(ans)


def defjvp_argnum(fun: Operator, jvpmaker: Callable[..., Any]) -> None:
    """Define the forward-mode rules of a primitive by one rule: `jvpmaker(argnum, g, ans, args, kwargs)`."""
    _require_operator("defjvp_argnum", fun)

    def rule_of(argnum: int) -> Callable[..., Any]:
        return lambda ans, *args, **kwargs: lambda t: jvpmaker(argnum, t, ans, args, kwargs)

    for argnum in range(len(fun.signature.inputs)):
        fun.def_jvp(rule_of(argnum), argnum)


def defjvp_argnums(fun: Operator, jvpmaker: Callable[..., Any]) -> None:
    """Define the forward-mode rules of a primitive by one rule: `jvpmaker(argnums, gs, ans, args, kwargs)`.

    Tangents are linear: it is asked for one argument at a time, and the results are added up.
    """
    _require_operator("defjvp_argnums", fun)
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: jvpmaker((argnum,), (g,), ans, args, kwargs))


def def_linear(fun: Operator) -> None:
    """Say that a primitive is linear in each of its arguments: in forward mode it is its own rule.

    Examples
    --------
    >>> import minpy
    >>> product = minpy.extend.primitive(lambda x, y: x * y)
    >>> minpy.extend.def_linear(product)
    >>> minpy.jvp(product, (2.0, 3.0), (1.0, 10.0))
    (6.0, 23.0)
    """
    _require_operator("def_linear", fun)
    defjvp(fun, *["same"] * len(fun.signature.inputs))


def _require_operator(api: str, fun: Any) -> None:
    if not isinstance(fun, Operator):
        raise ArgumentError(
            f"{api}: got {describe(fun)}; expected an operator: what minpy.extend.primitive or minpy.customop returned."
        )
