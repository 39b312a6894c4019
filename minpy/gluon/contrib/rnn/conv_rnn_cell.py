"""Recurrent cells of convolutions: `gluon.contrib.rnn.conv_rnn_cell`."""

from minpy.gluon.contrib.rnn.convolutional import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)
from minpy.gluon.contrib.rnn.convolutional import _BaseConvRNNCell as _BaseConvRNNCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell
from minpy.namespaces import listing, missing

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "HybridRecurrentCell",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.rnn.conv_rnn_cell", "name", __all__)
