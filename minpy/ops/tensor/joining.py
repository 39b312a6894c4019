"""Operators that put arrays together, and take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.ops.axes import one_axis
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rules import derived, merge_lengths, numbered, promoted, replace_length, without_axis
from minpy.ops.registry import FUNCTIONS, operator

__all__ = ["concat", "split", "split_v2", "stack"]


def _check_arrays(name: str, arrays: Sequence[Any]) -> None:
    if not arrays:
        raise ArgumentError(f"{name}: no arrays are given; expected at least one.")
    for position, array in enumerate(arrays):
        if isinstance(array, (list, tuple)):
            raise ArgumentError(
                f"{name}: argument {position} is {describe(array)}; give the arrays one by one: nd.{name}(*arrays)."
            )


@operator(name="concat", aliases=("Concat",))
def concat(*data: np.ndarray, dim: int = 1, num_args: int | None = None) -> np.ndarray:
    """Return arrays joined along an axis that they have.

    Parameters
    ----------
    *data : NDArray
        Of equal shapes, but for the axis.
    dim : int
        The axis.
    num_args : int, optional
        Accepted and not used: the number of arrays.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If the shapes differ elsewhere, or there is no such axis.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.concat(nd.array([[1], [2]]), nd.array([[3, 4], [5, 6]]), dim=1).asnumpy()
    array([[1., 3., 4.],
           [2., 5., 6.]], dtype=float32)
    """
    _check_arrays("concat", data)
    axis = one_axis("concat", dim, data[0].ndim)
    first = data[0].shape
    for position, array in enumerate(data):
        shape = array.shape
        if len(shape) != len(first) or shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            raise ShapeError(
                f"concat: argument {position} has shape {shape}, argument 0 has {first}; they may differ only in "
                f"axis {axis} (dim)."
            )
    return np.concatenate(data, axis=axis)


def _concat_gradient(ans: Any, *data: Any, dim: int) -> Any:
    axis = dim % np.ndim(data[0])
    parts, start = [], 0
    for array in data:
        stop = start + np.shape(array)[axis]
        parts.append((*(slice(None),) * axis, slice(start, stop)))
        start = stop
    return lambda g: tuple(g[part] for part in parts)


concat.def_multiple_grad(_concat_gradient)


@concat.def_infer_shape
def _concat_shapes(inputs: Any, outputs: Any, *, dim: int) -> Any:
    ndim = _known_ndim(*inputs, *outputs)
    if ndim is None:
        return inputs, outputs
    axis = one_axis("concat", dim, ndim)
    common = (UNKNOWN,) * ndim
    for shape in (*inputs, *outputs):
        if shape is not None and len(shape) != ndim:
            raise ShapeError("the arrays differ in their number of axes.")
        common = merge_shapes(common, shape and replace_length(shape, axis, UNKNOWN)) or ()
    lengths = [UNKNOWN if shape is None else shape[axis] for shape in inputs]
    total = merge_lengths(derived(lambda *known: sum(known), *lengths), *(shape[axis] for shape in outputs if shape))
    if total != UNKNOWN and lengths.count(UNKNOWN) == 1:
        rest = total - sum(length for length in lengths if length != UNKNOWN)
        if rest < 0:
            raise ShapeError(f"the arrays are longer than their result along axis {axis}, which has length {total}.")
        lengths[lengths.index(UNKNOWN)] = rest
    return [replace_length(common, axis, length) for length in lengths], [replace_length(common, axis, total)]


concat.def_infer_type(promoted)


def _known_ndim(*shapes: Any) -> int | None:
    return next((len(shape) for shape in shapes if shape is not None), None)


@operator(name="stack")
def stack(*data: np.ndarray, axis: int = 0, num_args: int | None = None) -> np.ndarray:
    """Return arrays joined along a new axis.

    Parameters
    ----------
    *data : NDArray
        Of equal shapes.
    axis : int
        Where the new axis stands in the result.
    num_args : int, optional
        Accepted and not used: the number of arrays.

    Returns
    -------
    NDArray

    Raises
    ------
    ShapeError
        If the shapes differ, or the result has no such axis.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.stack(nd.array([1, 2]), nd.array([3, 4])).asnumpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    _check_arrays("stack", data)
    for position, array in enumerate(data):
        if array.shape != data[0].shape:
            raise ShapeError(
                f"stack: argument {position} has shape {array.shape}, argument 0 has {data[0].shape}; "
                "they must be equal."
            )
    return np.stack(data, axis=one_axis("stack", axis, data[0].ndim + 1))


def _stack_gradient(ans: Any, *data: Any, axis: int) -> Any:
    before = (slice(None),) * (axis % (np.ndim(data[0]) + 1))
    return lambda g: tuple(g[(*before, position)] for position in range(len(data)))


