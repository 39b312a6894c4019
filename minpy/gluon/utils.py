"""`mx.gluon.utils`: batches split over contexts, gradients clipped, files fetched; helpers of blocks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.core.numpy_semantics import is_np_shape
from minpy.gluon.clipping import clip_global_norm
from minpy.gluon.downloads import check_sha1, download, replace_file
from minpy.gluon.hooks import HookHandle
from minpy.gluon.printing import brief_print_list, indent
from minpy.gluon.splitting import split_and_load, split_data
from minpy.namespaces import listing, missing
from minpy.ndarray import NDArray
from minpy.numpy import ndarray
from minpy.symbol import Symbol
from minpy.symbol.numpy import _Symbol

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
]
__dir__ = listing(__all__)

_brief_print_list, _indent = brief_print_list, indent  # MXNet's names

# Where MXNet's weights and data sets are, unless the environment variable says otherwise.
_REPOSITORY = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Tell whether all lengths of a shape are known: 0, or -1 under `npx.set_np()`, stands for one that is not.

    Parameters
    ----------
    shape : tuple of int or None

    Returns
    -------
    bool

    Raises
    ------
    ArgumentValueError
        If a length is less than that.

    Examples
    --------
    >>> from minpy.gluon.utils import shape_is_known
    >>> shape_is_known((3, 0)), shape_is_known((3, 4)), shape_is_known(None)
    (False, True, False)
    """
    if shape is None:
        return False
    unknown = -1 if is_np_shape() else 0
    if not len(shape):
        return unknown == -1
    for length in shape:
        if length == unknown:
            return False
        if length < unknown:
            raise ArgumentValueError(
                f"shape_is_known: {tuple(shape)} is no shape: a length is {length}, and {unknown} stands for one that "
                "is not known."
            )
    return True


def _get_repo_url() -> str:
    """Return where weights and data sets are fetched from: the environment variable MXNET_GLUON_REPO, if it is set."""
    url = os.environ.get("MXNET_GLUON_REPO", _REPOSITORY)
    return url if url.endswith("/") else f"{url}/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """Return the URL of a file of the repository, such as 'gluon/dataset/mnist' and 'train.rec'."""
    return f"{_get_repo_url()}{namespace}/{filename}"


def _check_same_symbol_type(symbols: Sequence[Symbol]) -> type[Symbol]:
    """Return the class of outputs that are symbols: all of `mx.sym`, or all of `mx.sym.np`."""
    if not isinstance(symbols, (list, tuple)) or not symbols:
        raise ArgumentError(f"expected a list of symbols, got {describe(symbols)}.")
    kinds = [isinstance(symbol, _Symbol) for symbol in symbols]
    if any(kinds) and not all(kinds):
        at = kinds.index(not kinds[0])
        raise ArgumentError(
            f"the outputs are symbols of mx.sym and of mx.sym.np ({symbols[0].name!r} and {symbols[at].name!r}), which "
            "make no graph together: convert all with as_np_ndarray(), or all with as_nd_ndarray()."
        )
    return _Symbol if kinds[0] else Symbol


def _check_all_np_ndarrays(out: Any) -> None:
    """Raise for outputs among which are arrays or symbols of `mx.nd` and `mx.sym`, where all must be NumPy's."""
    if isinstance(out, (list, tuple)):
        for item in out:
            _check_all_np_ndarrays(item)
    elif isinstance(out, (NDArray, Symbol)) and not isinstance(out, (ndarray, _Symbol)):
        raise ArgumentError(
            "outputs of blocks must be arrays of mx.np or symbols of mx.sym.np under npx.set_np(), got "
            f"{type(out).__module__}.{type(out).__name__}: convert it with as_np_ndarray()."
        )


__getattr__ = missing("minpy.gluon.utils", "name", __all__)
