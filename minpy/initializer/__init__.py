"""`mx.init`: initial values of parameters, chosen by the endings of their names.

`base` has what all share, the others one kind each: the same value everywhere (`constant`), drawn by mx.random's
generator (`drawn`), of a fixed form (`shaped`), for a fused recurrent layer (`fused`), chosen by names (`chosen`).
"""

from minpy.core.numpy_semantics import is_np_array
from minpy.initializer.chosen import Load, Mixed, create
from minpy.initializer.constant import Constant, One, Zero
from minpy.initializer.drawn import MSRAPrelu, Normal, Orthogonal, Uniform, Xavier
from minpy.initializer.fused import FusedRNN
from minpy.initializer.initializer import InitDesc, Initializer, alias, register
from minpy.initializer.shaped import Bilinear, LSTMBias
from minpy.namespaces import listing
from minpy.ndarray import NDArray, load

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "NDArray",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "is_np_array",
    "load",
    "register",
]
__dir__ = listing(__all__)
