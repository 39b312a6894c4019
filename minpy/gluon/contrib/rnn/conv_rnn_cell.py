"""Recurrent cells of convolutions: `gluon.contrib.rnn.conv_rnn_cell`."""

from minpy.gluon.contrib.rnn import convolutional
from minpy.gluon.contrib.rnn.convolutional import *
from minpy.gluon.contrib.rnn.convolutional import _BaseConvRNNCell as _BaseConvRNNCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell
from minpy.namespaces import module_functions

__all__ = ["HybridRecurrentCell"]
__all__ += convolutional.__all__
__dir__, __getattr__ = module_functions(__name__, __all__)
