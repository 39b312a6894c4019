"""Checkpoints of recurrent networks, under the name of MXNet's module."""

from __future__ import annotations

from minpy.model import load_checkpoint, save_checkpoint
from minpy.namespaces import module_functions
from minpy.rnn.base_rnn_cell import BaseRNNCell
from minpy.rnn.checkpoint import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]
_IMPORTED = (BaseRNNCell, load_checkpoint, save_checkpoint)
__dir__, __getattr__ = module_functions(__name__, __all__)
