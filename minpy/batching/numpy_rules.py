"""How functions of NumPy's are computed for many examples at once: by name, a rule for each that has one.

`rule(level, function, arguments, keywords)` returns what the function gives for all examples, with these along the
first axis; `Same(value)` for what is the same for all; or `NO_RULE` where this call is to be made for each example.
Calls for examples give NumPy's own errors, so no rule has any.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy

from minpy.batching.levels import BATCHED, Level
from minpy.batching.operator_calls import align, casts_by_value
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.table import function_named, row_of

__all__ = ["NO_RULE", "RULES", "Same", "elementwise", "getitem", "is_of", "rule_of"]

Rule = Callable[[Level, Any, Any, Any], Any]
NO_RULE = object()
RULES: dict[Any, Rule] = {}


class Same(NamedTuple):
    """A result that is the same for all examples."""

    value: Any


def is_of(value: Any, level: Level) -> bool:
    """Tell whether a value has an axis for the examples of a level."""
    return type(value) in BATCHED and value.level is level


def rule_of(function: Any) -> Rule | None:
    """Return the rule of a function of NumPy's; None if it is called for each example.

    >>> rule_of(numpy.exp) is elementwise, rule_of(numpy.unique)
    (True, None)
    """
    rule = RULES.get(function)
    if rule is not None:
        return rule
    row = row_of(function)
    if row is None:
        return None
    return {"elementwise": elementwise, "ufunc": elementwise, "reduce": _reduction, "fact": _same, "like": _same}.get(
        row.kind
    )


def _for(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that makes a rule that of NumPy's functions with some names, as far as this NumPy has them."""

    def decorate(rule: Rule) -> Rule:
        for name in names:
            function = function_named(name)
            if function is not None:
                RULES[function] = rule
        return rule

    return decorate


@cache
def _signature(function: Any) -> Any:
    return inspect.signature(function)


def _bound(function: Any, arguments: Any, keywords: Any) -> dict[str, Any] | None:
    """Return the arguments of a call by their names, defaults included; None if it is no call of the function."""
    try:
        bound = _signature(function).bind(*arguments, **keywords)
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    return bound.arguments


def _only_first(level: Level, arguments: Any, keywords: Any) -> bool:
    """Tell whether the first argument has the examples, and no other."""
    rest = leaves_of((tuple(arguments[1:]), keywords))
    return bool(arguments) and is_of(arguments[0], level) and not any(is_of(leaf, level) for leaf in rest)


def _axis(axis: Any, ndim: int) -> Any:
    """Return an axis of an example, or several, as axes of the array of all examples; None if there are not these."""
    if isinstance(axis, (tuple, list)):
        axes = tuple(_axis(each, ndim) for each in axis)
        return None if None in axes else axes
    try:
        position = axis.__index__()
    except AttributeError:
        return None
    return position % ndim + 1 if -ndim <= position < ndim else None


# -- elementwise -------------------------------------------------------------------------------------------------------


