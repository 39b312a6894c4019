"""`mx.rnn`: cells of recurrent networks as symbols, their checkpoints, and batches of sentences by length."""

from __future__ import annotations

import bisect

from minpy import initializer as init
from minpy.io import DataBatch, DataDesc, DataIter
from minpy.model import load_checkpoint, save_checkpoint
from minpy.namespaces import listing, missing
from minpy.rnn import io, rnn, rnn_cell
from minpy.rnn.base import BaseRNNCell
from minpy.rnn.cells import GRUCell, LSTMCell, RNNCell
from minpy.rnn.checkpoint import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from minpy.rnn.combined import BidirectionalCell, SequentialRNNCell
from minpy.rnn.convolutional import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from minpy.rnn.fused import FusedRNNCell
from minpy.rnn.io import BucketSentenceIter, encode_sentences
from minpy.rnn.modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from minpy.rnn.params import RNNParams

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "BucketSentenceIter",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
    "do_rnn_checkpoint",
    "encode_sentences",
    "io",
    "load_rnn_checkpoint",
    "rnn",
    "rnn_cell",
    "rnn_unroll",
    "save_rnn_checkpoint",
]
_IMPORTED = (DataBatch, DataDesc, DataIter, bisect, init, load_checkpoint, save_checkpoint)
__dir__ = listing(__all__)
__getattr__ = missing("minpy.rnn", "name", __all__)
