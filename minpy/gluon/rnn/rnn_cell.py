"""Recurrent cells: `gluon.rnn.rnn_cell`."""

from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.nn.activations import LeakyReLU
from minpy.gluon.parameter import tensor_types
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.gluon.rnn.modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell, RecurrentCell
from minpy.gluon.rnn.sequential import HybridSequentialRNNCell, SequentialRNNCell
from minpy.namespaces import module_functions

__all__ = [
    "BidirectionalCell",
    "Block",
    "DropoutCell",
    "GRUCell",
    "HybridBlock",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "LeakyReLU",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "tensor_types",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
