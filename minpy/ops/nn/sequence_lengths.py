"""Batches of sequences of different lengths, of shape (time, batch, ...) or, with axis=1, (batch, time, ...)."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import like_data, replace_length, with_followers, without_axis
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import index, truncated, unindex

__all__ = ["checked_lengths", "sequence_last", "sequence_mask", "sequence_reverse"]


def checked_lengths(name: str, data: Any, sequence_length: Any, use: bool, axis: int) -> np.ndarray | None:
    """Return the checked lengths as integers, or None where all sequences are full."""
    if axis not in (0, 1) or np.ndim(data) < 2 - (not use):
        raise ShapeError(
            f"{name}: data {np.shape(data)}, axis {axis}; expected (time, batch, ...) with axis 0, or axis 1."
        )
    if not use:
        if sequence_length is not None:
            raise ArgumentError(f"{name}: sequence_length is given, but use_sequence_length is False; pass True.")
        return None
    if sequence_length is None:
        raise ArgumentError(f"{name}: use_sequence_length=True, but sequence_length is missing.")
    lengths = truncated(raw_of(sequence_length))
    batch, time = np.shape(data)[1 - axis], np.shape(data)[axis]
    if lengths.shape != (batch,):
        raise ShapeError(f"{name}: sequence_length has shape {lengths.shape}; expected {(batch,)}, the batch.")
    if lengths.size and (lengths.min() < 0 or lengths.max() > time):
        raise ArgumentError(
            f"{name}: lengths lie in [{lengths.min()}, {lengths.max()}]; expected 0 to {time}, the time."
        )
    return lengths


def _valid_steps(data: Any, lengths: np.ndarray, axis: int) -> np.ndarray:
    """Return, broadcast against the data, which steps lie inside their sequence."""
    steps = np.arange(np.shape(data)[axis])
    valid = steps[:, None] < lengths if axis == 0 else steps < lengths[:, None]
    return valid.reshape(valid.shape + (1,) * (np.ndim(data) - 2))


_OPTIONAL = {"sequence_length": lambda attributes: bool(attributes.get("use_sequence_length", False))}


@operator(name="SequenceMask", optional_inputs=_OPTIONAL, zero=(1,), shape_only=(0,), dtypes=with_followers)
def sequence_mask(
    data: np.ndarray,
    sequence_length: np.ndarray | None = None,
    *,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
) -> np.ndarray:
    """Return the data with a value in the steps after each sequence's end.

    {data_parameter}
        Of shape (time, batch, ...), or (batch, time, ...) with axis=1.
    sequence_length : NDArray, optional
        Of shape (batch,); left out if all sequences are full.
    use_sequence_length : bool
        Whether it is given.
    value : float
    axis : {0, 1}
        The axis of time.

    {returns_like_data}

    {raises_unless_shapes_fit}
    ArgumentError
        If a length is out of range.

    {examples}
    >>> x = nd.array([[1, 2], [3, 4]])
    >>> nd.SequenceMask(x, nd.array([1, 2]), use_sequence_length=True, value=-1).asnumpy()
    array([[ 1.,  2.],
           [-1.,  4.]], dtype=float32)
    """
    lengths = checked_lengths("SequenceMask", data, sequence_length, use_sequence_length, axis)
    return data.copy() if lengths is None else np.where(_valid_steps(data, lengths, axis), data, data.dtype.type(value))


@sequence_mask.def_grad()
def _sequence_mask_gradient(ans: Any, data: Any, sequence_length: Any, *, use_sequence_length: bool, axis: int) -> Any:
    lengths = checked_lengths("SequenceMask", data, sequence_length, use_sequence_length, axis)
    return lambda g: g if lengths is None else g * _valid_steps(data, lengths, axis)


@sequence_mask.def_kernel
def _sequence_mask_kernel(
    data: Any, sequence_length: Any, *, use_sequence_length: bool, value: float, axis: int
) -> np.ndarray:
    lengths = checked_lengths("SequenceMask", data, sequence_length, use_sequence_length, axis)
    result: np.ndarray = data.copy()
    if lengths is not None:
        result[~_valid_steps(data, lengths, axis).reshape(data.shape[:2])] = value
    return result


@sequence_mask.def_grad_kernel()
def _sequence_mask_raw_gradient(
    ans: Any, data: Any, sequence_length: Any, *, use_sequence_length: bool, axis: int
) -> Any:
    return lambda g: _sequence_mask_kernel(
        g, sequence_length, use_sequence_length=use_sequence_length, value=0, axis=axis
    )


def _last_key(data: Any, lengths: np.ndarray | None, axis: int) -> tuple[Any, ...]:
    if lengths is None:
        return (*(slice(None),) * axis, -1)
    last = np.maximum(lengths, 1) - 1
    batch = np.arange(len(lengths))
    return (last, batch) if axis == 0 else (batch, last)


@operator(name="SequenceLast", optional_inputs=_OPTIONAL, zero=(1,), shape_only=(0,), dtypes=with_followers)
def sequence_last(
    data: np.ndarray, sequence_length: np.ndarray | None = None, *, use_sequence_length: bool = False, axis: int = 0
) -> np.ndarray:
    """Return the last step of each sequence; of an empty one, the first step.

    {data_parameter}
        Of shape (time, batch, ...), or (batch, time, ...) with axis=1.
    sequence_length : NDArray, optional
        Of shape (batch,); left out if all sequences are full.
    use_sequence_length : bool
        Whether it is given.
    axis : {0, 1}
        The axis of time.

    {returns_array}
        Of shape (batch, ...).

    {raises_unless_shapes_fit}
    ArgumentError
        If a length is out of range.

    {examples}
    >>> nd.SequenceLast(nd.array([[1, 2], [3, 4]]), nd.array([1, 2]), use_sequence_length=True).asnumpy()
    array([1., 4.], dtype=float32)
    """
    return data[
        _last_key(data, checked_lengths("SequenceLast", data, sequence_length, use_sequence_length, axis), axis)
    ]


@sequence_last.def_grad()
def _sequence_last_gradient(ans: Any, data: Any, sequence_length: Any, *, use_sequence_length: bool, axis: int) -> Any:
    key = _last_key(data, checked_lengths("SequenceLast", data, sequence_length, use_sequence_length, axis), axis)
    return lambda g: unindex(g, key=key, shape=np.shape(data))


def _reversed_key(data: Any, lengths: np.ndarray | None) -> tuple[Any, ...]:
    if lengths is None:
        return (slice(None, None, -1),)
    steps = np.arange(np.shape(data)[0])[:, None]
    return np.where(steps < lengths, lengths - 1 - steps, steps), np.arange(len(lengths))


@operator(name="SequenceReverse", optional_inputs=_OPTIONAL, zero=(1,), shape_only=(0,), dtypes=with_followers)
def sequence_reverse(
    data: np.ndarray, sequence_length: np.ndarray | None = None, *, use_sequence_length: bool = False, axis: int = 0
) -> np.ndarray:
    """Return the data with the steps of each sequence in reverse order; what follows its end stays.

    {data_parameter}
        Of shape (time, batch, ...).
    sequence_length : NDArray, optional
        Of shape (batch,); left out if all sequences are full.
    use_sequence_length : bool
        Whether it is given.
    axis : {0}
        The axis of time.

    {returns_like_data}

    {raises_unless_shapes_fit}
    ArgumentError
        If a length is out of range, or for another axis.

    {examples}
    >>> nd.SequenceReverse(nd.array([[1, 2], [3, 4]]), nd.array([1, 2]), use_sequence_length=True).asnumpy()
    array([[1., 4.],
           [3., 2.]], dtype=float32)
    """
    if axis != 0:
        raise ArgumentError(f"SequenceReverse: axis is {axis}; only axis 0 is supported: swap the axes first.")
    return data[
        _reversed_key(data, checked_lengths("SequenceReverse", data, sequence_length, use_sequence_length, axis))
    ]


@sequence_reverse.def_grad()
def _sequence_reverse_gradient(
    ans: Any, data: Any, sequence_length: Any, *, use_sequence_length: bool, axis: int
) -> Any:
    key = _reversed_key(data, checked_lengths("SequenceReverse", data, sequence_length, use_sequence_length, axis))
    return lambda g: index(g, key=key)  # it is its own inverse


def _with_batch(data: Any, lengths: Any, axis: int) -> Any:
    """Return the shapes of data and of the lengths of its sequences (or none), which say the length of the batch."""
    if data is not None and len(data) > 1 and axis in (0, 1):
        lengths = [merge_shapes(shape, data[1 - axis : 2 - axis]) for shape in lengths]
        data = replace_length(data, 1 - axis, *lengths[0]) if lengths else data
    return [data, *lengths]


def _sequence_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    (data, *lengths), outputs = like_data(inputs, outputs)
    return _with_batch(data, lengths, axis), outputs


@sequence_last.def_infer_shape
def _sequence_last_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    data, *lengths = inputs
    if axis not in (0, 1):
        return inputs, outputs
    if outputs[0]:
        data = merge_shapes(data, (*outputs[0][:axis], UNKNOWN, *outputs[0][axis:]))
    data, *lengths = _with_batch(data, lengths, axis)
    return [data, *lengths], [without_axis(data, axis)]


for _operator in (sequence_mask, sequence_reverse):
    _operator.def_infer_shape(_sequence_shapes)
