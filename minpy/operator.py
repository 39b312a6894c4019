"""Custom operators in MXNet's manner: a `CustomOp` computes, a `CustomOpProp` describes, `register` names them.

Examples
--------
>>> import numpy as np
>>> import minpy as mx
>>> class Sigmoid(mx.operator.CustomOp):
...     def forward(self, is_train, req, in_data, out_data, aux):
...         y = 1.0 / (1.0 + np.exp(-in_data[0].asnumpy()))
...         self.assign(out_data[0], req[0], mx.nd.array(y))
...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
...         y, dy = out_data[0].asnumpy(), out_grad[0].asnumpy()
...         self.assign(in_grad[0], req[0], mx.nd.array(dy * (1.0 - y) * y))
>>> @mx.operator.register('example_sigmoid')
... class SigmoidProp(mx.operator.CustomOpProp):
...     def create_operator(self, ctx, in_shapes, in_dtypes):
...         return Sigmoid()
>>> mx.nd.Custom(mx.nd.array([0.0]), op_type='example_sigmoid')
<BLANKLINE>
[0.5]
<NDArray 1 @cpu(0)>
"""

from __future__ import annotations

from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

from minpy.core.signatures import REQUIRED, Attribute
from minpy.custom.prop import CustomOp, CustomOpProp
from minpy.custom.registry import find_prop, get_all_registered_operators, register
from minpy.namespaces import module_functions
from minpy.ops.registry import find_operator
from minpy.symbol.legacy_operators import NDArrayOp, NumpyOp, PythonOp

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "find_prop",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]
__dir__, __getattr__ = module_functions(__name__, __all__)

_ARRAY = "NDArray-or-Symbol"


class OperatorArguments(NamedTuple):
    """How many arguments an operator has, inputs and attributes; their names; what each may be, in words."""

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Return the arguments of a built-in operator: inputs, then attributes.

    Raises
    ------
    ArgumentError
        With the nearest names, if there is no operator of that name.

    Examples
    --------
    >>> found = get_operator_arguments('FullyConnected')
    >>> found.names
    ['data', 'weight', 'bias', 'num_hidden', 'no_bias', 'flatten']
    >>> found.types[2:5]
    ['NDArray-or-Symbol', 'int, required', 'boolean, optional, default=0']
    >>> get_operator_arguments('Activation').types[1]
    "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required"
    """
    signature = find_operator(op_name).signature
    names, types = list(signature.inputs), [_ARRAY] * len(signature.inputs)
    if signature.variadic is not None:
        names += [signature.variadic, "num_args"]
        types += [f"{_ARRAY}[]", "int, required"]
    for name, attribute in signature.attributes.items():
        if name not in ("training", *names):
            names.append(name)
            types.append(_described(attribute))
    return OperatorArguments(len(names), names, types)


# What MXNet calls the types of attributes.
_CALLED = {bool: "boolean", str: "string"}


def _described(attribute: Attribute) -> str:
    """Return what an attribute may be, whether it has to be given, and its default: in MXNet's notation."""
    if attribute.words:
        words = sorted(repr(word) for word in attribute.words if word is not None)
        none = ["None"] if attribute.default is None else []
        kind = f"{{{', '.join([*none, *words])}}}"
        if attribute.default is not REQUIRED:
            return f"{kind},optional, default={str(attribute.default)!r}"
    else:
        kind = _kind(attribute.type)
        if attribute.default is None:
            kind = f"{kind} or None"
    return f"{kind}, required" if attribute.default is REQUIRED else f"{kind}, optional, {_default(attribute.default)}"


def _kind(annotation: Any) -> str:
    options = [annotation]
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        options = [option for option in get_args(annotation) if option is not type(None)]
    shapes = [option for option in options if option is tuple or get_origin(option) is tuple]
    if shapes:  # a number in its place stands for one of equal lengths
        return "tuple of <float>" if float in get_args(shapes[0]) else "Shape(tuple)"
    if len(options) != 1 or annotation in (None, Any):
        return "any"
    return _CALLED.get(options[0], getattr(options[0], "__name__", str(options[0])))


def _default(value: Any) -> str:
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, tuple):
        return f"default=[{','.join(map(str, value))}]"
    return f"default={value!r}"
