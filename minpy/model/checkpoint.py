"""Checkpoints: a symbol and its parameters in the two files in which MXNet keeps a model."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

from minpy import ndarray as nd
from minpy import symbol as sym
from minpy.core.errors import ArgumentError, FileFormatError, describe
from minpy.symbol import Symbol

__all__ = ["epoch_file", "load_checkpoint", "load_params", "save_checkpoint", "split_parameters"]

_KINDS = ("arg", "aux")


def epoch_file(function: str, prefix: Any, epoch: Any, ending: str = "params") -> str:
    """Return the name of a file of an epoch: ``prefix-0003.params``."""
    try:
        base = os.fsdecode(prefix)
    except TypeError:
        raise ArgumentError(
            f"{function}: prefix is {describe(prefix)}; expected how the names of the files begin, such as 'net' for "
            "net-symbol.json and net-0003.params."
        ) from None
    if isinstance(epoch, bool) or not hasattr(type(epoch), "__index__"):
        raise ArgumentError(
            f"{function}: epoch is {describe(epoch)}; expected an integer, as 3 for {base}-0003.params."
        )
    return f"{base}-{int(epoch):04d}.{ending}"


def split_parameters(
    arrays: Any, name: str, function: str, advice: str = ""
) -> tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]]:
    """Return what a file holds as arguments and auxiliary states: its names begin with `arg:` and `aux:`."""
    if not isinstance(arrays, Mapping):
        if not arrays:
            return {}, {}
        raise FileFormatError(
            f"{function}: {name!r} holds {len(arrays)} arrays without names; a checkpoint's are named 'arg:fc_weight' "
            f"and 'aux:bn_moving_mean'. Read it by nd.load({name!r}), and give the arrays names."
        )
    by_kind: dict[str, dict[str, nd.NDArray]] = {kind: {} for kind in _KINDS}
    unnamed = []
    for key, array in arrays.items():
        kind, colon, name_of_array = key.partition(":")
        if not colon:
            unnamed.append(key)
        elif kind in by_kind:
            by_kind[kind][name_of_array] = array
    if unnamed:
        shown = ", ".join(map(repr, unnamed[:5])) + (f" and {len(unnamed) - 5} more" if len(unnamed) > 5 else "")
        raise FileFormatError(
            f"{function}: {name!r} names {shown}; a checkpoint's names begin with 'arg:' or 'aux:'. "
            + (advice or "Files of Gluon's save_parameters are read by load_parameters of the block that wrote them.")
        )
    return by_kind["arg"], by_kind["aux"]


def load_params(prefix: Any, epoch: int) -> tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]]:
    """Read the parameters of a checkpoint.

    Parameters
    ----------
    prefix : str or PathLike
        How the file's name begins.
    epoch : int
        Of which epoch: ``prefix-0003.params`` is of epoch 3.

    Returns
    -------
    arg_params, aux_params : dict of str to NDArray
        Weights and auxiliary states by the names of the symbol's variables.

    Raises
    ------
    FileMissingError, FileAccessError
        If there is no such file, or it cannot be read.
    FileFormatError
        If it is damaged or cut short, or no checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> import minpy as mx
    >>> prefix = os.path.join(tempfile.mkdtemp(), 'net')
    >>> mx.model.save_checkpoint(prefix, 3, mx.sym.var('w') * 2, {'w': mx.nd.ones(2)}, {})
    >>> arg_params, aux_params = mx.model.load_params(prefix, 3)
    >>> arg_params['w'].asnumpy()
    array([1., 1.], dtype=float32)
    """
    return _parameters("model.load_params", prefix, epoch)


def _parameters(function: str, prefix: Any, epoch: Any) -> tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]]:
    name = epoch_file(function, prefix, epoch)
    arrays = nd.load(name)
    if not arrays:
        logging.warning("Params file '%s' is empty", name)
    return split_parameters(arrays, name, function)


def load_checkpoint(prefix: Any, epoch: int) -> tuple[Symbol, dict[str, nd.NDArray], dict[str, nd.NDArray]]:
    """Read a model: the symbol in ``prefix-symbol.json``, and its parameters of an epoch.

    Parameters
    ----------
    prefix : str or PathLike
        How the names of both files begin.
    epoch : int
        Of which epoch the parameters are: ``prefix-0003.params`` is of epoch 3.

    Returns
    -------
    symbol : Symbol
    arg_params, aux_params : dict of str to NDArray
        Weights and auxiliary states by the names of the symbol's variables.

    Raises
    ------
    FileMissingError, FileAccessError
        If a file is not there, or cannot be read.
    FileFormatError
        If one is damaged or cut short, or no checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> import minpy as mx
    >>> prefix = os.path.join(tempfile.mkdtemp(), 'net')
    >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1, no_bias=True, name='fc')
    >>> mx.model.save_checkpoint(prefix, 1, net, {'fc_weight': mx.nd.ones((1, 2))}, {})
    >>> symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, 1)
    >>> symbol.eval(data=mx.nd.array([[1, 2]]), **arg_params)[0].asnumpy()
    array([[3.]], dtype=float32)
    """
    name = epoch_file("model.load_checkpoint", prefix, epoch)
    symbol = sym.load(f"{name[: name.rindex('-')]}-symbol.json")
    return symbol, *_parameters("model.load_checkpoint", prefix, epoch)


def save_checkpoint(
    prefix: Any,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, nd.NDArray],
    aux_params: Mapping[str, nd.NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write a model to two files that MXNet reads, too; each is there as a whole, or what was there before is.

    Parameters
    ----------
    prefix : str or PathLike
        How the names of both files begin.
    epoch : int
        Of which epoch the parameters are: they go to ``prefix-0003.params`` for 3.
    symbol : Symbol or None
        What goes to ``prefix-symbol.json``, unless it is None.
    arg_params, aux_params : dict of str to NDArray
        Weights and auxiliary states by the names of the symbol's variables.
    remove_amp_cast : bool
        Whether to leave out the casts of mixed precision.

    Raises
    ------
    FileAccessError
        If a file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import minpy as mx
    >>> folder = tempfile.mkdtemp()
    >>> mx.model.save_checkpoint(os.path.join(folder, 'net'), 12, mx.sym.var('w') * 2, {'w': mx.nd.ones(2)}, {})
    >>> sorted(os.listdir(folder))
    ['net-0012.params', 'net-symbol.json']
    """
    name = epoch_file("model.save_checkpoint", prefix, epoch)
    if symbol is not None:
        symbol.save(f"{name[: name.rindex('-')]}-symbol.json", remove_amp_cast=remove_amp_cast)
    arrays = {f"arg:{key}": array for key, array in arg_params.items()}
    arrays.update((f"aux:{key}", array) for key, array in aux_params.items())
    nd.save(name, arrays)
    logging.info('Saved checkpoint to "%s"', name)
