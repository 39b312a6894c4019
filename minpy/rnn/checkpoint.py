"""Checkpoints whose weights are unpacked, so that fused cells and unfused ones read the same; and `rnn_unroll`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minpy import symbol
from minpy.model import load_checkpoint, save_checkpoint
from minpy.ndarray import NDArray
from minpy.rnn.base_rnn_cell import BaseRNNCell, Weights
from minpy.symbol import Symbol

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]

Cells = BaseRNNCell | Sequence[BaseRNNCell]


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Any = None,
    begin_state: list[Any] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list[Any]]:
    """Return the symbols of all steps of a cell; `cell.unroll` does the same, and is what to call.

    Parameters
    ----------
    cell : BaseRNNCell
    length : int
        How many steps there are.
    inputs : Symbol or list of Symbol, optional
        By default variables named `{input_prefix}t0_data`, `{input_prefix}t1_data`, ...
    begin_state : list of Symbol, optional
    input_prefix : str
    layout : {'NTC', 'TNC'}

    Returns
    -------
    outputs : Symbol or list of Symbol
    states : list of Symbol
    """
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [symbol.Variable(f"{input_prefix}t{number}_data") for number in range(length)]
    return cell.unroll(length=length, inputs=inputs, begin_state=begin_state, layout=layout)


def _as_list(cells: Cells) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def save_rnn_checkpoint(
    cells: Cells, prefix: Any, epoch: int, symbol: Symbol, arg_params: Weights, aux_params: Weights
) -> None:
    """Save a symbol and its parameters, with the weights of cells unpacked.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        Those of the network.
    prefix : str or PathLike
        The files are `{prefix}-symbol.json` and `{prefix}-{epoch:04d}.params`.
    epoch : int
    symbol : Symbol
    arg_params, aux_params : dict of str to NDArray

    Raises
    ------
    ArgumentValueError
        If a parameter of a cell is missing; nothing is written then.
    FileAccessError
        If a file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import minpy as mx
    >>> cell = mx.rnn.RNNCell(2, prefix='rnn_')
    >>> net = cell.unroll(2, mx.sym.var('data'), merge_outputs=True)[0]
    >>> shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 2, 3))[0]))
    >>> params = {name: mx.nd.ones(shape) for name, shape in shapes.items() if name != 'data'}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.rnn.save_rnn_checkpoint(cell, os.path.join(folder, 'net'), 3, net, params, {})
    ...     symbol, again, _ = mx.rnn.load_rnn_checkpoint(cell, os.path.join(folder, 'net'), 3)
    >>> sorted(again) == sorted(params)
    True
    """
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: Any, epoch: int) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Load what `save_rnn_checkpoint` wrote, with the weights packed as these cells need them.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        Those of the network, or their unfused or fused counterparts.
    prefix : str or PathLike
    epoch : int

    Returns
    -------
    symbol : Symbol
    arg_params, aux_params : dict of str to NDArray

    Raises
    ------
    FileMissingError, FileAccessError, FileFormatError
        If a file is not there, cannot be read, or is damaged.
    ArgumentValueError
        If a parameter of a cell is missing.
    """
    loaded, arguments, states = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arguments = cell.pack_weights(arguments)
    return loaded, arguments, states


def do_rnn_checkpoint(cells: Cells, prefix: Any, period: int = 1) -> Callable[..., None]:
    """Return a callback that saves a checkpoint at the end of epochs, with the weights of cells unpacked.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
    prefix : str or PathLike
    period : int
        After how many epochs.

    Returns
    -------
    callable
        For `epoch_end_callback`.
    """
    every = int(max(1, period))

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return save
