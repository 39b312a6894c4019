"""The types of `minpy.nd.linalg`, written by tools/make_stubs.py.

An operator answers in kind: of NDArrays, an NDArray; of NumPy arrays and boxes of HIPS autograd, one of these, which is
Any here. So is what an operator answers that may have several results.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from minpy.core.operator import Operator
from minpy.ndarray import linalg_det as det
from minpy.ndarray import linalg_extractdiag as extractdiag
from minpy.ndarray import linalg_extracttrian as extracttrian
from minpy.ndarray import linalg_gelqf as gelqf
from minpy.ndarray import linalg_gemm as gemm
from minpy.ndarray import linalg_gemm2 as gemm2
from minpy.ndarray import linalg_inverse as inverse
from minpy.ndarray import linalg_makediag as makediag
from minpy.ndarray import linalg_maketrian as maketrian
from minpy.ndarray import linalg_potrf as potrf
from minpy.ndarray import linalg_potri as potri
from minpy.ndarray import linalg_slogdet as slogdet
from minpy.ndarray import linalg_sumlogdiag as sumlogdiag
from minpy.ndarray import linalg_syevd as syevd
from minpy.ndarray import linalg_syrk as syrk
from minpy.ndarray import linalg_trmm as trmm
from minpy.ndarray import linalg_trsm as trsm
from minpy.ndarray.ndarray import NDArray as NDArray

_P = ParamSpec("_P")
_A = TypeVar("_A", bound=NDArray)

class _Operator(Operator, Generic[_P]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

def _operator(function: Callable[_P, Any]) -> _Operator[_P]: ...


