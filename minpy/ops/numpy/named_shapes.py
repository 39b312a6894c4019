"""NumPy's functions that rearrange, repeat and pick elements, under MXNet's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentValueError
from minpy.core.signatures import REQUIRED
from minpy.ops.inference.numpy_reshaping import resolve_numpy_shape
from minpy.ops.inference.partial_shapes import UNKNOWN, is_known, same_shape
from minpy.ops.numpy.named import named, numpy_function
from minpy.ops.tensor.transpose import permuted

__all__ = ["AXIS"]

AXIS = int | tuple[int, ...] | None
_INTS = int | tuple[int, ...]
_FIRST_DTYPE: Any = lambda *dtypes, **_: dtypes[0]


def _as_tuple(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


# -- shapes ------------------------------------------------------------------------------------------------------------


def _reshape_shape(inputs: Shapes, outputs: Shapes, *, newshape: Any) -> tuple[Shapes, Shapes]:
    lengths = _as_tuple(newshape)
    shape = inputs[0]
    if shape is not None and is_known(shape):
        return inputs, [resolve_numpy_shape(shape, lengths)]
    return inputs, [tuple(length if length >= 0 else UNKNOWN for length in lengths)]


@named("_np_reshape", shape=_reshape_shape)
def np_reshape(a: Any, *, newshape: AXIS, order: str = "C") -> Any:
    """Return `numpy.reshape`."""
    return np.reshape(a, newshape, order=order)  # type: ignore[call-overload]


def _codes_shape(inputs: Shapes, outputs: Shapes, *, newshape: Any, reverse: bool) -> tuple[Shapes, Shapes]:
    shape = inputs[0]
    if shape is not None and is_known(shape):
        return inputs, [resolve_numpy_shape(shape, newshape, reverse)]
    return inputs, outputs


@named("_npx_reshape", shape=_codes_shape)
def npx_reshape(a: Any, *, newshape: int | tuple[int, ...], reverse: bool = False, order: str = "C") -> Any:
    """Return an array in another shape, which codes may stand for: see `minpy.npx.reshape`."""
    return np.reshape(a, resolve_numpy_shape(np.shape(a), newshape, reverse))


numpy_function("_np_squeeze", np.squeeze, "a", axis=(AXIS, None))
numpy_function("_np_moveaxis", np.moveaxis, "a", source=(_INTS, REQUIRED), destination=(_INTS, REQUIRED))
numpy_function("_npi_flip", np.flip, "data", shape=same_shape, axis=(AXIS, None))
numpy_function("_np_roll", np.roll, "data", shape=same_shape, shift=(_INTS, REQUIRED), axis=(AXIS, None))
numpy_function("_npi_rot90", np.rot90, "data", k=(int, 1), axes=(tuple[int, ...], (0, 1)))


def _transpose_shape(inputs: Shapes, outputs: Shapes, *, axes: Any) -> tuple[Shapes, Shapes]:
    stated = inputs[0] if inputs[0] is not None else outputs[0]
    if stated is None:
        return inputs, outputs
    order = [axis % len(stated) for axis in axes] if axes else range(len(stated))[::-1]
    return permuted(inputs, outputs, order)


@named("_np_transpose", shape=_transpose_shape)
def np_transpose(a: Any, *, axes: tuple[int, ...] | None = None) -> Any:
    """Return an array with its axes permuted, by default reversed."""
    return np.transpose(a, axes if axes else None)


@named("_npi_rollaxis")
def npi_rollaxis(a: Any, *, axis: int, start: int = 0) -> Any:
    """Return an array with one axis moved to before another."""
    return np.moveaxis(a, axis, start - 1 if axis % np.ndim(a) < start else start)


def _target_shape(inputs: Shapes, outputs: Shapes, *, shape: Any) -> tuple[Shapes, Shapes]:
    if inputs[0] is not None and is_known(inputs[0]):
        return inputs, [np.broadcast_shapes(inputs[0], _as_tuple(shape))]
    return inputs, [_as_tuple(shape)]


@named("_npi_broadcast_to", shape=_target_shape)
def npi_broadcast_to(array: Any, *, shape: int | tuple[int, ...]) -> Any:
    """Return an array repeated along axes, so that it has a shape."""
    return np.broadcast_to(array, shape) + np.zeros((), np.result_type(array))


@named("_np_copy", shape=same_shape)
def np_copy(a: Any) -> Any:
    """Return a copy."""
    return np.positive(a) if np.result_type(a).kind != "b" else np.where(a, True, False)


@named("_npi_full_like", shape=same_shape, zero=True, dtype="attribute")
def npi_full_like(a: Any, *, fill_value: float, dtype: str | None = None, ctx: str | None = None) -> Any:
    """Return an array of a shape in which all elements are one number."""
    return np.full_like(a, fill_value, dtype=None if dtype in (None, "None") else dtype)


@named("_npi_pad")
def npi_pad(
    data: Any,
    *,
    pad_width: tuple[tuple[int, ...], ...],
    mode: str = "constant",
    constant_value: float = 0.0,
    reflect_type: str = "even",
) -> Any:
    """Return an array with more elements at the ends of its axes."""
    if mode == "constant":
        return np.pad(data, pad_width, mode="constant", constant_values=constant_value)
    return np.pad(data, pad_width, mode=mode)  # type: ignore[call-overload]


# -- diagonals and triangles -------------------------------------------------------------------------------------------


numpy_function("_np_diag", np.diag, "data", k=(int, 0))
numpy_function("_np_diagonal", np.diagonal, "data", offset=(int, 0), axis1=(int, 0), axis2=(int, 1))
numpy_function("_npi_tril", np.tril, "data", k=(int, 0))


@named("_np_diagflat")
def np_diagflat(data: Any, *, k: int = 0) -> Any:
    """Return a matrix with the flattened array as its k-th diagonal."""
    return np.diag(np.ravel(data), k)


@named("_np_trace")
def np_trace(data: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the sums of the diagonals of the matrices in two axes."""
    return np.sum(np.diagonal(data, offset, axis1, axis2), axis=-1, dtype=np.result_type(data))


