"""Products of arrays along some of their axes: `matmul`, `dot`, `tensordot`, `einsum` and others like them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.backends.native.language import Array, constant
from minpy.backends.native.translating.lowerings.lowering_tables import lowers
from minpy.backends.native.translating.lowerings.ufuncs import apply
from minpy.backends.native.translating.promotion import common_dtype
from minpy.backends.native.translating.results import NotLowered
from minpy.backends.native.translating.step_builder import Emitter

__all__ = ["contract", "matmul"]

# More products of whole numbers than this are not written as loops.
_MAX_INTEGER_PRODUCTS = 1 << 22


def contract(
    emitter: Emitter, first: Array, second: Array, a: Sequence[Any], b: Sequence[Any], to: Sequence[Any]
) -> Array:
    """Return the sum of products of two arrays of one dtype, with the axes named.

    `emitter`: writes the steps. `a`, `b`: the names of their axes, each once in an array; a length of 1 broadcasts
    against another. `to`: the names of the result's axes; all others are summed over.
    """
    lengths: dict[Any, int] = {}
    for array, names in ((first, a), (second, b)):
        for name, length in zip(names, array.shape, strict=True):
            if lengths.setdefault(name, length) == 1:
                lengths[name] = length
            elif length not in (1, lengths[name]):
                raise NotLowered(f"a product of {first.shape} and {second.shape}")
    first, a = _summed(emitter, first, a, {*b, *to}, lengths)
    second, b = _summed(emitter, second, b, {*a, *to}, lengths)
    contracted = [name for name in a if name in b and name not in to]
    stacked = [name for name in to if name in a and name in b]
    rows = [name for name in a if name not in b]
    columns = [name for name in b if name not in a]
    is_plain = first.dtype.char in "fd" and contracted and (rows or columns)
    if not is_plain or (stacked and not (rows and columns)):
        return _elementwise_product(emitter, first, second, a, b, [*to, *contracted], lengths, len(to))
    if rows and columns and next(name for name in to if name not in stacked) in columns:
        first, second, a, b, rows, columns = second, first, b, a, columns, rows  # so that less has to be turned
    left = _matrices(emitter, first, a, stacked, rows, contracted, lengths)
    right = _matrices(emitter, second, b, stacked, contracted, columns, lengths)
    stack = [lengths[name] for name in stacked]
    if 0 in (math.prod(lengths[name] for name in contracted), math.prod(lengths[name] for name in to)):
        result = constant(numpy.zeros([lengths[name] for name in (*stacked, *rows, *columns)], first.dtype))
    else:
        result = emitter.product(left, right)
        result = emitter.reshape(result, [*stack, *(lengths[name] for name in (*rows, *columns))])
    names = [*stacked, *rows, *columns]
    return emitter.transpose(result, [names.index(name) for name in to])


def _summed(
    emitter: Emitter, array: Array, names: Sequence[Any], needed_names: set[Any], lengths: dict[Any, int]
) -> tuple[Array, list[Any]]:
    """Return an array summed over the axes that are not needed, and the names of the others."""
    axes = tuple(axis for axis, name in enumerate(names) if name not in needed_names)
    if not axes:
        return array, list(names)
    result = _sum(emitter, array, axes)
    shape = [length for axis, length in enumerate(array.shape) if axis not in axes]
    return emitter.reshape(result, shape), [name for name in names if name in needed_names]


def _sum(emitter: Emitter, array: Array, axes: Sequence[int]) -> Array:
    return emitter.reduce("any" if array.dtype == bool else "sum", array, axes)


def _aligned(emitter: Emitter, array: Array, names: Sequence[Any], to: Sequence[Any]) -> Array:
    """Return a view with the axes `to`, those that it does not have of length 1."""
    order = [names.index(name) for name in to if name in names]
    turned = emitter.transpose(array, order)
    result = iter(turned.shape)
    return emitter.reshape(turned, [next(result) if name in names else 1 for name in to])


def _elementwise_product(
    emitter: Emitter,
    first: Array,
    second: Array,
    a: Sequence[Any],
    b: Sequence[Any],
    names: Sequence[Any],
    lengths: dict[Any, int],
    result_ndim: int,
) -> Array:
    """Return the sum of products as elementwise products, summed over all axes but the first `result_ndim`."""
    if first.dtype.kind not in "f" and math.prod(lengths.values()) > _MAX_INTEGER_PRODUCTS:
        raise NotLowered(f"a large product of {first.dtype.name}")
    product = emitter.elementwise("multiply", _aligned(emitter, first, a, names), _aligned(emitter, second, b, names))
    product = emitter.broadcast(product, [lengths[name] for name in names])
    if result_ndim == len(names):
        return product
    return emitter.reshape(_sum(emitter, product, range(result_ndim, len(names))), product.shape[:result_ndim])


def _matrices(
    emitter: Emitter,
    array: Array,
    names: Sequence[Any],
    stacked: Sequence[Any],
    rows: Sequence[Any],
    columns: Sequence[Any],
    lengths: dict[Any, int],
) -> Array:
    """Return an array as a stack of matrices: one axis for all rows, one for all columns."""
    order = [*stacked, *rows, *columns]
    turned = emitter.transpose(array, [names.index(name) for name in order])
    turned = emitter.broadcast(turned, [lengths[name] for name in order])
    shape = [lengths[name] for name in stacked]
    return emitter.reshape(turned, [*shape, *(math.prod(lengths[item] for item in part) for part in (rows, columns))])


def _both(emitter: Emitter, first: Any, second: Any) -> tuple[Array, Array]:
    dtype = common_dtype(first, second)
    return emitter.cast(first, dtype), emitter.cast(second, dtype)


@lowers("matmul")
def matmul(emitter: Emitter, x1: Array, x2: Array) -> Array:
    """Return `numpy.matmul`."""
    first, second = _both(emitter, x1, x2)
    if not first.shape or not second.shape:
        raise NotLowered("a product of matrices with a number")
    stack = max(len(first.shape), len(second.shape)) - 2
    a = [*range(stack - max(len(first.shape) - 2, 0), stack), *(["m"] if len(first.shape) > 1 else []), "k"]
    b = [*range(stack - max(len(second.shape) - 2, 0), stack), "k", *(["n"] if len(second.shape) > 1 else [])]
    _require_equal(first.shape[-1], second.shape[-2 if len(second.shape) > 1 else -1])
    to = [*range(max(stack, 0)), *(name for name in a if name == "m"), *(name for name in b if name == "n")]
    return contract(emitter, first, second, a, b, to)


def _require_equal(first: int, second: int) -> None:
    if first != second:
        raise NotLowered(f"a product along axes of lengths {first} and {second}")


@lowers("vecdot")
def _vecdot(emitter: Emitter, x1: Array, x2: Array, axis: int = -1) -> Array:
    first, second = _both(emitter, x1, x2)
    _require_equal(first.shape[-1], second.shape[-1])
    if axis != -1:
        raise NotLowered("products of vectors along another axis")
    count = max(len(first.shape), len(second.shape))
    a, b = ([*range(count - len(item.shape), count - 1), "k"] for item in (first, second))
    return contract(emitter, first, second, a, b, range(count - 1))


@lowers("matvec")
def _matvec(emitter: Emitter, x1: Array, x2: Array) -> Array:
    result = matmul(emitter, x1, emitter.reshape(x2, (*x2.shape, 1)))
    return emitter.reshape(result, result.shape[:-1])


@lowers("vecmat")
def _vecmat(emitter: Emitter, x1: Array, x2: Array) -> Array:
    result = matmul(emitter, emitter.reshape(x1, (*x1.shape[:-1], 1, x1.shape[-1])), x2)
    return emitter.reshape(result, (*result.shape[:-2], result.shape[-1]))


def _along_last(emitter: Emitter, a: Any, b: Any, axis: int) -> Array:
    """Return the sum of products along the last axis of one array and another axis of the other, if it has several."""
    first, second = _both(emitter, a, b)
    if not first.shape or not second.shape:
        return emitter.elementwise("multiply", first, second)
    return _tensordot(emitter, first, second, (-1, axis if len(second.shape) > 1 else -1))


@lowers("dot")
def _dot(emitter: Emitter, a: Any, b: Any) -> Array:
    return _along_last(emitter, a, b, -2)


@lowers("inner")
def _inner(emitter: Emitter, a: Any, b: Any) -> Array:
    return _along_last(emitter, a, b, -1)


@lowers("vdot")
def _vdot(emitter: Emitter, a: Array, b: Array) -> Array:
    return _dot(emitter, emitter.reshape(a, (-1,)), emitter.reshape(b, (-1,)))


@lowers("tensordot")
def _tensordot(emitter: Emitter, a: Array, b: Array, axes: Any = 2) -> Array:
    first, second = _both(emitter, a, b)
    if isinstance(axes, int):
        first_axes: Any = range(len(first.shape) - axes, len(first.shape))
        second_axes: Any = range(axes)
    else:
        first_axes, second_axes = ((item,) if isinstance(item, int) else tuple(item) for item in axes)
    first_axes = [item % len(first.shape) for item in first_axes]
    second_axes = [item % len(second.shape) for item in second_axes]
    first_names: list[Any] = [f"a{axis}" for axis in range(len(first.shape))]
    second_names: list[Any] = [f"b{axis}" for axis in range(len(second.shape))]
    for axis, second_axis in zip(first_axes, second_axes, strict=True):
        _require_equal(first.shape[axis], second.shape[second_axis])
        second_names[second_axis] = first_names[axis]
    shared = {first_names[axis] for axis in first_axes}
    to = [name for name in (*first_names, *second_names) if name not in shared]
    return contract(emitter, first, second, first_names, second_names, to)


@lowers("outer", numpy.multiply.outer)
def _outer(emitter: Emitter, a: Array, b: Array) -> Array:
    first = emitter.reshape(a, (math.prod(a.shape), 1))
    return apply(emitter, numpy.multiply, first, emitter.reshape(b, (1, math.prod(b.shape))))


@lowers("kron")
def _kron(emitter: Emitter, a: Array, b: Array) -> Array:
    ndim = max(len(a.shape), len(b.shape))
    a_shape, b_shape = ((1,) * (ndim - len(array.shape)) + array.shape for array in (a, b))
    first = emitter.reshape(a, [part for length in a_shape for part in (length, 1)])
    second = emitter.reshape(b, [part for length in b_shape for part in (1, length)])
    product = apply(emitter, numpy.multiply, first, second)
    return emitter.reshape(product, list(map(operator.mul, a_shape, b_shape)))


@lowers("einsum")
def _einsum(emitter: Emitter, subscripts: str, *operands: Array, dtype: Any = None, **options: Any) -> Array:
    if options.keys() - {"optimize", "casting"}:
        raise NotLowered(f"einsum with {', '.join(options)}= is not compiled")
    wide = common_dtype(*operands) if dtype is None else numpy.dtype(dtype)
    input_names, to = _subscripts(subscripts, [len(operand.shape) for operand in operands])
    arrays: list[tuple[Array, list[Any]]] = []
    for array, names in zip(operands, input_names, strict=True):
        arrays.append(_diagonals(emitter, emitter.cast(array, wide), names))
    result, names = arrays[0]
    for position, (operand, operand_names) in enumerate(arrays[1:], 1):
        later = {name for _, names_of in arrays[position + 1 :] for name in names_of} | set(to)
        result_names = [name for name in dict.fromkeys([*names, *operand_names]) if name in later]
        if position == len(arrays) - 1:
            result_names = list(to)
        result, names = contract(emitter, result, operand, names, operand_names, result_names), result_names
    lengths = dict(zip(names, result.shape, strict=True))
    result, names = _summed(emitter, result, names, set(to), lengths)
    return emitter.transpose(result, [names.index(name) for name in to])


def _subscripts(text: str, ndims: Sequence[int]) -> tuple[list[list[Any]], list[Any]]:
    """Return (the names of each operand's axes, those of the result's); those of an ellipsis are numbers from -1 down.

    >>> _subscripts("...ij,jk->...ik", [3, 2])
    ([[-1, 'i', 'j'], ['j', 'k']], [-1, 'i', 'k'])
    >>> _subscripts("ij,ki", [2, 2])[1]
    ['j', 'k']
    """
    inputs, arrow, output = text.replace(" ", "").partition("->")
    parts = inputs.split(",")
    hidden = 0
    for part, ndim in zip(parts, ndims, strict=True):
        if "..." in part:
            hidden = max(hidden, ndim - len(part.replace("...", "")))
    result = []
    for part, ndim in zip(parts, ndims, strict=True):
        before, dots, after = part.partition("...")
        middle = range(-(ndim - len(before) - len(after)), 0) if dots else ()
        result.append([*before, *middle, *after])
    if not arrow:
        letters = "".join(parts).replace(".", "")
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        return result, [*range(-hidden, 0), *once]
    before, dots, after = output.partition("...")
    return result, [*before, *(range(-hidden, 0) if dots else ()), *after]


def _diagonals(emitter: Emitter, array: Array, names: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Return the view of an array in which each name is that of one axis."""
    unique = list(dict.fromkeys(names))
    if len(unique) == len(names):
        return array, unique
    letters = {name: chr(ord("a") + position) for position, name in enumerate(unique)}
    text = "".join(letters[name] for name in names) + "->" + "".join(letters[name] for name in unique)
    return emitter.view(array, lambda values: numpy.einsum(text, values)), unique
