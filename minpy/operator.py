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

from minpy.custom.prop import CustomOp, CustomOpProp
from minpy.custom.registry import find_prop, get_all_registered_operators, register
from minpy.namespaces import listing, missing

__all__ = ["CustomOp", "CustomOpProp", "find_prop", "get_all_registered_operators", "register"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.operator", "name", __all__)
