"""The cells, under the name of MXNet's module."""

from __future__ import annotations

from minpy import initializer as init
from minpy.namespaces import module_functions
from minpy.rnn import combined, convolutional, modifiers
from minpy.rnn.base_rnn_cell import BaseRNNCell
from minpy.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.rnn.combined import *
from minpy.rnn.convolutional import *
from minpy.rnn.fused import FusedRNNCell
from minpy.rnn.modifiers import *
from minpy.rnn.params import RNNParams

__all__ = ["BaseRNNCell", "FusedRNNCell", "GRUCell", "LSTMCell", "RNNCell", "RNNParams"]
__all__ += combined.__all__
__all__ += convolutional.__all__
__all__ += modifiers.__all__
_IMPORTED = (init,)
__dir__, __getattr__ = module_functions(__name__, __all__)
