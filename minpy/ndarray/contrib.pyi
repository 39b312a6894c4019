"""The types of `minpy.nd.contrib`, written by tools/make_stubs.py.

An operator answers in kind (NDArrays, NumPy arrays, boxes of HIPS autograd), so its result is Any.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec

from minpy.core.operator import Operator
from minpy.ndarray.control_flow import cond as cond
from minpy.ndarray.control_flow import foreach as foreach
from minpy.ndarray.control_flow import while_loop as while_loop

_P = ParamSpec("_P")

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...

@_operator
def AdaptiveAvgPooling2D(data: Any, output_size: Sequence[int] = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def BilinearResize2D(data: Any, like: Any = ..., height: int = ..., width: int = ..., scale_height: float | None = ..., scale_width: float | None = ..., mode: str = ..., align_corners: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def DeformableConvolution(data: Any, offset: Any, weight: Any, bias: Any = ..., kernel: Sequence[int] = ..., stride: Sequence[int] = ..., dilate: Sequence[int] = ..., pad: Sequence[int] = ..., num_filter: int = ..., num_group: int = ..., num_deformable_group: int = ..., workspace: int = ..., no_bias: bool = ..., layout: str | None = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def DeformablePSROIPooling(data: Any, rois: Any, trans: Any = ..., spatial_scale: float = ..., output_dim: int = ..., group_size: int = ..., pooled_size: int = ..., part_size: int = ..., sample_per_part: int = ..., trans_std: float = ..., no_trans: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def ModulatedDeformableConvolution(data: Any, offset: Any, mask: Any, weight: Any, bias: Any = ..., kernel: Sequence[int] = ..., stride: Sequence[int] = ..., dilate: Sequence[int] = ..., pad: Sequence[int] = ..., num_filter: int = ..., num_group: int = ..., num_deformable_group: int = ..., workspace: int = ..., no_bias: bool = ..., im2col_step: int = ..., layout: str | None = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def PSROIPooling(data: Any, rois: Any, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def ROIAlign(data: Any, rois: Any, pooled_size: Sequence[int], spatial_scale: float, sample_ratio: int = ..., position_sensitive: bool = ..., aligned: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
@_operator
def RROIAlign(data: Any, rois: Any, pooled_size: Sequence[int], spatial_scale: float, sampling_ratio: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
