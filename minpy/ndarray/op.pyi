"""The types of `minpy.nd.op`, written by tools/make_stubs.py.

An operator answers in kind: of NDArrays, an NDArray; of NumPy arrays and boxes of HIPS autograd, one of these, which is
Any here. So is what an operator answers that may have several results.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from minpy.core.operator import Operator
from minpy.ndarray import Activation as Activation
from minpy.ndarray import BatchNorm as BatchNorm
from minpy.ndarray import BatchNorm_v1 as BatchNorm_v1
from minpy.ndarray import BilinearSampler as BilinearSampler
from minpy.ndarray import Convolution_v1 as Convolution
from minpy.ndarray import Convolution_v1 as Convolution_v1
from minpy.ndarray import Correlation as Correlation
from minpy.ndarray import Crop as Crop
from minpy.ndarray import Deconvolution as Deconvolution
from minpy.ndarray import Dropout as Dropout
from minpy.ndarray import Embedding as Embedding
from minpy.ndarray import FullyConnected as FullyConnected
from minpy.ndarray import GridGenerator as GridGenerator
from minpy.ndarray import GroupNorm as GroupNorm
from minpy.ndarray import IdentityAttachKLSparseReg as IdentityAttachKLSparseReg
from minpy.ndarray import InstanceNorm as InstanceNorm
from minpy.ndarray import L2Normalization as L2Normalization
from minpy.ndarray import LRN as LRN
from minpy.ndarray import LayerNorm as LayerNorm
from minpy.ndarray import LeakyReLU as LeakyReLU
from minpy.ndarray import LinearRegressionOutput as LinearRegressionOutput
from minpy.ndarray import LogisticRegressionOutput as LogisticRegressionOutput
from minpy.ndarray import MAERegressionOutput as MAERegressionOutput
from minpy.ndarray import MakeLoss as MakeLoss
from minpy.ndarray import Pooling as Pooling
from minpy.ndarray import Pooling_v1 as Pooling_v1
from minpy.ndarray import RNN as RNN
from minpy.ndarray import ROIPooling as ROIPooling
from minpy.ndarray import SVMOutput as SVMOutput
from minpy.ndarray import SequenceLast as SequenceLast
from minpy.ndarray import SequenceMask as SequenceMask
from minpy.ndarray import SequenceReverse as SequenceReverse
from minpy.ndarray import SoftmaxActivation as SoftmaxActivation
from minpy.ndarray import SoftmaxOutput as Softmax
from minpy.ndarray import SoftmaxOutput as SoftmaxOutput
from minpy.ndarray import SpatialTransformer as SpatialTransformer
from minpy.ndarray import UpSampling as UpSampling
from minpy.ndarray import abs as abs
from minpy.ndarray import adam_update as adam_update
from minpy.ndarray import add_n as ElementWiseSum
from minpy.ndarray import add_n as add_n
from minpy.ndarray import all_finite as all_finite
from minpy.ndarray import amp_cast as amp_cast
from minpy.ndarray import amp_multicast as amp_multicast
from minpy.ndarray import arccos as arccos
from minpy.ndarray import arccosh as arccosh
from minpy.ndarray import arcsin as arcsin
from minpy.ndarray import arcsinh as arcsinh
from minpy.ndarray import arctan as arctan
from minpy.ndarray import arctanh as arctanh
from minpy.ndarray import argmax as argmax
from minpy.ndarray import argmax_channel as argmax_channel
from minpy.ndarray import argmin as argmin
from minpy.ndarray import argsort as argsort
from minpy.ndarray import batch_dot as batch_dot
from minpy.ndarray import batch_take as batch_take
from minpy.ndarray import broadcast_axis as broadcast_axes
from minpy.ndarray import broadcast_axis as broadcast_axis
from minpy.ndarray import broadcast_hypot as broadcast_hypot
from minpy.ndarray import broadcast_like as broadcast_like
from minpy.ndarray import broadcast_plus as add
from minpy.ndarray import broadcast_plus as broadcast_add
from minpy.ndarray import broadcast_plus as broadcast_plus
from minpy.ndarray import broadcast_to as broadcast_to
from minpy.ndarray import cast as Cast
from minpy.ndarray import cast as cast
from minpy.ndarray import cast_storage as cast_storage
from minpy.ndarray import cbrt as cbrt
from minpy.ndarray import ceil as ceil
from minpy.ndarray import clip as clip
from minpy.ndarray import col2im as col2im
from minpy.ndarray import concat as Concat
from minpy.ndarray import concat as concat
from minpy.ndarray import cos as cos
from minpy.ndarray import cosh as cosh
from minpy.ndarray import ctc_loss as CTCLoss
from minpy.ndarray import ctc_loss as ctc_loss
from minpy.ndarray import cumsum as cumsum
from minpy.ndarray import degrees as degrees
from minpy.ndarray import depth_to_space as depth_to_space
from minpy.ndarray import diag as diag
from minpy.ndarray import dot as dot
from minpy.ndarray import elemwise_add as elemwise_add
from minpy.ndarray import elemwise_div as elemwise_div
from minpy.ndarray import elemwise_mul as elemwise_mul
from minpy.ndarray import elemwise_sub as elemwise_sub
from minpy.ndarray import equal as broadcast_equal
from minpy.ndarray import equal as equal
from minpy.ndarray import erf as erf
from minpy.ndarray import erfinv as erfinv
from minpy.ndarray import exp as exp
from minpy.ndarray import expand_dims as expand_dims
from minpy.ndarray import expm1 as expm1
from minpy.ndarray import fill_element_0index as fill_element_0index
from minpy.ndarray import flatten as Flatten
from minpy.ndarray import flatten as flatten
from minpy.ndarray import floor as floor
from minpy.ndarray import ftml_update as ftml_update
from minpy.ndarray import ftrl_update as ftrl_update
from minpy.ndarray import gamma as gamma
from minpy.ndarray import gammaln as gammaln
from minpy.ndarray import gather_nd as gather_nd
from minpy.ndarray import greater as broadcast_greater
from minpy.ndarray import greater as greater
from minpy.ndarray import greater_equal as broadcast_greater_equal
from minpy.ndarray import greater_equal as greater_equal
from minpy.ndarray import hard_sigmoid as hard_sigmoid
from minpy.ndarray import identity as identity
from minpy.ndarray import im2col as im2col
from minpy.ndarray import khatri_rao as khatri_rao
from minpy.ndarray import lamb_update_phase1 as lamb_update_phase1
from minpy.ndarray import lamb_update_phase2 as lamb_update_phase2
from minpy.ndarray import lesser as broadcast_lesser
from minpy.ndarray import lesser as lesser
from minpy.ndarray import lesser_equal as broadcast_lesser_equal
from minpy.ndarray import lesser_equal as lesser_equal
from minpy.ndarray import linalg_det as linalg_det
from minpy.ndarray import linalg_extractdiag as linalg_extractdiag
from minpy.ndarray import linalg_extracttrian as linalg_extracttrian
from minpy.ndarray import linalg_gelqf as linalg_gelqf
from minpy.ndarray import linalg_gemm as linalg_gemm
from minpy.ndarray import linalg_gemm2 as linalg_gemm2
from minpy.ndarray import linalg_inverse as linalg_inverse
from minpy.ndarray import linalg_makediag as linalg_makediag
from minpy.ndarray import linalg_maketrian as linalg_maketrian
from minpy.ndarray import linalg_potrf as linalg_potrf
from minpy.ndarray import linalg_potri as linalg_potri
from minpy.ndarray import linalg_slogdet as linalg_slogdet
from minpy.ndarray import linalg_sumlogdiag as linalg_sumlogdiag
from minpy.ndarray import linalg_syevd as linalg_syevd
from minpy.ndarray import linalg_syrk as linalg_syrk
from minpy.ndarray import linalg_trmm as linalg_trmm
from minpy.ndarray import linalg_trsm as linalg_trsm
from minpy.ndarray import log as log
from minpy.ndarray import log10 as log10
from minpy.ndarray import log1p as log1p
from minpy.ndarray import log2 as log2
from minpy.ndarray import log_softmax as log_softmax
from minpy.ndarray import logical_and as broadcast_logical_and
from minpy.ndarray import logical_and as logical_and
from minpy.ndarray import logical_not as logical_not
from minpy.ndarray import logical_or as broadcast_logical_or
from minpy.ndarray import logical_or as logical_or
from minpy.ndarray import logical_xor as broadcast_logical_xor
from minpy.ndarray import logical_xor as logical_xor
from minpy.ndarray import make_loss as make_loss
from minpy.ndarray import max_axis as max
from minpy.ndarray import max_axis as max_axis
from minpy.ndarray import maximum as broadcast_maximum
from minpy.ndarray import maximum as maximum
from minpy.ndarray import mean as mean
from minpy.ndarray import min_axis as min
from minpy.ndarray import min_axis as min_axis
from minpy.ndarray import minimum as broadcast_minimum
from minpy.ndarray import minimum as minimum
from minpy.ndarray import modulo as broadcast_mod
from minpy.ndarray import modulo as modulo
from minpy.ndarray import moments as moments
from minpy.ndarray import mp_lamb_update_phase1 as mp_lamb_update_phase1
from minpy.ndarray import mp_lamb_update_phase2 as mp_lamb_update_phase2
from minpy.ndarray import mp_nag_mom_update as mp_nag_mom_update
from minpy.ndarray import mp_sgd_mom_update as mp_sgd_mom_update
from minpy.ndarray import mp_sgd_update as mp_sgd_update
from minpy.ndarray import multi_all_finite as multi_all_finite
from minpy.ndarray import multi_lars as multi_lars
from minpy.ndarray import multi_mp_sgd_mom_update as multi_mp_sgd_mom_update
from minpy.ndarray import multi_mp_sgd_update as multi_mp_sgd_update
from minpy.ndarray import multi_sgd_mom_update as multi_sgd_mom_update
from minpy.ndarray import multi_sgd_update as multi_sgd_update
from minpy.ndarray import multi_sum_sq as multi_sum_sq
from minpy.ndarray import multiply as broadcast_mul
from minpy.ndarray import multiply as multiply
from minpy.ndarray import nag_mom_update as nag_mom_update
from minpy.ndarray import nanprod as nanprod
from minpy.ndarray import nansum as nansum
from minpy.ndarray import negative as negative
from minpy.ndarray import norm as norm
from minpy.ndarray import not_equal as broadcast_not_equal
from minpy.ndarray import not_equal as not_equal
from minpy.ndarray import one_hot as one_hot
from minpy.ndarray import ones_like as ones_like
from minpy.ndarray import pad as Pad
from minpy.ndarray import pad as pad
from minpy.ndarray import pick as choose_element_0index
from minpy.ndarray import pick as pick
from minpy.ndarray import power as broadcast_power
from minpy.ndarray import power as power
from minpy.ndarray import preloaded_multi_mp_sgd_mom_update as preloaded_multi_mp_sgd_mom_update
from minpy.ndarray import preloaded_multi_mp_sgd_update as preloaded_multi_mp_sgd_update
from minpy.ndarray import preloaded_multi_sgd_mom_update as preloaded_multi_sgd_mom_update
from minpy.ndarray import preloaded_multi_sgd_update as preloaded_multi_sgd_update
from minpy.ndarray import prod as prod
from minpy.ndarray import radians as radians
from minpy.ndarray import random_pdf_dirichlet as random_pdf_dirichlet
from minpy.ndarray import random_pdf_exponential as random_pdf_exponential
from minpy.ndarray import random_pdf_gamma as random_pdf_gamma
from minpy.ndarray import random_pdf_generalized_negative_binomial as random_pdf_generalized_negative_binomial
from minpy.ndarray import random_pdf_negative_binomial as random_pdf_negative_binomial
from minpy.ndarray import random_pdf_normal as random_pdf_normal
from minpy.ndarray import random_pdf_poisson as random_pdf_poisson
from minpy.ndarray import random_pdf_uniform as random_pdf_uniform
from minpy.ndarray import ravel_multi_index as ravel_multi_index
from minpy.ndarray import rcbrt as rcbrt
from minpy.ndarray import reciprocal as reciprocal
from minpy.ndarray import relu as relu
from minpy.ndarray import repeat as repeat
from minpy.ndarray import reset_arrays as reset_arrays
from minpy.ndarray import reshape as Reshape
from minpy.ndarray import reshape as reshape
from minpy.ndarray import reshape_like as reshape_like
from minpy.ndarray import reverse as flip
from minpy.ndarray import reverse as reverse
from minpy.ndarray import rint as rint
from minpy.ndarray import rmsprop_update as rmsprop_update
from minpy.ndarray import rmspropalex_update as rmspropalex_update
from minpy.ndarray import round as round
from minpy.ndarray import rsqrt as rsqrt
from minpy.ndarray import sample_multinomial as sample_multinomial
from minpy.ndarray import scatter_nd as scatter_nd
from minpy.ndarray import sgd_mom_update as sgd_mom_update
from minpy.ndarray import sgd_update as sgd_update
from minpy.ndarray import shape_array as shape_array
from minpy.ndarray import shuffle as shuffle
from minpy.ndarray import sigmoid as sigmoid
from minpy.ndarray import sign as sign
from minpy.ndarray import signsgd_update as signsgd_update
from minpy.ndarray import signum_update as signum_update
from minpy.ndarray import sin as sin
from minpy.ndarray import sinh as sinh
from minpy.ndarray import size_array as size_array
from minpy.ndarray import slice as crop
from minpy.ndarray import slice as slice
from minpy.ndarray import slice_axis as slice_axis
from minpy.ndarray import slice_like as slice_like
from minpy.ndarray import smooth_l1 as smooth_l1
from minpy.ndarray import softmax as softmax
from minpy.ndarray import softmax_cross_entropy as softmax_cross_entropy
from minpy.ndarray import softmin as softmin
from minpy.ndarray import softsign as softsign
from minpy.ndarray import sort as sort
from minpy.ndarray import space_to_depth as space_to_depth
from minpy.ndarray import split as SliceChannel
from minpy.ndarray import split as split
from minpy.ndarray import sqrt as sqrt
from minpy.ndarray import square as square
from minpy.ndarray import squeeze as squeeze
from minpy.ndarray import stack as stack
from minpy.ndarray import stop_gradient as BlockGrad
from minpy.ndarray import stop_gradient as stop_gradient
from minpy.ndarray import subtract as broadcast_minus
from minpy.ndarray import subtract as broadcast_sub
from minpy.ndarray import subtract as subtract
from minpy.ndarray import sum_axis as sum
from minpy.ndarray import sum_axis as sum_axis
from minpy.ndarray import swapaxes as SwapAxis
from minpy.ndarray import swapaxes as swapaxes
from minpy.ndarray import take as take
from minpy.ndarray import tan as tan
from minpy.ndarray import tanh as tanh
from minpy.ndarray import tile as tile
from minpy.ndarray import topk as topk
from minpy.ndarray import transpose as transpose
from minpy.ndarray import true_divide as broadcast_div
from minpy.ndarray import true_divide as divide
from minpy.ndarray import true_divide as true_divide
from minpy.ndarray import trunc as fix
from minpy.ndarray import trunc as trunc
from minpy.ndarray import unravel_index as unravel_index
from minpy.ndarray import where as where
from minpy.ndarray import zeros_like as zeros_like
from minpy.ndarray.ndarray import NDArray as NDArray

_P = ParamSpec("_P")
_A = TypeVar("_A", bound=NDArray)

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...

@_operator
def normal(loc: float = ..., scale: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def random_exponential(lam: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def random_gamma(alpha: float = ..., beta: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def random_generalized_negative_binomial(mu: float = ..., alpha: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def random_negative_binomial(k: int = ..., p: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def random_normal(loc: float = ..., scale: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def random_poisson(lam: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
class _random_randint_(Operator):
    def __call__(self, low: int, high: int, shape: Sequence[int] | None = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> NDArray: ...
random_randint: _random_randint_
@_operator
def random_uniform(low: float = ..., high: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_exponential(lam: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_gamma(alpha: Any, beta: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_generalized_negative_binomial(mu: Any, alpha: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_negative_binomial(k: Any, p: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_normal(mu: Any, sigma: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_poisson(lam: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def sample_uniform(low: Any, high: Any, shape: Sequence[int] = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def split_v2(data: Any = ..., indices_or_sections: int | Sequence[int] = ..., axis: int = ..., squeeze_axis: bool = ..., *, ary: Any = ..., out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def uniform(low: float = ..., high: float = ..., shape: Sequence[int] = ..., ctx: str = ..., dtype: Any = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
