"""`minpy.numpy`: NumPy's functions on arrays of the tape, with NumPy's semantics.

Written for `import minpy.numpy as np`. Arrays made from Python numbers are float32. All other names are generated from
NumPy's own: functions accept and return `ndarray`s, and are recorded; dtypes and constants are NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from minpy.core.extensions import extension as _extension
from minpy.core.extensions import is_provided as _is_provided
from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.numpy import creation as _creation
from minpy.numpy import fft as fft
from minpy.numpy import linalg as linalg
from minpy.numpy import mxnet_arguments as _arguments
from minpy.numpy import random as random
from minpy.numpy import restored as _restored
from minpy.numpy.array_class import ndarray as ndarray
from minpy.numpy.creation import arange as arange
from minpy.numpy.creation import array as array
from minpy.numpy.creation import asanyarray as asanyarray
from minpy.numpy.creation import asarray as asarray
from minpy.numpy.creation import bartlett as bartlett
from minpy.numpy.creation import blackman as blackman
from minpy.numpy.creation import empty as empty
from minpy.numpy.creation import eye as eye
from minpy.numpy.creation import full as full
from minpy.numpy.creation import geomspace as geomspace
from minpy.numpy.creation import hamming as hamming
from minpy.numpy.creation import hanning as hanning
from minpy.numpy.creation import identity as identity
from minpy.numpy.creation import indices as indices
from minpy.numpy.creation import linspace as linspace
from minpy.numpy.creation import logspace as logspace
from minpy.numpy.creation import ones as ones
from minpy.numpy.creation import zeros as zeros
from minpy.numpy.mxnet_arguments import asarray_chkfinite as asarray_chkfinite
from minpy.numpy.mxnet_arguments import ascontiguousarray as ascontiguousarray
from minpy.numpy.mxnet_arguments import asfortranarray as asfortranarray
from minpy.numpy.mxnet_arguments import fromiter as fromiter
from minpy.numpy.mxnet_arguments import full_like as full_like
from minpy.numpy.mxnet_arguments import ones_like as ones_like
from minpy.numpy.mxnet_arguments import percentile as percentile
from minpy.numpy.mxnet_arguments import quantile as quantile
from minpy.numpy.mxnet_arguments import require as require
from minpy.numpy.mxnet_arguments import take as take
from minpy.numpy.mxnet_arguments import zeros_like as zeros_like
from minpy.numpy.wrapping import wrap_function as _wrap_function
from minpy.numpy.wrapping import wrapped_namespace as _wrapped_namespace

_OWN = [*_creation.__all__, *_arguments.__all__, "fft", "linalg", "ndarray", "random"]
_generated = _wrapped_namespace(_numpy, "numpy", skip=[*_OWN, "test", "matrix", "asmatrix", "bmat"])
globals().update(_generated)
for _name, _function in _restored.FUNCTIONS.items():
    _generated[_name] = globals()[_name] = _wrap_function(_function, _name)
for _name in _restored.FINANCIAL:
    _generated[_name] = globals()[_name] = _restored.financial(_name)
for _name, _value in _restored.CONSTANTS.items():
    if _name not in _generated:
        _generated[_name] = globals()[_name] = _value

__all__ = sorted({*_OWN, *_generated})

__dir__ = _listing(__all__)


def __getattr__(name: str) -> Any:
    if name in _restored.TYPES:
        return _restored.TYPES[name]
    if name in ("onehot_encode", "sigmoid", "softmax_output"):
        from minpy.numpy import of_minpy

        return getattr(of_minpy, name)
    if _is_provided(f"minpy.numpy.{name}"):  # what MinPy's programs call here: its policies
        return _extension(f"minpy.numpy.{name}")
    return _missing("minpy.numpy", "function", __all__)(name)
