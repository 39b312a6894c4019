"""`minpy.np` is `minpy.numpy`. Written by tools/make_stubs.py."""

from typing import Any

from minpy.numpy import arange as arange
from minpy.numpy import array as array
from minpy.numpy import asanyarray as asanyarray
from minpy.numpy import asarray as asarray
from minpy.numpy import asarray_chkfinite as asarray_chkfinite
from minpy.numpy import ascontiguousarray as ascontiguousarray
from minpy.numpy import asfortranarray as asfortranarray
from minpy.numpy import bartlett as bartlett
from minpy.numpy import blackman as blackman
from minpy.numpy import empty as empty
from minpy.numpy import eye as eye
from minpy.numpy import fft as fft
from minpy.numpy import fromiter as fromiter
from minpy.numpy import full as full
from minpy.numpy import full_like as full_like
from minpy.numpy import geomspace as geomspace
from minpy.numpy import hamming as hamming
from minpy.numpy import hanning as hanning
from minpy.numpy import identity as identity
from minpy.numpy import indices as indices
from minpy.numpy import linalg as linalg
from minpy.numpy import linspace as linspace
from minpy.numpy import logspace as logspace
from minpy.numpy import ndarray as ndarray
from minpy.numpy import ones as ones
from minpy.numpy import ones_like as ones_like
from minpy.numpy import percentile as percentile
from minpy.numpy import quantile as quantile
from minpy.numpy import random as random
from minpy.numpy import require as require
from minpy.numpy import take as take
from minpy.numpy import zeros as zeros
from minpy.numpy import zeros_like as zeros_like

def __getattr__(name: str) -> Any: ...
