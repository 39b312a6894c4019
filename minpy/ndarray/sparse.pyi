"""The types of `minpy.nd.sparse`, written by tools/make_stubs.py.

An operator answers in kind: of NDArrays, an NDArray; of NumPy arrays and boxes of HIPS autograd, one of these, which is
Any here. So is what an operator answers that may have several results.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from minpy.core.operator import Operator
from minpy.ndarray import Embedding as Embedding
from minpy.ndarray import FullyConnected as FullyConnected
from minpy.ndarray import LinearRegressionOutput as LinearRegressionOutput
from minpy.ndarray import LogisticRegressionOutput as LogisticRegressionOutput
from minpy.ndarray import MAERegressionOutput as MAERegressionOutput
from minpy.ndarray import abs as abs
from minpy.ndarray import adam_update as adam_update
from minpy.ndarray import add_n as ElementWiseSum
from minpy.ndarray import add_n as add_n
from minpy.ndarray import arccos as arccos
from minpy.ndarray import arccosh as arccosh
from minpy.ndarray import arcsin as arcsin
from minpy.ndarray import arcsinh as arcsinh
from minpy.ndarray import arctan as arctan
from minpy.ndarray import arctanh as arctanh
from minpy.ndarray import broadcast_plus as add
from minpy.ndarray import broadcast_plus as broadcast_add
from minpy.ndarray import broadcast_plus as broadcast_plus
from minpy.ndarray import cast_storage as cast_storage
from minpy.ndarray import cbrt as cbrt
from minpy.ndarray import ceil as ceil
from minpy.ndarray import clip as clip
from minpy.ndarray import concat as concat
from minpy.ndarray import cos as cos
from minpy.ndarray import cosh as cosh
from minpy.ndarray import degrees as degrees
from minpy.ndarray import dot as dot
from minpy.ndarray import elemwise_add as elemwise_add
from minpy.ndarray import elemwise_div as elemwise_div
from minpy.ndarray import elemwise_mul as elemwise_mul
from minpy.ndarray import elemwise_sub as elemwise_sub
from minpy.ndarray import exp as exp
from minpy.ndarray import expm1 as expm1
from minpy.ndarray import floor as floor
from minpy.ndarray import ftrl_update as ftrl_update
from minpy.ndarray import gamma as gamma
from minpy.ndarray import gammaln as gammaln
from minpy.ndarray import log as log
from minpy.ndarray import log10 as log10
from minpy.ndarray import log1p as log1p
from minpy.ndarray import log2 as log2
from minpy.ndarray import make_loss as make_loss
from minpy.ndarray import mean as mean
from minpy.ndarray import multiply as broadcast_mul
from minpy.ndarray import multiply as multiply
from minpy.ndarray import negative as negative
from minpy.ndarray import norm as norm
from minpy.ndarray import op as op
from minpy.ndarray import radians as radians
from minpy.ndarray import relu as relu
from minpy.ndarray import rint as rint
from minpy.ndarray import round as round
from minpy.ndarray import rsqrt as rsqrt
from minpy.ndarray import sgd_mom_update as sgd_mom_update
from minpy.ndarray import sgd_update as sgd_update
from minpy.ndarray import sigmoid as sigmoid
from minpy.ndarray import sign as sign
from minpy.ndarray import sin as sin
from minpy.ndarray import sinh as sinh
from minpy.ndarray import slice as slice
from minpy.ndarray import sqrt as sqrt
from minpy.ndarray import square as square
from minpy.ndarray import stop_gradient as stop_gradient
from minpy.ndarray import subtract as broadcast_minus
from minpy.ndarray import subtract as broadcast_sub
from minpy.ndarray import subtract as subtract
from minpy.ndarray import sum_axis as sum
from minpy.ndarray import tan as tan
from minpy.ndarray import tanh as tanh
from minpy.ndarray import true_divide as broadcast_div
from minpy.ndarray import true_divide as divide
from minpy.ndarray import trunc as fix
from minpy.ndarray import trunc as trunc
from minpy.ndarray import where as where
from minpy.ndarray import zeros_like as zeros_like
from minpy.ndarray.ndarray import NDArray as NDArray
from minpy.ndarray.sparse_arrays import BaseSparseNDArray as BaseSparseNDArray
from minpy.ndarray.sparse_arrays import CSRNDArray as CSRNDArray
from minpy.ndarray.sparse_arrays import RowSparseNDArray as RowSparseNDArray
from minpy.ndarray.sparse_arrays import array as array
from minpy.ndarray.sparse_arrays import csr_matrix as csr_matrix
from minpy.ndarray.sparse_arrays import empty as empty
from minpy.ndarray.sparse_arrays import row_sparse_array as row_sparse_array
from minpy.ndarray.sparse_arrays import zeros as zeros

_P = ParamSpec("_P")
_A = TypeVar("_A", bound=NDArray)

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...


