"""Batches split over contexts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy import numpy as np
from minpy.context import Context
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array

__all__ = ["split_and_load", "split_data"]


def split_data(data: Any, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[Any]:
    """Split a batch into slices along an axis.

    Parameters
    ----------
    data : NDArray
        A batch.
    num_slice : int
        How many slices to make.
    batch_axis : int
        The axis to split.
    even_split : bool
        Whether lengths that `num_slice` does not divide are an error; else the first slices have one more.

    Returns
    -------
    list of NDArray
        Also if `num_slice` is 1.

    Raises
    ------
    ArgumentError
        If the data is no array, or there is no such axis, or the number of slices is not positive.
    ShapeError
        If slices would be uneven, and must not.

    Examples
    --------
    >>> from minpy import gluon, nd
    >>> [part.shape for part in gluon.utils.split_data(nd.zeros((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    shape = getattr(data, "shape", None)
    if not isinstance(shape, tuple):
        raise ArgumentError(
            f"split_data: data must be an array, got {describe(data)}. Make one with nd.array, or call split_and_load."
        )
    if isinstance(num_slice, bool) or not isinstance(num_slice, (int, numpy.integer)) or num_slice < 1:
        raise ArgumentError(f"split_data: num_slice must be a positive integer, got {describe(num_slice)}.")
    if not -len(shape) <= batch_axis < len(shape):
        raise ArgumentError(f"split_data: there is no axis {batch_axis} to split: data has shape {shape}.")
    axis = batch_axis % len(shape)
    length = shape[axis]
    shorter, longer = divmod(length, num_slice)
    if even_split and longer:
        raise ShapeError(
            f"split_data: data of shape {shape} cannot be split evenly into {num_slice} slices along axis "
            f"{batch_axis}. Use a batch size that is a multiple of {num_slice}, or even_split=False."
        )
    bounds = [number * shorter + min(number, longer) for number in range(num_slice + 1)]
    before = (slice(None),) * axis
    return [data[(*before, slice(*pair))] for pair in pairwise(bounds)]


def split_and_load(data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True) -> list[Any]:
    """Split a batch into as many slices as there are contexts, and bring each to its context.

    Parameters
    ----------
    data : NDArray or what `nd.array` takes
        A batch.
    ctx_list : list of Context
    batch_axis : int
        The axis to split.
    even_split : bool
        Whether lengths that the number of contexts does not divide are an error; else the first slices have one more.

    Returns
    -------
    list of NDArray
        One on each context.

    Raises
    ------
    ArgumentError
        If there are no contexts, or no such axis.
    ShapeError
        If slices would be uneven, and must not.

    Examples
    --------
    >>> import minpy as mx
    >>> [part.context for part in mx.gluon.utils.split_and_load(mx.nd.zeros((4, 2)), [mx.cpu(0), mx.cpu(1)])]
    [cpu(0), cpu(1)]
    """
    if isinstance(ctx_list, Context) or not ctx_list:
        raise ArgumentError(
            f"split_and_load: ctx_list must be a list of contexts, such as [minpy.cpu()], got {describe(ctx_list)}."
        )
    if not isinstance(data, nd.NDArray):
        data = (np.array if is_np_array() else nd.array)(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    slices = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(context) for part, context in zip(slices, ctx_list, strict=True)]
