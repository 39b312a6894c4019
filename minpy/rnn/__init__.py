"""`mx.rnn`: cells of recurrent networks as symbols, their checkpoints, and batches of sentences by length."""

from __future__ import annotations

import bisect

from minpy import initializer as init
from minpy.io import DataBatch, DataDesc, DataIter
from minpy.model import load_checkpoint, save_checkpoint
from minpy.namespaces import module_functions
from minpy.rnn import io, rnn, rnn_cell
from minpy.rnn.io import *
from minpy.rnn.rnn import *
from minpy.rnn.rnn_cell import *

__all__ = ["io", "rnn", "rnn_cell"]
__all__ += io.__all__
__all__ += rnn.__all__
__all__ += rnn_cell.__all__
_IMPORTED = (DataBatch, DataDesc, DataIter, bisect, init, load_checkpoint, save_checkpoint)
__dir__, __getattr__ = module_functions(__name__, __all__)
