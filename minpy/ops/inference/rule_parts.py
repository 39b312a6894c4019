"""What the families' rules of inference are made of: lengths that may not be known, and rules that several share.

A rule is `rule(inputs, outputs, **attributes)`; see `minpy.core.base_operator.BaseOperator`. Rules that only go forward
are written as functions of the inputs' shapes, and made rules by `forwards`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from minpy.core.base_operator import DTypes, Shapes
from minpy.core.dispatch import run_keeping_dtype
from minpy.core.errors import ShapeError
from minpy.ops.axes import one_axis
from minpy.ops.inference.partial_shapes import UNKNOWN, PartialShape, as_dtype, merge_shapes, same_dtype, same_shape

__all__ = [
    "booleans_give",
    "by_default",
    "computed",
    "derived",
    "dtype_attribute",
    "dtype_of",
    "forwards",
    "joined",
    "known_ndim",
    "like_data",
    "merge_lengths",
    "numbered",
    "product",
    "promoted",
    "replace_length",
    "solved",
    "vectors_along",
    "with_axes",
    "with_followers",
    "without_axis",
]

# -- lengths and shapes ------------------------------------------------------------------------------------------------


def derived(function: Callable[..., int], *lengths: int) -> int:
    """Return `function(*lengths)`, which is not known if one of the lengths is not.

    Examples
    --------
    >>> derived(lambda n: 2 * n, 3), derived(lambda n: 2 * n, UNKNOWN)
    (6, -1)
    """
    return UNKNOWN if UNKNOWN in lengths else function(*lengths)


def known_ndim(*shapes: Any) -> int | None:
    """Return the number of axes of the first shape of which it is known."""
    return next((len(shape) for shape in shapes if shape is not None), None)


def joined(lengths: Iterable[int]) -> str:
    """Return lengths as pictures show them: `3x3`, with ? for what is not known."""
    return "x".join("?" if length == UNKNOWN else str(length) for length in lengths)


def product(lengths: Iterable[int]) -> int:
    """Return the product of lengths.

    Examples
    --------
    >>> product((2, 3)), product((2, UNKNOWN)), product((0, UNKNOWN))
    (6, -1, 0)
    """
    lengths = tuple(lengths)
    return 0 if 0 in lengths else derived(lambda *numbers: math.prod(numbers), *lengths)


def merge_lengths(*lengths: int) -> int:
    """Return what several statements about one length say together.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    stated = set(lengths) - {UNKNOWN}
    if len(stated) > 1:
        raise ShapeError(f"lengths that must be equal are {' and '.join(map(str, sorted(stated)))}.")
    return stated.pop() if stated else UNKNOWN


def with_axes(shape: PartialShape, count: int) -> tuple[int, ...]:
    """Return a shape of which the number of axes is known now.

    Raises
    ------
    ShapeError
        If it has another one.
    """
    return merge_shapes(shape, (UNKNOWN,) * count) or ()


def without_axis(shape: PartialShape, axis: int) -> PartialShape:
    """Return a shape less one axis, counted from the left."""
    return None if shape is None else shape[:axis] + shape[axis + 1 :]


def replace_length(shape: tuple[int, ...], axis: int, *lengths: int) -> tuple[int, ...]:
    """Return a shape with other lengths in the place of one axis, counted from the left."""
    return (*shape[:axis], *lengths, *shape[axis + 1 :])