@named("_npi_diag_indices_from", dtype="int64", zero=True)
def npi_diag_indices_from(data: Any) -> Any:
    """Return the indices of the main diagonal, one a row."""
    return np.stack(np.diag_indices(np.shape(data)[0], np.ndim(data))).astype(np.int64)


# -- differences -------------------------------------------------------------------------------------------------------


numpy_function("_npi_diff", np.diff, "a", n=(int, 1), axis=(int, -1))


@named(
    "_npi_ediff1d",
    dtype=_FIRST_DTYPE,
    optional_inputs={
        "to_begin": lambda attributes: bool(attributes.get("to_begin_arr_given", False)),
        "to_end": lambda attributes: bool(attributes.get("to_end_arr_given", False)),
    },
)
def npi_ediff1d(
    ary: Any,
    to_begin: Any = None,
    to_end: Any = None,
    *,
    to_begin_arr_given: bool = False,
    to_end_arr_given: bool = False,
    to_begin_scalar: float | None = None,
    to_end_scalar: float | None = None,
) -> Any:
    """Return the differences of neighbours in the flattened array, and what comes before and behind them."""
    if to_end_arr_given and not to_begin_arr_given and to_end is None:  # an input that is not given has no place
        to_begin, to_end = None, to_begin
    flat = np.ravel(ary)
    kind = np.result_type(ary)
    first = to_begin_scalar if to_begin is None else to_begin
    last = to_end_scalar if to_end is None else to_end
    pieces = [np.ravel(first).astype(kind)] if first is not None else []
    pieces.append(flat[1:] - flat[:-1])
    if last is not None:
        pieces.append(np.ravel(last).astype(kind))
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]


# -- inserting and deleting --------------------------------------------------------------------------------------------


@named(
    "_npi_delete",
    dtype=_FIRST_DTYPE,
    optional_inputs={"obj": lambda attributes: not {"int_ind", "start", "stop", "step"} & {*attributes}},
)
def npi_delete(
    arr: Any,
    obj: Any = None,
    *,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: int | None = None,
) -> Any:
    """Return an array without some of its rows, or columns, or elements."""
    where = obj.astype(np.int64) if obj is not None else int_ind if int_ind is not None else slice(start, stop, step)
    length = np.size(arr) if axis is None else np.shape(arr)[axis]
    kept_positions = np.delete(np.arange(length), where)
    return np.take(np.ravel(arr) if axis is None else arr, kept_positions, axis=0 if axis is None else axis)


