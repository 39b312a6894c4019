"""Operators that cut an array into parts along an axis: `split`, `split_v2`, and as files write it, `_split_v2`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.axes import one_axis
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import derived, known_ndim, merge_lengths, numbered, replace_length
from minpy.ops.registry import operator

__all__ = ["split", "split_at", "split_v2"]


def _unchanged(part: Any) -> Any:
    """Return a part of an array as it is: only kernels make parts contiguous."""
    return part


@operator(
    name="SliceChannel",
    aliases=("split",),
    outputs=lambda attributes: numbered(int(attributes["num_outputs"])),
    kernel={"_dense": np.ascontiguousarray},
)
def split(
    data: np.ndarray,
    *,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    _dense: Callable[[Any], Any] = _unchanged,
) -> Any:
    """Return an array cut into parts of equal length along an axis.

    {data_parameter}
    num_outputs : int
        How many parts.
    axis : int
    squeeze_axis : bool
        Whether to remove the axis, if the parts have length 1.

    Returns
    -------
    tuple of NDArray
        One NDArray if `num_outputs` is 1.

    {raises_shape_error}
        If the axis cannot be divided, or removed, or does not exist.

    {examples}
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
    pieces = tuple(map(_dense, np.split(data, num_outputs, axis)))
    if squeeze_axis:
        pieces = tuple(part.squeeze(axis) for part in pieces)
    return pieces[0] if num_outputs == 1 else pieces


@split.def_grad()
def _split_gradient(ans: Any, data: Any, *, num_outputs: int, axis: int, squeeze_axis: bool) -> Any:
    if num_outputs == 1:
        return lambda g: np.reshape(g, np.shape(data))
    axis %= np.ndim(data)
    return lambda g: np.stack(g, axis) if squeeze_axis else np.concatenate(g, axis)


@split.def_infer_shape
def _split_shapes(inputs: Any, outputs: Any, *, num_outputs: int, axis: int, squeeze_axis: bool, **_: Any) -> Any:
    [data], ndim = inputs, known_ndim(*outputs)
    if data is None and ndim is None:
        return inputs, outputs
    axis = one_axis("split", axis, len(data) if data is not None else int(ndim or 0) + squeeze_axis)
    part = merge_shapes(*outputs)
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


@operator(
    name="split_v2",
    outputs=lambda attributes: _part_names(attributes["indices_or_sections"]),
    synonyms={"ary": "data"},
    kernel={"_dense": np.ascontiguousarray},
)
def split_v2(
    data: np.ndarray,
    *,
    indices_or_sections: int | tuple[int, ...],
    axis: int = 0,
    squeeze_axis: bool = False,
    _dense: Callable[[Any], Any] = _unchanged,
) -> Any:
    """Return an array cut at given positions, or into parts of equal length, along an axis.

    {data_parameter}
    indices_or_sections : int or tuple of int
        How many parts, or where each part but the first begins.
    axis : int
    squeeze_axis : bool
        Whether to remove the axis, if all parts have length 1.

    Returns
    -------
    tuple of NDArray
        One NDArray if there is one part.

    {raises_shape_error}
        If the axis cannot be divided, or removed, or does not exist.

    {examples}
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
    pieces = tuple(map(_dense, np.split(data, indices_or_sections, axis)))
    if squeeze_axis:
        if any(part.shape[axis] != 1 for part in pieces):
            raise ShapeError(
                f"split_v2: squeeze_axis=True needs parts of length 1, along axis {axis} of data {data.shape}."
            )
        pieces = tuple(part.squeeze(axis) for part in pieces)
    return pieces[0] if len(pieces) == 1 else pieces


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
    if total == UNKNOWN:  # assumed long enough: MXNet refuses positions beyond the end
        ends = list(indices_or_sections)
    else:  # as NumPy cuts: positions beyond the end are the end
        ends = [range(total)[:end].stop for end in indices_or_sections]
    pairs = zip([0, *ends], ends, strict=False)
    lengths = [UNKNOWN if min(start, end) < 0 else max(end - start, 0) for start, end in pairs]
    lengths.append(UNKNOWN if total == UNKNOWN else total - (ends[-1] if ends else 0))
    if squeeze_axis and set(lengths) - {1, UNKNOWN}:
        raise ShapeError(f"squeeze_axis=True needs parts of length 1, along axis {axis} of data {data}.")
    return inputs, [replace_length(data, axis, *([] if squeeze_axis else [length])) for length in lengths]


# -- as symbol files write it, with positions and a number of parts as separate attributes ---


def _cut_positions(indices: Any, sections: int) -> int | tuple[int, ...]:
    """Return the argument of `split_v2`: the positions in files begin with the first part's, 0."""
    if sections:
        return sections
    indices = (indices,) if isinstance(indices, int) else tuple(indices)
    if not indices:
        raise ArgumentError("_split_v2: indices is empty, and sections is 0; give one of them.")
    return indices[1:]


@operator(
    name="_split_v2",
    outputs=lambda attributes: _part_names(
        _cut_positions(attributes.get("indices", ()), attributes.get("sections", 0))
    ),
    grad=_split_v2_gradient,
)
def split_at(
    data: np.ndarray, *, indices: tuple[int, ...] = (), axis: int = 1, squeeze_axis: bool = False, sections: int = 0
) -> Any:
    """Return an array cut at given positions, or into parts of equal length, along an axis.

    {data_parameter}
    indices : tuple of int
        Where the parts begin: a first 0, and the position of each part but the first.
    axis : int
    squeeze_axis : bool
        Whether to remove the axis, if all parts have length 1.
    sections : int
        How many parts of equal length; 0 to cut at `indices`.

    Returns
    -------
    tuple of NDArray
        One NDArray if there is one part.

    {raises_shape_error}
        If the axis cannot be divided, or removed, or does not exist.
    ArgumentError
        If neither `indices` nor `sections` is given.

    {examples}
    >>> [part.asnumpy().tolist() for part in nd._split_v2(nd.array([1, 2, 3, 4]), indices=(0, 1, 2), axis=0)]
    [[1.0], [2.0], [3.0, 4.0]]
    """
    cuts = _cut_positions(indices, sections)
    return split_v2.definition(data, indices_or_sections=cuts, axis=axis, squeeze_axis=squeeze_axis)


@split_at.def_kernel
def _split_at_kernel(data: Any, *, indices: Any, axis: int, squeeze_axis: bool, sections: int) -> Any:
    return split_v2.forward(
        data, indices_or_sections=_cut_positions(indices, sections), axis=axis, squeeze_axis=squeeze_axis
    )


@split_at.def_infer_shape
def _split_at_shapes(
    inputs: Shapes, outputs: Shapes, *, indices: Any, axis: int, squeeze_axis: bool, sections: int
) -> tuple[Shapes, Shapes]:
    cuts = _cut_positions(indices, sections)
    return split_v2_shapes(inputs, outputs, indices_or_sections=cuts, axis=axis, squeeze_axis=squeeze_axis)


# Their rules read no values of the data, only its shape.
for _operator in (split, split_v2, split_at):
    _operator.keep_shape_only(0)


def _as_saved(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of `split_v2` as those of MXNet's `_split_v2`."""
    attributes = dict(attributes)
    sections = attributes.pop("indices_or_sections", 1)
    if isinstance(sections, int):
        return {"indices": (), "sections": sections, **attributes}
    return {"indices": (0, *sections), "sections": 0, **attributes}


split_v2.saved_name, split_v2.saved_attributes = "_split_v2", _as_saved
for _operator in (split, split_v2, split_at):
    _operator.category = "shape"
