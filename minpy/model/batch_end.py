"""`BatchEndParam`, the argument of callbacks at the end of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["BatchEndParam", "as_list", "call_all"]


class BatchEndParam(NamedTuple):
    """What a callback is given at the end of a batch.

    Parameters
    ----------
    epoch : int
        Which epoch runs.
    nbatch : int
        Which batch of it, counted from 0.
    eval_metric : EvalMetric
        With the numbers so far.
    locals : dict
        The variables of the loop that calls.

    Examples
    --------
    >>> import minpy as mx
    >>> param = mx.model.BatchEndParam(epoch=0, nbatch=3, eval_metric=None, locals=None)
    >>> param.nbatch
    3
    """

    epoch: Any
    nbatch: Any
    eval_metric: Any
    locals: Any


# As MXNet names the class of these fields, which pickles say.
BatchEndParam.__module__ = "minpy.model"


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, and anything else as the only element of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def call_all(callbacks: Any, *args: Any) -> None:
    """Call a function, or each of a list of them; None is none."""
    if callbacks is None:
        return
    if isinstance(callbacks, Iterable):
        for callback in callbacks:
            callback(*args)
    else:
        callbacks(*args)
