"""The cells, under the name of MXNet's module."""

from __future__ import annotations

from minpy import initializer as init
from minpy.namespaces import listing, missing
from minpy.rnn.base import BaseRNNCell
from minpy.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.rnn.combined import BidirectionalCell, SequentialRNNCell
from minpy.rnn.convolutional import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from minpy.rnn.fused import FusedRNNCell
from minpy.rnn.modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from minpy.rnn.params import RNNParams

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
_IMPORTED = (init,)
__dir__ = listing(__all__)
__getattr__ = missing("minpy.rnn.rnn_cell", "name", __all__)
