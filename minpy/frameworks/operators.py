"""Which operator somebody means who hands one to a bridge: itself, a registered prop, one of a native library."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.configured import OperatorFamily
from minpy.core.errors import ArgumentError, describe, nearest
from minpy.custom.custom_call import Custom, prop_operator
from minpy.custom.prop import CustomOpProp
from minpy.custom.registry import PROPS
from minpy.frameworks.registered_prop import RegisteredProp
from minpy.ops.registry import known_operator

__all__ = ["as_operator", "operator_of", "refuse_attributes"]


def as_operator(op: Any) -> Any:
    """Return the operator that is meant by what `to_torch`, `to_jax` and `to_pytensor` take.

    Parameters
    ----------
    op : Operator, str, class, function or functools.partial
        - An operator: a `@customop`, `mx.nd.softmax`; or what a bridge has made of one.
        - The name of a prop, as in `@mx.operator.register('name')`, or the class that was registered. The parameters
          of its constructor are attributes then, and reach it as strings.
        - An operator of a native library, `mx.nd.my_gemm`, with the attributes that are its defaults.
        - `functools.partial` of that with attributes, `partial(mx.nd.my_gemm, transpose_a=True)`, or of `mx.nd.Custom`
          with `op_type` and parameters: an operator of its own, for what decides about inputs and outputs.

    Returns
    -------
    Operator
        It has `infer`, `check` and `traced`.

    Raises
    ------
    ArgumentError
        For what is no operator, and with the nearest names, if no prop is registered under a name.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.frameworks import as_operator
    >>> class Scale(mx.operator.CustomOp):
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], self.factor * in_data[0])
    >>> @mx.operator.register('doctest_scaled')
    ... class ScaleProp(mx.operator.CustomOpProp):
    ...     def __init__(self, factor='2'):
    ...         super().__init__()
    ...         self.factor = float(factor)
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Scale(self.factor)
    >>> scaled = as_operator('doctest_scaled')
    >>> scaled(numpy.ones(2), factor=3), str(scaled.infer(((4, 3), 'float32')))
    (array([3., 3.]), '(float32 (4, 3)), by rule')
    """
    return operator_of(op, "as_operator")


def operator_of(op: Any, caller: str) -> Any:
    """Return the operator that is meant: see `as_operator`. `caller`: the function that was given it, for messages."""
    op = getattr(op, "__minpy_operator__", op)
    if isinstance(op, str):
        return _registered(op, caller)
    if isinstance(op, type) and issubclass(op, CustomOpProp):
        return _of_class(op, caller)
    if isinstance(op, OperatorFamily):
        return op.configured({})
    if isinstance(op, functools.partial):
        configured = _of_partial(op, caller)
        if configured is not None:
            return configured
    if callable(op) and hasattr(op, "signature") and hasattr(op, "vjp"):
        return op
    raise ArgumentError(
        f"{caller} takes an operator of minpy's, got {describe(op)}. Make one of a function with "
        f"@minpy.customop('numpy'), and give it its gradient with def_grad.{_advice(op)}"
    )


def refuse_attributes(name: str, attributes: Mapping[str, Any]) -> None:
    """Raise the error of attributes in a call of a native operator, if there are some: it has been made for some."""
    if not attributes:
        return
    shown = ", ".join(f"{key}={value!r}" for key, value in attributes.items())
    raise ArgumentError(
        f"{name}: attributes decide what a native operator is, and are said when it is made, not in a call: "
        f"functools.partial(mx.nd.{name}, {shown}) is what to give to the bridge."
    )


def _registered(name: str, caller: str) -> RegisteredProp:
    prop: Any = PROPS.get(name)
    if prop is not None:
        return _made(name, prop)
    names = f" Registered: {', '.join(map(repr, sorted(PROPS)))}." if PROPS else " None is registered."
    if known_operator(name) is not None:
        names = f" The operator {name!r} of minpy's own is mx.nd.{name}: give that itself.{names}"
    raise ArgumentError(
        f"{caller}: no custom operator {name!r} is registered.{nearest(name, PROPS)}{names} Register one with "
        "@mx.operator.register(name) on its CustomOpProp class."
    )


def _of_class(prop: Any, caller: str) -> RegisteredProp:
    names = [name for name, registered in PROPS.items() if registered is prop]
    if names:
        return _made(names[0], prop)
    raise ArgumentError(
        f"{caller}: {prop.__name__} is not registered, or another class has taken its name since. Register it, with "
        "@mx.operator.register('name')."
    )


@functools.lru_cache(256)
def _made(name: str, prop: Any) -> RegisteredProp:
    """Return the operator of a registered class: one for all who ask, as frameworks know operators by identity."""
    return RegisteredProp(name, prop)


def _of_partial(partial: Any, caller: str) -> Any:
    """Return the operator with attributes that are said beforehand; None for another function."""
    keywords = dict(partial.keywords)
    if partial.func is not Custom and not isinstance(partial.func, OperatorFamily):
        return None
    arrays = [key for key, value in keywords.items() if isinstance(value, (numpy.ndarray, Array))]
    if partial.args or arrays:
        position = arrays[0] if arrays else "an input"
        raise ArgumentError(
            f"{caller}: {position} is given in functools.partial(...), which is for attributes; inputs are given in "
            "calls. Wrap a function that fills in what is constant, with @minpy.customop('numpy')."
        )
    if isinstance(partial.func, OperatorFamily):
        return partial.func._operator_for(keywords)
    op_type = keywords.pop("op_type", None)
    if op_type not in PROPS:
        return _registered(str(op_type), caller)
    return prop_operator(op_type, {key: str(value) for key, value in keywords.items()})


def _advice(op: Any) -> str:
    """Return what to give in the place of a function of NumPy's."""
    name = getattr(op, "__name__", None)
    if isinstance(op, type) or not callable(op) or not isinstance(name, str) or known_operator(name) is None:
        return ""
    return f" The built-in operator of that name is mx.nd.{name}."