def solved(shape: PartialShape, size: int) -> PartialShape:
    """Return a shape with its only unknown length, if it has one, computed from the number of elements.

    Examples
    --------
    >>> solved((2, UNKNOWN), 6), solved((UNKNOWN, UNKNOWN), 6)
    ((2, 3), (-1, -1))
    """
    if shape is None or size == UNKNOWN or shape.count(UNKNOWN) != 1:
        return shape
    divisor = math.prod(length for length in shape if length != UNKNOWN)
    if not divisor or size % divisor:
        return shape
    return tuple(size // divisor if length == UNKNOWN else length for length in shape)


def by_default(shape: PartialShape, default: PartialShape) -> PartialShape:
    """Return what is known of a shape, completed from a default where that fits."""
    try:
        return merge_shapes(shape, default)
    except ShapeError:
        return shape


# -- shapes ------------------------------------------------------------------------------------------------------------


def forwards(function: Callable[..., Any]) -> Callable[..., tuple[Shapes, Shapes]]:
    """Return the rule that outputs have the shapes which `function(*input_shapes, **attributes)` returns.

    It is called once the number of axes of every input is known, and returns one shape, or a list with one an output.
    """

    @functools.wraps(function)
    def rule(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
        if any(shape is None for shape in inputs):
            return inputs, outputs
        result = function(*inputs, **attributes)
        return inputs, result if isinstance(result, list) else [result] * len(outputs)

    return rule


def like_data(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    """Infer shapes where all outputs have that of the first input; nothing is said about the others."""
    data, outputs = same_shape(inputs[:1], outputs)
    return [*data, *inputs[1:]], outputs


def vectors_along(name: str, axis: int, inputs: Shapes, output: PartialShape) -> Shapes:
    """Return the shapes of inputs of which the first is like the output, and the others are vectors along an axis."""
    data = merge_shapes(inputs[0], output)
    vector = merge_shapes((UNKNOWN,), *inputs[1:])
    if data is not None:
        axis = one_axis(name, axis, len(data))
        vector = merge_shapes(vector, data[axis : axis + 1])
        data = replace_length(data, axis, *(vector or ()))
    return [data, *[vector] * (len(inputs) - 1)]


# -- dtypes ------------------------------------------------------------------------------------------------------------


def dtype_of(*positions: int) -> Callable[..., tuple[DTypes, DTypes]]:
    """Return the rule that the outputs have the dtype of the inputs at these positions; others (indices) are free."""

    def rule(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        shared, outputs = same_dtype([inputs[position] for position in positions], outputs)
        by_position = dict(zip(positions, shared, strict=True))
        return [by_position.get(position, dtype) for position, dtype in enumerate(inputs)], outputs

    return rule


def with_followers(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
    """Infer dtypes where outputs have that of the first input, and other inputs too, unless they have one (labels)."""
    [data], outputs = same_dtype(inputs[:1], outputs)
    return [data, *(data if dtype is None else dtype for dtype in inputs[1:])], outputs


def dtype_attribute(default: Any = None, name: str = "dtype") -> Callable[..., tuple[DTypes, DTypes]]:
    """Return the rule that outputs have the dtype which an attribute says, or `default`; if None, the first input's."""
    like_first = dtype_of(0)

    def rule(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        value = attributes.get(name, default)
        if value is None or value == "None":
            return like_first(inputs, outputs)
        return inputs, [as_dtype(value)] * len(outputs)

    return rule


def promoted(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
    """Infer dtypes where all are equal; or, if those of the inputs are known to differ, as NumPy promotes them."""
    dtypes = [dtype for dtype in inputs if dtype is not None]
    if dtypes and len(dtypes) == len(inputs):
        return inputs, [np.result_type(*dtypes)] * len(outputs)
    return same_dtype(inputs, outputs)


def booleans_give(dtype: Any) -> Callable[..., tuple[DTypes, DTypes]]:
    """Return the rule that outputs have the dtype of the only input, or the given one for booleans."""

    def rule(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        if inputs[0] is not None and inputs[0].kind == "b":
            return inputs, [np.dtype(dtype)] * len(outputs)
        return same_dtype(inputs, outputs)

    return rule


def computed(operator: Any) -> Callable[..., tuple[DTypes, DTypes]]:
    """Return the rule of an operator that keeps dtypes: as promoted; for booleans the operator is run."""

    def rule(inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        if all(dtype is not None and dtype.kind == "b" for dtype in inputs):
            return inputs, [_of_booleans(operator, len(inputs))] * len(outputs)
        return promoted(inputs, outputs)

    return rule


@functools.lru_cache(None)
def _of_booleans(operator: Any, count: int) -> np.dtype:
    with np.errstate(all="ignore"):
        dtype: np.dtype = run_keeping_dtype(operator, [np.ones(1, np.bool_)] * count, {}).dtype
    return dtype


# -- names -------------------------------------------------------------------------------------------------------------


def numbered(count: int) -> Sequence[str]:
    """Return the names of so many outputs.

    Examples
    --------
    >>> numbered(2)
    ['output0', 'output1']
    """
    return [f"output{index}" for index in range(count)]
