"""Recurrent cells of convolutions: `gluon.contrib.rnn.conv_rnn_cell`."""

from minpy.gluon.contrib.rnn import convolutional
from minpy.gluon.contrib.rnn.convolutional import *
from minpy.gluon.contrib.rnn.convolutional import _BaseConvRNNCell as _BaseConvRNNCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell
from minpy.namespaces import listing, missing

__all__ = ["HybridRecurrentCell"]
__all__ += convolutional.__all__
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.rnn.conv_rnn_cell", "name", __all__)
