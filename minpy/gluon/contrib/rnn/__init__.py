"""Further recurrent cells: `gluon.contrib.rnn`."""

from minpy.gluon.contrib.rnn import conv_rnn_cell, convolutional, rnn_cell
from minpy.gluon.contrib.rnn.convolutional import *
from minpy.gluon.contrib.rnn.projected import LSTMPCell
from minpy.gluon.contrib.rnn.variational import VariationalDropoutCell
from minpy.namespaces import module_functions

__all__ = ["LSTMPCell", "VariationalDropoutCell", "conv_rnn_cell", "rnn_cell"]
__all__ += convolutional.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