stack.def_multiple_grad(_stack_gradient)


@stack.def_infer_shape
def _stack_shapes(inputs: Any, outputs: Any, *, axis: int) -> Any:
    ndim = _known_ndim(*(without_axis(shape, 0) for shape in outputs), *inputs)
    if ndim is None:
        return inputs, outputs
    axis = one_axis("stack", axis, ndim + 1)
    part = without_axis(outputs[0], axis)
    for shape in inputs:
        part = merge_shapes(part, shape)
    return [part] * len(inputs), [(*part[:axis], len(inputs), *part[axis:])]  # type: ignore[index]


stack.def_infer_type(promoted)


# -- taking apart ------------------------------------------------------------------------------------------------------


@operator(name="SliceChannel", aliases=("split",), outputs=lambda attributes: numbered(int(attributes["num_outputs"])))
def split(data: np.ndarray, *, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> Any:
    """Return an array cut into parts of equal length along an axis.

    Parameters
    ----------
    data : NDArray
    num_outputs : int
        How many parts.
    axis : int
    squeeze_axis : bool
        Whether to remove the axis, if the parts have length 1.

    Returns
    -------
    tuple of NDArray
        One NDArray if `num_outputs` is 1.

    Raises
    ------
    ShapeError
        If the axis cannot be divided, or removed, or does not exist.

    Examples
    --------
    >>> from minpy import nd
    >>> [part.asnumpy().tolist() for part in nd.split(nd.array([[1, 2, 3, 4]]), num_outputs=2)]
    [[[1.0, 2.0]], [[3.0, 4.0]]]
    """
    axis = one_axis("split", axis, data.ndim)
    length = data.shape[axis]
    if num_outputs < 1 or length % num_outputs:
        raise ShapeError(
            f"split: axis {axis} of data {data.shape} has length {length}, which num_outputs={num_outputs} does not "
            "divide."
        )
    if squeeze_axis and length != num_outputs:
        raise ShapeError(
            f"split: squeeze_axis=True needs parts of length 1, but axis {axis} of data {data.shape} gives "
            f"{num_outputs} parts of length {length // num_outputs}."
        )
    parts = tuple(np.ascontiguousarray(part) for part in np.split(data, num_outputs, axis))
    if squeeze_axis:
        parts = tuple(part.squeeze(axis) for part in parts)
    return parts[0] if num_outputs == 1 else parts


@split.def_grad()
def _split_gradient(ans: Any, data: Any, *, num_outputs: int, axis: int, squeeze_axis: bool) -> Any:
    if num_outputs == 1:
        return lambda g: np.reshape(g, np.shape(data))
    axis %= np.ndim(data)
    return lambda g: np.stack(g, axis) if squeeze_axis else np.concatenate(g, axis)


@split.def_infer_shape
def _split_shapes(inputs: Any, outputs: Any, *, num_outputs: int, axis: int, squeeze_axis: bool, **_: Any) -> Any:
    [data], ndim = inputs, _known_ndim(*outputs)
    if data is None and ndim is None:
        return inputs, outputs
    axis = one_axis("split", axis, len(data) if data is not None else int(ndim or 0) + squeeze_axis)
    part = None
    for shape in outputs:
        part = merge_shapes(part, shape)
    if part is not None:
        lengths = (1 if squeeze_axis else part[axis],)
        whole = (*part[:axis], *lengths, *part[axis + (not squeeze_axis) :])
        data = merge_shapes(data, replace_length(whole, axis, derived(lambda n: n * num_outputs, *lengths)))
    length = num_outputs if squeeze_axis else UNKNOWN
    length = merge_lengths(length, data[axis])
    if num_outputs < 1 or (length % num_outputs and length != UNKNOWN):
        raise ShapeError(f"axis {axis} has length {length}, which num_outputs={num_outputs} does not divide.")
    part = replace_length(data, axis, *([] if squeeze_axis else [derived(lambda n: n // num_outputs, length)]))
    return [replace_length(data, axis, length)], [part] * len(outputs)


@operator(name="split_v2", outputs=lambda attributes: _part_names(attributes["indices_or_sections"]))
def split_v2(
    data: np.ndarray, *, indices_or_sections: int | tuple[int, ...], axis: int = 0, squeeze_axis: bool = False
) -> Any:
    """Return an array cut at given positions, or into parts of equal length, along an axis.

    Parameters
    ----------
    data : NDArray
    indices_or_sections : int or tuple of int
        How many parts, or where each part but the first begins.
    axis : int
    squeeze_axis : bool
        Whether to remove the axis, if all parts have length 1.

    Returns
    -------
    tuple of NDArray
        One NDArray if there is one part.

    Raises
    ------
    ShapeError
        If the axis cannot be divided, or removed, or does not exist.

    Examples
    --------
    >>> from minpy import nd
    >>> [part.asnumpy().tolist() for part in nd.split_v2(nd.array([1, 2, 3, 4]), (1, 2))]
    [[1.0], [2.0], [3.0, 4.0]]
    """
    axis = one_axis("split_v2", axis, data.ndim)
    length = data.shape[axis]
    if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or length % indices_or_sections):
        raise ShapeError(
            f"split_v2: axis {axis} of data {data.shape} has length {length}, which cannot be cut into "
            f"{indices_or_sections} equal parts."
        )
    parts = tuple(np.ascontiguousarray(part) for part in np.split(data, indices_or_sections, axis))
    if squeeze_axis:
        if any(part.shape[axis] != 1 for part in parts):
            raise ShapeError(
                f"split_v2: squeeze_axis=True needs parts of length 1, along axis {axis} of data {data.shape}."
            )
        parts = tuple(part.squeeze(axis) for part in parts)
    return parts[0] if len(parts) == 1 else parts


@split_v2.def_grad()
def _split_v2_gradient(ans: Any, data: Any, *, axis: int, squeeze_axis: bool) -> Any:
    if type(ans) is not tuple:
        return lambda g: np.reshape(g, np.shape(data))
    axis %= np.ndim(data)
    return lambda g: np.stack(g, axis) if squeeze_axis else np.concatenate(g, axis)


def _part_names(indices_or_sections: Any) -> Sequence[str]:
    count = indices_or_sections if isinstance(indices_or_sections, int) else len(indices_or_sections) + 1
    return ("output",) if count == 1 else numbered(count)


@split_v2.def_infer_shape
def split_v2_shapes(inputs: Any, outputs: Any, *, indices_or_sections: Any, axis: int, squeeze_axis: bool) -> Any:
    """Infer the shapes of `split_v2`, and of its kin."""
    if isinstance(indices_or_sections, int):
        return _split_shapes(inputs, outputs, num_outputs=indices_or_sections, axis=axis, squeeze_axis=squeeze_axis)
    [data] = inputs
    if data is None:
        return inputs, outputs
    axis = one_axis("split_v2", axis, len(data))
    total = data[axis]
    if total == UNKNOWN:  # long enough, one may expect: MXNet refuses positions beyond the end
        ends = list(indices_or_sections)
    else:  # as NumPy cuts: positions beyond the end are the end
        ends = [range(total)[:end].stop for end in indices_or_sections]
    pairs = zip([0, *ends], ends, strict=False)
    lengths = [UNKNOWN if min(start, end) < 0 else max(end - start, 0) for start, end in pairs]
    lengths.append(UNKNOWN if total == UNKNOWN else total - (ends[-1] if ends else 0))
    if squeeze_axis and set(lengths) - {1, UNKNOWN}:
        raise ShapeError(f"squeeze_axis=True needs parts of length 1, along axis {axis} of data {data}.")
    return inputs, [replace_length(data, axis, *([] if squeeze_axis else [length])) for length in lengths]


# -- NumPy's functions, which take a list ------------------------------------------------------------------------------


@operator(name="_numpy_concatenate", public=False)
def numpy_concatenate(*arrays: Any, axis: int | None = 0) -> Any:
    """Return `numpy.concatenate` of the arrays."""
    return np.concatenate(arrays, axis=axis)


def _numpy_concatenate_gradient(ans: Any, *arrays: Any, axis: int | None) -> Any:
    if axis is not None:
        return _concat_gradient(ans, *arrays, dim=axis)
    ends = np.cumsum([0] + [np.size(array) for array in arrays])
    shapes = [np.shape(array) for array in arrays]
    return lambda g: tuple(
        np.reshape(g[start:stop], shape) for start, stop, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
    )


numpy_concatenate.def_multiple_grad(_numpy_concatenate_gradient)


@operator(name="_numpy_stack", public=False)
def numpy_stack(*arrays: Any, axis: int = 0) -> Any:
    """Return `numpy.stack` of the arrays."""
    return np.stack(arrays, axis=axis)


def _numpy_stack_gradient(ans: Any, *arrays: Any, axis: int) -> Any:
    return _stack_gradient(ans, *arrays, axis=axis)


numpy_stack.def_multiple_grad(_numpy_stack_gradient)


def _concatenate(arrays: Any, axis: int | None = 0) -> Any:
    return numpy_concatenate(*arrays, axis=axis)


def _stack(arrays: Any, axis: int = 0) -> Any:
    return numpy_stack(*arrays, axis=axis)


FUNCTIONS[np.concatenate] = _concatenate
FUNCTIONS[np.stack] = _stack

# Their rules read no values of the data, only its shape.
for _operator in (split, split_v2):
    _operator.keep_shape_only(0)
