"""NumPy's functions as operators, by the names that MXNet's files hold: `_npi_add`, `_np_sum`, `_npx_reshape`.

Graphs are made of them (`minpy.sym.np`, and symbols that are loaded). Eager calls are NumPy's functions on arrays of
the tape, which need no further operators; so these are made when they are first asked for. The definitions are
compositions of NumPy's functions, whose gradients the tape and graphs know: there are no rules here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from minpy.core.base_operator import DTypes, Shapes
from minpy.core.operator import Operator
from minpy.core.signatures import Signature, read_signature
from minpy.ops.composed import Composed
from minpy.ops.inference.partial_shapes import UNKNOWN, as_dtype, broadcasting, same_dtype, same_shape
from minpy.ops.registry import LATE_OPERATORS, OPERATORS, find_operator

__all__ = ["elementwise", "named", "numpy_function", "reduced"]


# What says of an operator which dtypes its outputs have: see `_dtype_rule`.
DTypePolicy = str | Callable[..., Any] | None


def named(
    name: str,
    *,
    dtype: DTypePolicy = None,
    shape: Callable[..., Any] | None = None,
    zero: bool = False,
    random: bool = False,
    outputs: Sequence[str] | Callable[[dict[str, Any]], Sequence[str]] | None = None,
    optional_inputs: Mapping[str, Callable[[dict[str, Any]], bool]] | None = None,
    signature: Signature | None = None,
    own_rules: bool = False,
) -> Callable[[Callable[..., Any]], Operator]:
    """Define an operator of that name from its definition; a decorator.

    Parameters
    ----------
    name : str
        As files hold it.
    dtype : str or callable, optional
        Which dtypes the outputs have: that of the inputs, as NumPy promotes them (None); a dtype; 'attribute': what the
        attribute `dtype` says, or that of the inputs; 'float': that of the inputs, or float64 for integers; 'computed':
        what the definition returns for one element; or a function of the inputs' dtypes and the attributes that returns
        one, or a list.
    shape : callable, optional
        The rule that infers shapes. Without one, the definition is traced, or runs on ones.
    zero : bool
        Whether its gradient is zero.
    random, outputs, optional_inputs
        As for `minpy.ops.registry.operator`.
    signature : Signature, optional
        For definitions whose signature does not say it, such as ufuncs.
    own_rules : bool
        Whether its gradients are defined by rules.
    """

    def define(function: Callable[..., Any]) -> Operator:
        kind = Operator if zero or own_rules else Composed
        op = kind(function, name=name, builtin=True, signature=signature)
        op.random = random
        if zero:
            op.def_grad_zero()
        if outputs is not None:
            op.outputs = outputs
        if optional_inputs is not None:
            op.optional_inputs = optional_inputs
        op.unpickled_by = (find_operator, (name,))
        if shape is not None:
            op.def_infer_shape(shape)
        op.type_inference = _dtype_rule(op, dtype)
        assert name not in OPERATORS, f"{name} is there already"
        LATE_OPERATORS[name] = op
        return op

    return define


def elementwise(
    name: str, function: Callable[..., Any], *, zero: bool = False, dtype: DTypePolicy = "computed"
) -> Operator:
    """Define an operator that computes each element from the same element of each input: what a ufunc does."""
    signature = None
    count = function.nin if isinstance(function, np.ufunc) else function.__code__.co_argcount
    if isinstance(function, np.ufunc):
        signature = Signature(("x",) if count == 1 else ("x1", "x2"), {}, {}, function=function)
    op = named(name, dtype=dtype, shape=same_shape if count == 1 else broadcasting, zero=zero, signature=signature)(
        function
    )
    op.elementwise, op.may_alias = True, False
    op.__doc__ = _docstring(name)
    return op


def numpy_function(
    name: str,
    function: Callable[..., Any],
    inputs: str,
    *,
    dtype: DTypePolicy = None,
    shape: Callable[..., Any] | None = None,
    zero: bool = False,
    **attributes: tuple[Any, Any],
) -> None:
    """Define an operator that is a function of NumPy's, whose attributes have the same names there.

    `attributes` are the type and the default of each, or `REQUIRED`; the other arguments are those of `named`.
    """
    parameters = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, annotation=Any) for key in inputs.split()]
    for key, (kind, default) in attributes.items():
        parameters.append(Parameter(key, Parameter.KEYWORD_ONLY, annotation=kind, default=default))

    def described() -> None: ...

    vars(described)["__signature__"] = inspect.Signature(parameters, return_annotation=Any)
    signature = read_signature(described)
    named(name, dtype=dtype, shape=shape, zero=zero, signature=signature)(function).__doc__ = _docstring(name)


def _docstring(name: str) -> str:
    prefix, _, numpy_name = name.removeprefix("_").partition("_")
    return f"Return `{'npx' if prefix == 'npx' else 'numpy'}.{numpy_name}`."


def reduced(inputs: Shapes, outputs: Shapes, *, axis: Any = None, keepdims: bool = False) -> tuple[Shapes, Shapes]:
    """Infer the shapes of reductions over axes (None: all), as far as they are known."""
    shape = inputs[0]
    if shape is None:
        result: Any = () if axis is None and not keepdims else None
    else:
        axes = range(len(shape)) if axis is None else [axis] if isinstance(axis, int) else axis
        chosen = {int(number) % max(len(shape), 1) for number in axes}
        result = tuple(
            1 if number in chosen else length for number, length in enumerate(shape) if keepdims or number not in chosen
        )
    return inputs, [result] * len(outputs)


# -- dtypes ------------------------------------------------------------------------------------------------------------


_FIXED = ("bool", "int64", "float32")  # whatever the inputs have


def _dtype_rule(operator: Operator, policy: DTypePolicy) -> Callable[..., tuple[DTypes, DTypes]]:
    def rule(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        if policy is None:
            inputs, _ = same_dtype(inputs, outputs)
        else:  # outputs say nothing of the inputs
            inputs, _ = same_dtype(inputs, ())
        present = tuple(dtype for dtype in inputs if dtype is not None)
        if len(present) < len(inputs) and policy not in _FIXED:
            return inputs, outputs
        results = _output_dtypes(operator, policy, present, attributes)
        return inputs, results if isinstance(results, list) else [results] * len(outputs)

    return rule


def _output_dtypes(
    operator: Operator, policy: DTypePolicy, inputs: tuple[np.dtype, ...], attributes: dict[str, Any]
) -> Any:
    if callable(policy):
        return policy(*inputs, **attributes)
    if policy == "computed":
        return _computed_dtype(operator, inputs, tuple(sorted(attributes.items())))
    if policy == "attribute" and as_dtype(attributes.get("dtype")) is not None:
        return as_dtype(attributes["dtype"])
    if policy in (None, "attribute", "float"):
        common = np.result_type(*inputs) if inputs else np.dtype("float32")
        return np.dtype("float64") if policy == "float" and common.kind in "biu" else common
    return np.dtype(policy)


@functools.lru_cache(1024)
def _computed_dtype(
    operator: Operator, inputs: tuple[np.dtype, ...], attributes: tuple[tuple[str, Any], ...]
) -> np.dtype:
    with np.errstate(all="ignore"):
        result = operator.definition(*(np.ones(1, dtype) for dtype in inputs), **dict(attributes))
    return np.asarray(result).dtype


def unknown_length(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer nothing of a length that depends on values: one axis."""
    return inputs, [(UNKNOWN,)] * len(outputs)
