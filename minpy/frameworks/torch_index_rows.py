"""Rows of PyTorch for indexing: what takes elements, what is another array with some of them replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand
from minpy.frameworks.row_parts import Rows, axis_of, only, ravelled, torch_reshaped, unravelled

__all__ = ["ROWS"]

ROWS = Rows(unravel_index=unravelled, ravel_multi_index=ravelled)
_row = ROWS.enter


@_row("take")
def _take(call: Call, a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> str:
    only(call, "mode", mode, ("raise", "clip", "wrap"))
    text = call.array(a) if axis is not None else f"torch.reshape({call.array(a)}, (-1,))"
    at = 0 if axis is None else axis_of(axis, a.ndim)
    where = _positions(call, indices)
    length = a.size if axis is None else a.shape[at]
    if mode != "raise" and isinstance(indices, int):
        where = f"{where} % {length}" if mode == "wrap" else f"min(max({where}, 0), {length - 1})"
    elif mode != "raise":
        where = f"torch.remainder({where}, {length})" if mode == "wrap" else f"torch.clamp({where}, 0, {length - 1})"
    return f"{text}[{':, ' * at}{where}]"


def _positions(call: Call, indices: Any) -> str:
    return call.array(indices, numpy.int64) if not isinstance(indices, int) else repr(indices)


@_row("take_along_axis")
def _take_along_axis(call: Call, arr: Any, indices: Any, axis: Any = -1) -> str:
    return f"torch.take_along_dim({call.array(arr)}, {call.array(indices, numpy.int64)}, {axis!r})"


@_row("item_of")
def _item_of(call: Call, array: Operand, index: Any) -> str:
    parts, flipped = _index(call, array.shape, index)
    text = f"{array.text}[{parts}]"
    return f"torch.flip({text}, {flipped!r})" if flipped else text


def _index(call: Call, shape: Sequence[int], index: Any) -> tuple[str, tuple[int, ...]]:
    """Return (an index of an array of that shape; the axes of the result that are to be flipped)."""
    parts = list(index) if isinstance(index, tuple) and not isinstance(index, Operand) else [index]
    texts, flipped = [], []
    taken = sum(_takes(part) for part in parts)
    axis = result_axis = 0
    advanced = any(isinstance(part, (Operand, list)) for part in parts)
    for part in parts:
        if part is Ellipsis:
            texts.append("...")
            axis += len(shape) - taken
            result_axis += len(shape) - taken
            continue
        if part is None:
            texts.append("None")
            result_axis += 1
            continue
        if isinstance(part, slice):
            start, stop, step = part.start, part.stop, part.step
            if step is not None and step < 0:
                if advanced:
                    raise call.refuse("an index with arrays and a slice that goes backwards")
                positions = range(*part.indices(shape[axis]))
                start, stop, step = (positions[-1], positions[0] + 1, -step) if positions else (0, 0, None)
                flipped.append(result_axis)
            texts.append(
                ":".join("" if each is None else repr(each) for each in (start, stop, step)[: 2 if step is None else 3])
            )
            result_axis += 1
        elif isinstance(part, int):
            texts.append(repr(part))
        elif isinstance(part, Operand) and part.dtype.kind == "b":
            if part.value is None:
                raise call.refuse("an index that is a mask, whose values are not known")
            texts += [call.array(each) for each in numpy.nonzero(part.value)]
        else:
            texts.append(call.array(part, numpy.int64))
        axis += _takes(part)
    return ", ".join(texts) or "()", tuple(flipped)


def _takes(part: Any) -> int:
    """Return how many axes a part of an index is for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, Operand) and part.dtype.kind == "b" else 1


@_row("with_item")
def _with_item(call: Call, array: Operand, index: Any, value: Any) -> str:
    """Stores by slices are scatters of slices, one axis inside the other; those by positions `index_put`."""
    parts = list(index) if isinstance(index, tuple) and not isinstance(index, Operand) else [index]
    by_arrays = [isinstance(part, (Operand, list)) for part in parts]
    if not any(by_arrays):
        stored = _scattered(call, array, parts, value)
        if stored is not None:
            return stored
    masks = any(isinstance(part, Operand) and part.dtype.kind == "b" for part in parts)
    if all(by_arrays) and not masks:
        where = ", ".join(call.array(part, numpy.int64) for part in parts)
        return f"torch.index_put({array.text}, ({where},), {call.array(value, array.dtype)})"
    if any(isinstance(part, Operand) and part.value is None for part in parts):
        raise call.refuse("a store by an index of slices, or a mask, and arrays that are not constant")
    plain = tuple(part.value if isinstance(part, Operand) else part for part in parts)
    positions = numpy.asarray(numpy.arange(array.size).reshape(array.shape)[plain])
    target = f"torch.reshape({array.text}, (-1,))"
    new = f"torch.broadcast_to({call.array(value, array.dtype)}, {call.text(positions.shape)})"
    return torch_reshaped(call, f"torch.index_put({target}, ({call.array(positions)},), {new})")


