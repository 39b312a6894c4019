"""The types of `minpy.nd.image`, written by tools/make_stubs.py.

An operator answers in kind: of NDArrays, an NDArray; of NumPy arrays and boxes of HIPS autograd, one of these, which is
Any here. So is what an operator answers that may have several results.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from minpy.core.operator import Operator
from minpy.ndarray.ndarray import NDArray as NDArray

_P = ParamSpec("_P")
_A = TypeVar("_A", bound=NDArray)

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...

class _adjust_lighting_(Operator):
    @overload
    def __call__(self, data: _A, alpha: Sequence[float], *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, alpha: Sequence[float], *, out: Any = ..., name: Any = ...) -> Any: ...
adjust_lighting: _adjust_lighting_
class _crop_(Operator):
    @overload
    def __call__(self, data: _A, x: int, y: int, width: int, height: int, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, x: int, y: int, width: int, height: int, *, out: Any = ..., name: Any = ...) -> Any: ...
crop: _crop_
class _flip_left_right_(Operator):
    @overload
    def __call__(self, data: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
flip_left_right: _flip_left_right_
class _flip_top_bottom_(Operator):
    @overload
    def __call__(self, data: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
flip_top_bottom: _flip_top_bottom_
class _normalize_(Operator):
    @overload
    def __call__(self, data: _A, mean: Sequence[float] = ..., std: Sequence[float] = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, mean: Sequence[float] = ..., std: Sequence[float] = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
normalize: _normalize_
class _random_brightness_(Operator):
    @overload
    def __call__(self, data: _A, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> Any: ...
random_brightness: _random_brightness_
class _random_color_jitter_(Operator):
    @overload
    def __call__(self, data: _A, brightness: float, contrast: float, saturation: float, hue: float, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, brightness: float, contrast: float, saturation: float, hue: float, *, out: Any = ..., name: Any = ...) -> Any: ...
random_color_jitter: _random_color_jitter_
class _random_contrast_(Operator):
    @overload
    def __call__(self, data: _A, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> Any: ...
random_contrast: _random_contrast_
class _random_flip_left_right_(Operator):
    @overload
    def __call__(self, data: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
random_flip_left_right: _random_flip_left_right_
class _random_flip_top_bottom_(Operator):
    @overload
    def __call__(self, data: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
random_flip_top_bottom: _random_flip_top_bottom_
class _random_hue_(Operator):
    @overload
    def __call__(self, data: _A, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> Any: ...
random_hue: _random_hue_
class _random_lighting_(Operator):
    @overload
    def __call__(self, data: _A, alpha_std: float = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, alpha_std: float = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
random_lighting: _random_lighting_
class _random_saturation_(Operator):
    @overload
    def __call__(self, data: _A, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, min_factor: float, max_factor: float, *, out: Any = ..., name: Any = ...) -> Any: ...
random_saturation: _random_saturation_
class _resize_(Operator):
    @overload
    def __call__(self, data: _A, size: Sequence[int] = ..., keep_ratio: bool = ..., interp: int = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, size: Sequence[int] = ..., keep_ratio: bool = ..., interp: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
resize: _resize_
class _to_tensor_(Operator):
    @overload
    def __call__(self, data: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, data: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
to_tensor: _to_tensor_
