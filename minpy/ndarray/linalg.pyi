"""The types of `minpy.nd.linalg`, written by tools/make_stubs.py.

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

class _det_(Operator):
    @overload
    def __call__(self, A: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
det: _det_
class _extractdiag_(Operator):
    @overload
    def __call__(self, A: _A, offset: int = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, offset: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
extractdiag: _extractdiag_
class _extracttrian_(Operator):
    @overload
    def __call__(self, A: _A, offset: int = ..., lower: bool = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, offset: int = ..., lower: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
extracttrian: _extracttrian_
@_operator
def gelqf(A: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
class _gemm_(Operator):
    @overload
    def __call__(self, A: _A, B: Any, C: Any, transpose_a: bool = ..., transpose_b: bool = ..., alpha: float = ..., beta: float = ..., axis: int = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, B: Any, C: Any, transpose_a: bool = ..., transpose_b: bool = ..., alpha: float = ..., beta: float = ..., axis: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
gemm: _gemm_
class _gemm2_(Operator):
    @overload
    def __call__(self, A: _A, B: Any, transpose_a: bool = ..., transpose_b: bool = ..., alpha: float = ..., axis: int = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, B: Any, transpose_a: bool = ..., transpose_b: bool = ..., alpha: float = ..., axis: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
gemm2: _gemm2_
class _inverse_(Operator):
    @overload
    def __call__(self, A: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
inverse: _inverse_
class _makediag_(Operator):
    @overload
    def __call__(self, A: _A, offset: int = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, offset: int = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
makediag: _makediag_
class _maketrian_(Operator):
    @overload
    def __call__(self, A: _A, offset: int = ..., lower: bool = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, offset: int = ..., lower: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
maketrian: _maketrian_
class _potrf_(Operator):
    @overload
    def __call__(self, A: _A, lower: bool = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, lower: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
potrf: _potrf_
class _potri_(Operator):
    @overload
    def __call__(self, A: _A, lower: bool = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, lower: bool = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
potri: _potri_
@_operator
def slogdet(A: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
class _sumlogdiag_(Operator):
    @overload
    def __call__(self, A: _A, *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
sumlogdiag: _sumlogdiag_
@_operator
def syevd(A: Any, *, out: Any = ..., name: Any = ...) -> Any: ...
class _syrk_(Operator):
    @overload
    def __call__(self, A: _A, transpose: bool = ..., alpha: float = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, transpose: bool = ..., alpha: float = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
syrk: _syrk_
class _trmm_(Operator):
    @overload
    def __call__(self, A: _A, B: Any, transpose: bool = ..., rightside: bool = ..., lower: bool = ..., alpha: float = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, B: Any, transpose: bool = ..., rightside: bool = ..., lower: bool = ..., alpha: float = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
trmm: _trmm_
class _trsm_(Operator):
    @overload
    def __call__(self, A: _A, B: Any, transpose: bool = ..., rightside: bool = ..., lower: bool = ..., alpha: float = ..., *, out: Any = ..., name: Any = ...) -> _A: ...
    @overload
    def __call__(self, A: Any, B: Any, transpose: bool = ..., rightside: bool = ..., lower: bool = ..., alpha: float = ..., *, out: Any = ..., name: Any = ...) -> Any: ...
trsm: _trsm_