def _scattered(call: Call, array: Operand, parts: Sequence[Any], value: Any) -> str | None:
    """Return a store by numbers and slices that go forwards; None for other indices."""
    if any(part is None or (isinstance(part, slice) and (part.step or 1) < 0) for part in parts):
        return None
    taken = sum(part is not Ellipsis for part in parts)
    parts = [part for part in parts if part is not Ellipsis or taken < array.ndim]
    axes: list[tuple[int, Any]] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += array.ndim - taken
            continue
        if part != slice(None):
            axes.append((axis, part))
        axis += 1
    region = numpy.broadcast_to(numpy.int8(0), array.shape)[tuple(parts)].shape
    new = f"torch.broadcast_to({call.array(value, array.dtype)}, {call.text(region)})"

    def stored(text: str, rest: Sequence[tuple[int, Any]], lengths: Sequence[int]) -> str:
        if not rest:
            return new
        (axis, part), *more = rest
        if isinstance(part, slice):
            # Counted from the front: under `torch.vmap` others mean something else.
            ends = call.text(part.indices(lengths[axis]))[1:-1]
            inner = f"{text}[{':, ' * axis}{call.text(part)}]"
            name = inner if not more else call.source.assign(inner)
            return f"torch.slice_scatter({text}, {stored(name, more, lengths)}, {axis}, {ends})"
        inner = f"torch.select({text}, {axis}, {part!r})"
        name = inner if not more else call.source.assign(inner)
        others = [length for at, length in enumerate(lengths) if at != axis]
        within = stored(name, [(at - 1, each) for at, each in more], others)
        return f"torch.select_scatter({text}, {within}, {axis}, {part!r})"

    return stored(array.text, axes, array.shape)


@_row("with_component")
def _with_component(call: Call, array: Operand, part: Any, is_real: bool) -> str:
    dtype = numpy.zeros((), array.dtype).real.dtype
    new = f"torch.broadcast_to({call.array(part, dtype)}, {call.text(array.shape)})"
    pair = (new, f"torch.imag({array.text})") if is_real else (f"torch.real({array.text})", new)
    return f"torch.complex({', '.join(pair)})"


@_row("computed_at")
def _computed_at(call: Call, ufunc: Any, target: Operand, index: Any, values: Any) -> str:
    if ufunc not in (numpy.add, numpy.subtract):
        raise call.refuse(f"{ufunc.__name__}.at")
    parts = list(index) if isinstance(index, tuple) and not isinstance(index, Operand) else [index]
    value = call.array(values[0], target.dtype)
    if ufunc is numpy.subtract:
        value = f"-{value}"
    if not all(isinstance(part, Operand) and part.dtype.kind in "iu" for part in parts):
        raise call.refuse(f"{ufunc.__name__}.at by an index that is not of arrays of whole numbers")
    where = ", ".join(call.array(part, numpy.int64) for part in parts)
    return f"torch.index_put({target.text}, ({where},), {value}, accumulate=True)"


@_row("changed")
def _changed(call: Call, function: Any, target: Operand, arguments: Any, keywords: Any) -> str:
    name = function.__name__
    if name == "copyto" and not keywords.keys() - {"casting", "where"}:
        source = f"torch.broadcast_to({call.array(arguments[0], target.dtype)}, {call.text(target.shape)})"
        mask = keywords.get("where", True)
        return source if mask is True else f"torch.where({call.array(mask, bool)}, {source}, {target.text})"
    if name == "putmask" and not keywords and call.spec(arguments[1]).shape in ((), target.shape):
        mask, value = call.array(arguments[0], bool), call.array(arguments[1], target.dtype)
        return f"torch.where({mask}, {value}, {target.text})"
    if name == "put_along_axis":
        indices, value, axis = (*arguments, keywords.get("axis"))[:3]
        if axis is not None and isinstance(indices, Operand):
            stored = f"torch.broadcast_to({call.array(value, target.dtype)}, {call.text(indices.shape)})"
            return f"torch.scatter({target.text}, {axis!r}, {call.array(indices, numpy.int64)}, {stored})"
    if name == "put" and not keywords:
        flat = f"torch.reshape({target.text}, (-1,))"
        where, stored = call.array(arguments[0], numpy.int64), call.array(arguments[1], target.dtype)
        return torch_reshaped(call, f"torch.index_put({flat}, ({where},), {stored})")
    if name == "fill_diagonal" and target.ndim == 2 and not keywords and call.spec(arguments[0]).shape == ():
        mask = numpy.zeros(target.shape, bool)
        numpy.fill_diagonal(mask, True)
        return f"torch.where({call.array(mask)}, {call.array(arguments[0], target.dtype)}, {target.text})"
    raise call.refuse(f"numpy.{name} with these arguments")
