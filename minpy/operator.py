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

from typing import NamedTuple

from minpy.core.attributes import REQUIRED
from minpy.custom.prop import CustomOp, CustomOpProp
from minpy.custom.registry import find_prop, get_all_registered_operators, register
from minpy.namespaces import listing
from minpy.ops.registry import find_operator
from minpy.symbol.legacy import NDArrayOp, NumpyOp, PythonOp

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
__dir__ = listing(__all__)

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
    >>> found.types[2:4]
    ['NDArray-or-Symbol', 'int, required']
    """
    signature = find_operator(op_name).signature
    names, types = list(signature.inputs), [_ARRAY] * len(signature.inputs)
    if signature.variadic is not None:
        names += [signature.variadic, "num_args"]
        types += [f"{_ARRAY}[]", "int, required"]
    for name, attribute in signature.attributes.items():
        if name not in ("training", *names):
            kind = getattr(attribute.type, "__name__", str(attribute.type)) if attribute.type else "any"
            required = attribute.default is REQUIRED
            names.append(name)
            types.append(f"{kind}, required" if required else f"{kind}, optional, default={attribute.default!r}")
    return OperatorArguments(len(names), names, types)
