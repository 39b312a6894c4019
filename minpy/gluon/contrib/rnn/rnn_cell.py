"""Further recurrent cells: `gluon.contrib.rnn.rnn_cell`."""

from minpy.gluon.contrib.rnn.dynamic import dynamic_unroll
from minpy.gluon.contrib.rnn.projected import LSTMPCell
from minpy.gluon.contrib.rnn.variational import VariationalDropoutCell
from minpy.gluon.parameter import tensor_types
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.modifiers import ModifierCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell
from minpy.gluon.rnn.sequential import SequentialRNNCell
from minpy.namespaces import module_functions

__all__ = [
    "BidirectionalCell",
    "HybridRecurrentCell",
    "LSTMPCell",
    "ModifierCell",
    "SequentialRNNCell",
    "VariationalDropoutCell",
    "dynamic_unroll",
    "tensor_types",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
