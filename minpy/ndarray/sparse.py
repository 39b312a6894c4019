"""`minpy.nd.sparse`: names of MXNet's sparse arrays. Arrays are dense here: its operators are those of `minpy.nd`."""

from __future__ import annotations

from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray import op
from minpy.ndarray.sparse_arrays import (
    BaseSparseNDArray,
    CSRNDArray,
    RowSparseNDArray,
    array,
    csr_matrix,
    empty,
    row_sparse_array,
    zeros,
)
from minpy.ops.registry import OPERATORS as _OPERATORS

# What MXNet has for sparse arrays, and for dense ones under the same names.
NAMES = [
    "ElementWiseSum", "Embedding", "FullyConnected", "LinearRegressionOutput", "LogisticRegressionOutput",
    "MAERegressionOutput", "abs", "adam_update", "add", "add_n", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctanh", "broadcast_add", "broadcast_div", "broadcast_minus", "broadcast_mul", "broadcast_plus", "broadcast_sub",
    "cast_storage", "cbrt", "ceil", "clip", "concat", "cos", "cosh", "degrees", "divide", "dot", "elemwise_add",
    "elemwise_div", "elemwise_mul", "elemwise_sub", "exp", "expm1", "fix", "floor", "ftrl_update", "gamma", "gammaln",
    "log", "log10", "log1p", "log2", "make_loss", "mean", "multiply", "negative", "norm", "radians", "relu", "rint",
    "round", "rsqrt", "sgd_mom_update", "sgd_update", "sigmoid", "sign", "sin", "sinh", "slice", "sqrt", "square",
    "stop_gradient", "subtract", "sum", "tan", "tanh", "trunc", "where", "zeros_like",
]  # fmt: skip

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "array",
    "csr_matrix",
    "empty",
    "op",
    "row_sparse_array",
    "zeros",
    *(name for name in NAMES if name in _OPERATORS),
]
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, __all__, _OPERATORS.__getitem__, missing("minpy.nd.sparse", "operator", __all__))
