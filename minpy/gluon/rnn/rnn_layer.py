"""Recurrent layers: `gluon.rnn.rnn_layer`."""

from minpy.gluon.block import HybridBlock
from minpy.gluon.parameter import tensor_types
from minpy.gluon.rnn import rnn_cell
from minpy.gluon.rnn.layers import GRU, LSTM, RNN
from minpy.gluon.rnn.layers import _RNNLayer as _RNNLayer
from minpy.namespaces import module_functions

__all__ = ["GRU", "LSTM", "RNN", "HybridBlock", "rnn_cell", "tensor_types"]
__dir__, __getattr__ = module_functions(__name__, __all__)
