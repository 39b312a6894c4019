"""`minpy.sym.np`: NumPy's functions of symbols, with NumPy's semantics.

Where MXNet has a name for a call, graphs and files hold that (`_npi_add`, `_np_sum`), so that files load both ways;
other functions are `minpy:np.f` in files, which only minpy reads.

Examples
--------
>>> import minpy as mx
>>> x = mx.sym.var('x').as_np_ndarray()
>>> y = mx.sym.np.mean(x * x)
>>> y.eval(x=mx.np.array([1.0, 3.0]))[0].asnumpy()
array(5., dtype=float32)
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.symbol.numpy import fft as fft
from minpy.symbol.numpy import linalg as linalg
from minpy.symbol.numpy import random as random
from minpy.symbol.numpy.creation import FUNCTIONS as _CREATION
from minpy.symbol.numpy.elementwise import FUNCTIONS as _ELEMENTWISE
from minpy.symbol.numpy.methods import install as _install
from minpy.symbol.numpy.reductions import FUNCTIONS as _REDUCTIONS
from minpy.symbol.numpy.shapes import FUNCTIONS as _SHAPES
from minpy.symbol.numpy.symbol_class import _Symbol as _Symbol
from minpy.symbol.numpy.unnamed_functions import remaining as _remaining

_FOUND = {**_ELEMENTWISE, **_REDUCTIONS, **_SHAPES, **_CREATION}
_FOUND.update(_remaining("", _FOUND))
globals().update(_FOUND)
_CONSTANTS = {
    name: getattr(_numpy, name)
    for name in [
        "bool_",
        "e",
        "euler_gamma",
        "float16",
        "float32",
        "float64",
        "inf",
        "int32",
        "int64",
        "int8",
        "nan",
        "newaxis",
        "pi",
        "uint8",
    ]
}
globals().update(_CONSTANTS)
_install(_FOUND)

__all__ = [*_FOUND, *_CONSTANTS, "fft", "linalg", "random"]
__dir__ = _listing(__all__)


def __getattr__(name: str) -> Any:
    return _missing("minpy.sym.np", "function", __all__)(name)