def _inserted(arr: Any, values: Any, where: Any, axis: int | None) -> Any:
    kind = np.result_type(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    # Where the elements of the result come from, found by inserting positions.
    count, length = np.size(arr), np.shape(arr)[axis]
    numbers = np.reshape(np.arange(count), np.shape(arr))
    new_numbers = np.reshape(np.arange(np.size(values)), np.shape(values)) + count
    sources = np.insert(numbers, where, new_numbers, axis=axis)
    assert np.shape(sources)[axis] >= length
    return np.take(np.concatenate([np.ravel(arr), np.ravel(values).astype(kind)]), sources)


@named(
    "_npi_insert_scalar",
    dtype=_FIRST_DTYPE,
    optional_inputs={"values": lambda attributes: attributes.get("val") is None},
)
def npi_insert_scalar(
    arr: Any, values: Any = None, *, int_ind: int, axis: int | None = None, val: float | None = None
) -> Any:
    """Return an array with values inserted before one position."""
    return _inserted(arr, np.asarray(val) if values is None else values, int_ind, axis)


@named(
    "_npi_insert_slice",
    dtype=_FIRST_DTYPE,
    optional_inputs={"values": lambda attributes: attributes.get("val") is None},
)
def npi_insert_slice(
    arr: Any,
    values: Any = None,
    *,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    axis: int | None = None,
    val: float | None = None,
) -> Any:
    """Return an array with values inserted before the positions of a slice."""
    return _inserted(arr, np.asarray(val) if values is None else values, slice(start, stop, step), axis)


@named(
    "_npi_insert_tensor", dtype=_FIRST_DTYPE, optional_inputs={"obj": lambda attributes: attributes.get("val") is None}
)
def npi_insert_tensor(
    arr: Any, values: Any, obj: Any = None, *, axis: int | None = None, val: float | None = None
) -> Any:
    """Return an array with values inserted before the positions that an array names."""
    where = values if obj is None else obj
    return _inserted(arr, np.asarray(val) if obj is None else values, where.astype(np.int64), axis)


# -- counting ----------------------------------------------------------------------------------------------------------


@named(
    "_npi_bincount",
    dtype=lambda *dtypes, **_: dtypes[1] if len(dtypes) > 1 else np.dtype("int64"),
    shape=lambda inputs, outputs, **_: (inputs, outputs),  # it depends on values
    zero=True,
    optional_inputs={"weights": lambda attributes: bool(attributes.get("has_weights", False))},
)
def npi_bincount(data: Any, weights: Any = None, *, minlength: int = 0, has_weights: bool = False) -> Any:
    """Return how often each number occurs, or the sums of the weights of its occurrences."""
    counts = np.bincount(data.astype(np.int64), weights, minlength)
    return counts if weights is None else counts.astype(weights.dtype)


def _unique_outputs(attributes: dict[str, Any]) -> list[str]:
    further = [name for name in ("return_index", "return_inverse", "return_counts") if attributes.get(name)]
    return [f"output{index}" for index in range(1 + len(further))] if further else ["output"]


@named(
    "_npi_unique",
    dtype=lambda dtype, **attributes: [dtype, *[np.dtype("int64")] * (len(_unique_outputs(attributes)) - 1)],
    shape=lambda inputs, outputs, **_: (inputs, outputs),  # it depends on values
    zero=True,
    outputs=_unique_outputs,
)
def npi_unique(
    data: Any,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """Return the different elements, or rows, in order; and on demand where and how often they are."""
    return np.unique(data, return_index, return_inverse, return_counts, axis)  # type: ignore[call-overload]


@named(
    "_npx_nonzero",
    dtype="int64",
    shape=lambda inputs, outputs: (inputs, [(UNKNOWN, UNKNOWN if inputs[0] is None else len(inputs[0]))]),
    zero=True,
)
def npx_nonzero(x: Any) -> Any:
    """Return the positions of what is not 0, one a row."""
    return np.argwhere(x)


@named("_npi_share_memory", dtype="bool", shape=lambda inputs, outputs: (inputs, [()]), zero=True)
def npi_share_memory(a: Any, b: Any) -> Any:
    """Tell whether two arrays may share memory."""
    return np.asarray(np.may_share_memory(a, b))


@named("_npx_constraint_check", dtype="bool", shape=lambda inputs, outputs, **_: (inputs, [()]), zero=True)
def npx_constraint_check(input: Any, *, msg: str = "Constraint violated.") -> Any:
    """Return True if all elements are true, else raise the message."""
    if not np.all(input):
        raise ArgumentValueError(msg)
    return np.asarray(True)