def elementwise(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    """Answer for functions whose positional arguments are broadcast."""
    if any(is_of(leaf, level) for leaf in leaves_of(keywords)) or "where" in keywords:
        return NO_RULE
    if any(isinstance(value, (tuple, list, dict)) for value in arguments):
        return NO_RULE
    axes = [0 if is_of(value, level) else None for value in arguments]
    values = [value.data if axis == 0 else value for value, axis in zip(arguments, axes, strict=True)]
    if any(value is None for value in values) or casts_by_value(axes, values):
        return NO_RULE
    return function(*align(axes, values), **keywords)


@_for("where")
def _where(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    return elementwise(level, function, arguments, keywords) if len(arguments) == 3 else NO_RULE


def _same(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    """Answer for functions that look at shapes and dtypes: an example made of zeros has these."""
    if not _only_first(level, arguments, keywords) or keywords.get("subok") is False:
        return NO_RULE
    data = arguments[0].data
    if type(data) in BATCHED:
        return NO_RULE
    return Same(function(numpy.zeros(data.shape[1:], data.dtype), *arguments[1:], **keywords))


# -- along axes --------------------------------------------------------------------------------------------------------


def _reduction(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or "axis" not in bound or not _only_first(level, arguments, keywords):
        return NO_RULE
    if {"where", "q", "weights", "mean", "correction"} & keywords.keys():
        return NO_RULE
    (first, _), *_ = bound.items()
    data, axis = arguments[0].data, bound["axis"]
    ndim = data.ndim - 1
    options = {name: value for name, value in keywords.items() if name != "axis"}
    rest = _positional_options(function, arguments, first)
    if rest is None:
        return NO_RULE
    options.update(rest)
    if axis is not None:
        moved = _axis(axis, ndim)
        return NO_RULE if moved is None else function(data, axis=moved, **options)
    if options.get("keepdims") not in (None, False, vars(numpy)["_NoValue"]):
        return NO_RULE
    options.pop("keepdims", None)
    return function(numpy.reshape(data, (data.shape[0], _size(data))), axis=1, **options)


def _positional_options(function: Any, arguments: Any, first: str) -> dict[str, Any] | None:
    """Return the positional arguments of a call behind the array, but for the axis, by their names."""
    names = list(_signature(function).parameters)
    options = dict(zip(names[1:], arguments[1:], strict=False))
    options.pop("axis", None)
    return None if options.get("out") is not None else {name: value for name, value in options.items() if name != "out"}


def _size(data: Any) -> int:
    """Return the number of elements of an example."""
    return int(numpy.prod(data.shape[1:], dtype=int))


@_for("cumsum", "cumprod", "nancumsum", "nancumprod", "sort", "argsort", "flip", "roll", "repeat", "diff")
def _along(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or not _only_first(level, arguments, keywords):
        return NO_RULE
    names = list(bound)
    data, options = (
        arguments[0].data,
        {name: bound[name] for name in names[1:] if name in ("axis", "n", "shift", "repeats", "dtype")},
    )
    if len(keywords.keys() - options.keys()) or any(
        bound[name] is not _signature(function).parameters[name].default for name in names[1:] if name not in options
    ):
        return NO_RULE
    axis = options.get("axis")
    options = {name: value for name, value in options.items() if name in ("shift", "repeats") or value is not None}
    if axis is None:
        if function is numpy.flip:
            options["axis"] = tuple(range(1, data.ndim))
        elif function is numpy.roll:
            return NO_RULE
        else:
            data, options["axis"] = numpy.reshape(data, (data.shape[0], _size(data))), 1
        return function(data, **options)
    moved = _axis(axis, data.ndim - 1)
    return NO_RULE if moved is None else function(data, **{**options, "axis": moved})


# -- other shapes ------------------------------------------------------------------------------------------------------


def _lengths(shape: Any) -> tuple[int, ...] | None:
    try:
        return tuple(length.__index__() for length in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    except AttributeError:
        return None


@_for("reshape")
def _reshape(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or not _only_first(level, arguments, keywords) or keywords.keys() - {"shape", "newshape"}:
        return NO_RULE
    data, size = arguments[0].data, _size(arguments[0].data)
    wanted = next(
        (bound[name] for name in ("shape", "newshape") if bound.get(name) not in (None, vars(numpy)["_NoValue"])), None
    )
    shape = _lengths(wanted) if wanted is not None and len(arguments) + len(keywords) == 2 else None
    if shape is None or not size or shape.count(-1) > 1:
        return NO_RULE
    known = int(numpy.prod([length for length in shape if length != -1], dtype=int))
    if known <= 0 or size % known or (-1 not in shape and known != size):
        return NO_RULE
    return function(data, (data.shape[0], *(size // known if length == -1 else length for length in shape)))


@_for("ravel")
def _ravel(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 1 or keywords:
        return NO_RULE
    data = arguments[0].data
    return numpy.reshape(data, (data.shape[0], _size(data)))


@_for("transpose")
def _transpose(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or not is_of(arguments[0], level):
        return NO_RULE
    data, axes = arguments[0].data, bound["axes"]
    ndim = data.ndim - 1
    if axes is None:
        return function(data, (0, *range(ndim, 0, -1)))
    moved = _axis(tuple(axes), ndim) if isinstance(axes, (tuple, list)) else None
    return NO_RULE if moved is None or len(moved) != ndim else function(data, (0, *moved))


@_for("swapaxes", "moveaxis")
def _two_axes(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 3 or keywords or not is_of(arguments[0], level):
        return NO_RULE
    data = arguments[0].data
    moved = [_axis(axis, data.ndim - 1) for axis in arguments[1:]]
    return NO_RULE if None in moved else function(data, *moved)


@_for("expand_dims")
def _expand_dims(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or not is_of(arguments[0], level):
        return NO_RULE
    data, axis = arguments[0].data, bound["axis"]
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    moved = _axis(axis, data.ndim - 1 + count)
    return NO_RULE if moved is None else function(data, moved)


@_for("squeeze")
def _squeeze(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or not is_of(arguments[0], level):
        return NO_RULE
    data, axis = arguments[0].data, bound["axis"]
    if axis is None:
        return function(data, tuple(position for position in range(1, data.ndim) if data.shape[position] == 1))
    moved = _axis(axis, data.ndim - 1)
    return NO_RULE if moved is None else function(data, moved)


@_for("broadcast_to")
def _broadcast_to(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 2 or keywords or not is_of(arguments[0], level):
        return NO_RULE
    data, shape = arguments[0].data, _lengths(arguments[1])
    missing = -1 if shape is None else len(shape) - (data.ndim - 1)
    if shape is None or missing < 0:
        return NO_RULE
    return function(numpy.reshape(data, (data.shape[0], *(1,) * missing, *data.shape[1:])), (data.shape[0], *shape))


@_for("concatenate", "stack")
def _joined(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    axis = arguments[1] if len(arguments) == 2 else keywords.get("axis", 0)
    parts = arguments[0] if arguments else None
    if not isinstance(parts, (tuple, list)) or len(arguments) > 2 or keywords.keys() - {"axis"} or axis is None:
        return NO_RULE
    depths = {part.data.ndim - 1 if is_of(part, level) else numpy.ndim(part) for part in parts}
    ndim = depths.pop()
    moved = _axis(axis, ndim + (function is numpy.stack))
    if depths or moved is None:
        return NO_RULE
    wholes = [
        part.data if is_of(part, level) else numpy.broadcast_to(part, (level.batch_size, *numpy.shape(part)))
        for part in parts
    ]
    return function(wholes, axis=moved)


@_for("hstack", "vstack")
def _stacked(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    parts = arguments[0] if len(arguments) == 1 and not keywords else None
    if not isinstance(parts, (tuple, list)):
        return NO_RULE
    depths = {part.data.ndim - 1 if is_of(part, level) else numpy.ndim(part) for part in parts}
    if depths == {1}:
        joined = numpy.concatenate if function is numpy.hstack else numpy.stack
        return _joined(level, joined, (parts,), {})
    if len(depths) > 1 or 0 in depths:
        return NO_RULE
    return _joined(level, numpy.concatenate, (parts, 1 if function is numpy.hstack else 0), {})


@_for("tril", "triu", "trace", "diagonal")
def _of_matrices(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 1 or keywords or arguments[0].data.ndim != 3:
        return NO_RULE
    options = {"axis1": 1, "axis2": 2} if function in (numpy.trace, numpy.diagonal) else {}
    return function(arguments[0].data, **options)


@_for("take")
def _take(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    bound = _bound(function, arguments, keywords)
    if bound is None or not _only_first(level, arguments, keywords) or bound.get("mode") != "raise":
        return NO_RULE
    moved = None if bound["axis"] is None else _axis(bound["axis"], arguments[0].data.ndim - 1)
    return NO_RULE if moved is None else function(arguments[0].data, bound["indices"], axis=moved)


# -- indices -----------------------------------------------------------------------------------------------------------


def getitem(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    """Answer for `x[key]`, where the key is the same for all examples and has one array at most."""
    array, key = arguments
    keys = key if type(key) is tuple else (key,)
    if not is_of(array, level):
        return NO_RULE
    numbers = lists = 0
    for each in keys:
        if isinstance(each, slice):
            if any(type(end) in BATCHED for end in (each.start, each.stop, each.step)):
                return NO_RULE
        elif isinstance(each, (int, numpy.integer)) and not isinstance(each, bool):
            numbers += 1
        elif type(each) is numpy.ndarray and each.dtype.kind in "iub" and each.ndim:
            lists += 1
        elif each is not None and each is not Ellipsis:
            return NO_RULE
    if lists > 1 or (lists and numbers):
        return NO_RULE
    if sum(each is not None and each is not Ellipsis for each in keys) - (lists > 0) >= array.data.ndim + lists:
        return NO_RULE  # too many
    return array.data[(slice(None), *keys)]


# -- products ----------------------------------------------------------------------------------------------------------


@_for("matmul", "dot")
def _matmul(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 2 or keywords:
        return NO_RULE
    axes = [0 if is_of(value, level) else None for value in arguments]
    first, second = (value.data if axis == 0 else value for value, axis in zip(arguments, axes, strict=True))
    depths = [numpy.ndim(value) - (axis is not None) for value, axis in zip((first, second), axes, strict=True)]
    if 0 in depths:
        return elementwise(level, numpy.multiply, arguments, {}) if function is numpy.dot else NO_RULE
    if function is numpy.dot and depths[1] > 2:
        return NO_RULE
    if axes[1] is None and depths[1] <= 2:
        return numpy.matmul(first, second)
    if axes[0] is None and depths == [2, 1]:
        return numpy.matmul(second, numpy.transpose(first))
    rows, column = depths[0] == 1, depths[1] == 1
    first = first[..., None, :] if rows else first
    second = second[..., :, None] if column else second
    result = numpy.matmul(*align(axes, [first, second]))
    if rows and column:
        return result[..., 0, 0]
    return result[..., 0, :] if rows else result[..., 0] if column else result


@_for("outer")
def _outer(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 2 or keywords:
        return NO_RULE
    flat = [
        numpy.reshape(value.data, (value.data.shape[0], _size(value.data)))
        if is_of(value, level)
        else numpy.ravel(value)
        for value in arguments
    ]
    return flat[0][..., :, None] * flat[1][..., None, :]


@_for("tensordot")
def _tensordot(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    axes = arguments[2] if len(arguments) == 3 else keywords.get("axes", 2)
    if len(arguments) < 2 or keywords.keys() - {"axes"} or any(is_of(leaf, level) for leaf in leaves_of(axes)):
        return NO_RULE
    depths = [value.data.ndim - 1 if is_of(value, level) else numpy.ndim(value) for value in arguments[:2]]
    if isinstance(axes, (int, numpy.integer)):
        pairs = [list(range(depths[0] - axes, depths[0])), list(range(axes))]
    else:
        pairs = [list(each) if isinstance(each, (tuple, list)) else [each] for each in axes]
    letters = iter(string.ascii_letters)
    if sum(depths) >= len(string.ascii_letters) or len(pairs[0]) != len(pairs[1]):
        return NO_RULE
    names = [[next(letters) for _ in range(depth)] for depth in depths]
    for first, second in zip(*pairs, strict=True):
        if not (-depths[0] <= first < depths[0] and -depths[1] <= second < depths[1]):
            return NO_RULE
        names[1][second] = names[0][first]
    rest = [name for name in names[0] if name not in names[1]] + [name for name in names[1] if name not in names[0]]
    return _summed(level, ["".join(each) for each in names], "".join(rest), arguments[:2])


@_for("einsum")
def _einsum(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if keywords.keys() - {"optimize"} or not isinstance(arguments[0], str) or "." in arguments[0]:
        return NO_RULE
    inputs, arrow, output = arguments[0].replace(" ", "").partition("->")
    if not arrow:
        output = "".join(sorted(name for name in set(inputs) - {","} if inputs.count(name) == 1))
    return _summed(level, inputs.split(","), output, arguments[1:], **keywords)


def _summed(level: Level, inputs: list[str], output: str, arrays: Any, **options: Any) -> Any:
    used = {*output, *"".join(inputs)}
    free = next((name for name in string.ascii_letters if name not in used), None)
    if free is None or len(inputs) != len(arrays):
        return NO_RULE
    subscripts = [free + names if is_of(array, level) else names for names, array in zip(inputs, arrays, strict=True)]
    values = [array.data if is_of(array, level) else array for array in arrays]
    return numpy.einsum(f"{','.join(subscripts)}->{free}{output}", *values, **options)


# -- linear algebra ----------------------------------------------------------------------------------------------------


@_for("linalg.inv", "linalg.det", "linalg.slogdet", "linalg.cholesky", "linalg.eigh")
def _of_square_matrices(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 1 or keywords or arguments[0].data.ndim < 3:
        return NO_RULE
    return function(arguments[0].data)


@_for("linalg.solve")
def _solve(level: Level, function: Any, arguments: Any, keywords: Any) -> Any:
    if len(arguments) != 2 or keywords:
        return NO_RULE
    matrix, right = (
        value.data if is_of(value, level) else numpy.broadcast_to(value, (level.batch_size, *numpy.shape(value)))
        for value in arguments
    )
    if matrix.ndim != 3 or right.ndim not in (2, 3):
        return NO_RULE
    return function(matrix, right) if right.ndim == 3 else function(matrix, right[..., None])[..., 0]
