"""Further recurrent cells: `gluon.contrib.rnn`."""

from minpy.gluon.contrib.rnn import conv_rnn_cell, rnn_cell
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
from minpy.gluon.contrib.rnn.projected import LSTMPCell
from minpy.gluon.contrib.rnn.variational import VariationalDropoutCell
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
    "LSTMPCell",
    "VariationalDropoutCell",
    "conv_rnn_cell",
    "rnn_cell",
]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.rnn", "name", __all__)
