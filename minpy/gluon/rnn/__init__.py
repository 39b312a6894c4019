"""Recurrent layers and cells: `gluon.rnn`."""

from minpy.gluon.rnn import rnn_cell, rnn_layer
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.gluon.rnn.layers import GRU, LSTM, RNN
from minpy.gluon.rnn.modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell, RecurrentCell
from minpy.gluon.rnn.sequential import HybridSequentialRNNCell, SequentialRNNCell
from minpy.namespaces import module_functions

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "rnn_cell",
    "rnn_layer",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
