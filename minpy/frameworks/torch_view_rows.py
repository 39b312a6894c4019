"""Rows of PyTorch for views of arrays, and for what joins and moves elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Call, Operand
from minpy.frameworks.row_parts import Rows, axes_of, axis_of, only, torch_reshaped

__all__ = ["ROWS"]

ROWS = Rows()
_row = ROWS.enter


@_row("reshape")
def _reshape(call: Call, a: Any, shape: Any = None, newshape: Any = None, order: str = "C", **_: Any) -> str:
    lengths = newshape if shape is None else shape
    lengths = tuple(lengths) if isinstance(lengths, (tuple, list)) else (lengths,)
    if order == "F":
        turned = f"{call.array(a)}.permute({_backwards(call.spec(a).shape)})"
        return f"torch.reshape({turned}, {call.text(call.shape[::-1])}).permute({_backwards(call.shape)})"
    return f"torch.reshape({call.array(a)}, {call.text(lengths)})"


def _backwards(shape: Sequence[int]) -> str:
    return repr(tuple(reversed(range(len(shape)))))


@_row("ravel flatten")
def _ravel(call: Call, a: Any, order: str = "C") -> str:
    text = call.array(a)
    return (
        f"torch.reshape({text}.permute({_backwards(call.spec(a).shape)}) , (-1,))"
        if order == "F"
        else f"torch.reshape({text}, (-1,))"
    )


@_row("expand_dims")
def _expand_dims(call: Call, a: Any, axis: Any) -> str:
    text = call.array(a)
    for each in sorted(axes_of(axis, len(call.shape))):
        text = f"{text}.unsqueeze({each})"
    return text


@_row("squeeze")
def _squeeze(call: Call, a: Any, axis: Any = None) -> str:
    shape = call.spec(a).shape
    axes = axes_of(axis, len(shape)) if axis is not None else tuple(at for at, n in enumerate(shape) if n == 1)
    return f"torch.squeeze({call.array(a)}, {axes!r})" if axes else call.array(a)


@_row("transpose")
def _transpose(call: Call, a: Any, axes: Any = None) -> str:
    order = axes_of(axes, call.spec(a).shape.__len__()) if axes is not None else tuple(range(len(call.shape)))[::-1]
    return f"{call.array(a)}.permute({order!r})"


@_row("matrix_transpose linalg.matrix_transpose")
def _matrix_transpose(call: Call, x: Any) -> str:
    return f"{call.array(x)}.transpose(-2, -1)"


@_row("swapaxes")
def _swapaxes(call: Call, a: Any, axis1: int, axis2: int) -> str:
    return f"{call.array(a)}.transpose({axis1!r}, {axis2!r})"


@_row("moveaxis")
def _moveaxis(call: Call, a: Any, source: Any, destination: Any) -> str:
    return f"torch.moveaxis({call.array(a)}, {call.text(source)}, {call.text(destination)})"


@_row("rollaxis")
def _rollaxis(call: Call, a: Any, axis: int, start: int = 0) -> str:
    order = tuple(numpy.rollaxis(numpy.empty(range(1, len(call.shape) + 1)), axis, start).shape)
    return f"{call.array(a)}.permute({tuple(each - 1 for each in order)!r})"


@_row("broadcast_to")
def _broadcast_to(call: Call, array: Any, shape: Any) -> str:
    return f"torch.Tensor.expand({call.array(array)}, {call.text(call.shape)})"


@_row("flip")
def _flip(call: Call, m: Any, axis: Any = None) -> str:
    return f"torch.flip({call.array(m)}, {axes_of(axis, len(call.shape))!r})"


@_row("fliplr flipud")
def _flip_one(call: Call, m: Any) -> str:
    return f"torch.{call.function.__name__}({call.array(m)})"


@_row("rot90")
def _rot90(call: Call, m: Any, k: int = 1, axes: Any = (0, 1)) -> str:
    return f"torch.rot90({call.array(m)}, {k!r}, {tuple(axes)!r})"


@_row("diagonal")
def _diagonal(call: Call, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> str:
    return f"torch.diagonal({call.array(a)}, {offset!r}, {axis1!r}, {axis2!r})"


@_row("linalg.diagonal")
def _linalg_diagonal(call: Call, x: Any, offset: int = 0) -> str:
    return f"torch.diagonal({call.array(x)}, {offset!r}, -2, -1)"


@_row("diag")
def _diag(call: Call, v: Any, k: int = 0) -> str:
    return f"torch.diag({call.array(v)}, {k!r})"


@_row("diagflat")
def _diagflat(call: Call, v: Any, k: int = 0) -> str:
    return f"torch.diagflat({call.array(v)}, {k!r})"


@_row("split array_split")
def _split(call: Call, ary: Any, indices_or_sections: Any, axis: int = 0) -> str:
    at = (
        numpy.asarray(indices_or_sections).tolist() if not isinstance(indices_or_sections, int) else indices_or_sections
    )
    return f"torch.tensor_split({call.array(ary)}, {at!r}, {axis!r})"


@_row("hsplit")
def _hsplit(call: Call, ary: Any, indices_or_sections: Any) -> str:
    return _split(call, ary, indices_or_sections, 1 if call.spec(ary).shape.__len__() > 1 else 0)


@_row("vsplit")
def _vsplit(call: Call, ary: Any, indices_or_sections: Any) -> str:
    return _split(call, ary, indices_or_sections, 0)


@_row("dsplit")
def _dsplit(call: Call, ary: Any, indices_or_sections: Any) -> str:
    return _split(call, ary, indices_or_sections, 2)


@_row("unstack")
def _unstack(call: Call, x: Any, axis: int = 0) -> str:
    return f"torch.unbind({call.array(x)}, {axis!r})"


@_row("atleast_1d atleast_2d atleast_3d")
def _atleast(call: Call, arys: Any) -> str:
    return torch_reshaped(call, call.array(arys[0]))


@_row("meshgrid")
def _meshgrid(call: Call, xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> str:
    if sparse:
        parts = []
        for at, (value, spec) in enumerate(zip(xi, call.results, strict=True)):
            del at
            parts.append(f"torch.reshape({call.array(value)}, {call.text(spec.shape)})")
        return f"({', '.join(parts)},)"
    return f"torch.meshgrid({', '.join(map(call.array, xi))}, indexing={indexing!r})"


def _parts(call: Call, arrays: Any) -> str:
    values = [arrays] if isinstance(arrays, Operand) else arrays
    return f"({', '.join(call.array(each, call.result_dtype) for each in values)},)"


@_row("concatenate")
def _concatenate(call: Call, arrays: Any, axis: Any = 0, dtype: Any = None, casting: str = "same_kind") -> str:
    if axis is None:
        parts = ", ".join(f"torch.reshape({call.array(each, call.result_dtype)}, (-1,))" for each in arrays)
        return f"torch.cat(({parts},))"
    return f"torch.cat({_parts(call, arrays)}, {axis!r})"


@_row("stack")
def _stack(call: Call, arrays: Any, axis: int = 0, dtype: Any = None, casting: str = "same_kind") -> str:
    return f"torch.stack({_parts(call, arrays)}, {axis!r})"


@_row("hstack vstack dstack column_stack row_stack")
def _stacks(call: Call, tup: Any, dtype: Any = None, casting: str = "same_kind") -> str:
    return f"torch.{call.key.replace('row_stack', 'vstack')}({_parts(call, tup)})"


@_row("append")
def _append(call: Call, arr: Any, values: Any, axis: Any = None) -> str:
    return _concatenate(call, [arr, values], axis)


@_row("tile")
def _tile(call: Call, A: Any, reps: Any) -> str:
    counts = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    return f"torch.tile({call.array(A)}, {call.text(counts)})"


@_row("repeat")
def _repeat(call: Call, a: Any, repeats: Any, axis: Any = None) -> str:
    counts = repeats if isinstance(repeats, int) else call.array(numpy.asarray(repeats), numpy.int64)
    more = "" if axis is None else f", {axis!r}"
    size = "" if isinstance(counts, int) else f", output_size={call.shape[axis or 0]}"
    return f"torch.repeat_interleave({call.array(a)}, {counts}{more}{size})"


@_row("pad")
def _pad(call: Call, array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> str:
    only(call, "mode", mode, ("constant", "edge", "reflect", "wrap", "symmetric"))
    widths = numpy.broadcast_to(numpy.asarray(pad_width), (array.ndim, 2)).tolist()
    if mode == "constant" and numpy.ndim(constant_values) == 0:
        flat = [width for pair in reversed(widths) for width in pair]
        return f"torch.nn.functional.pad({call.array(array)}, {flat!r}, value={call.text(constant_values)})"
    if mode == "constant":
        raise call.refuse("constant_values= that differ")
    text = call.array(array)
    for axis, pair in enumerate(widths):
        if pair != [0, 0]:
            positions = numpy.pad(numpy.arange(array.shape[axis]), pair, mode=mode)  # type: ignore[call-overload]
            text = f"torch.index_select({text}, {axis}, {call.array(positions)})"
    return text


@_row("roll")
def _roll(call: Call, a: Any, shift: Any, axis: Any = None) -> str:
    return f"torch.roll({call.array(a)}, {call.text(shift)}, {call.text(axis)})"


@_row("tril triu")
def _triangle(call: Call, m: Any, k: int = 0) -> str:
    return f"torch.{call.key}({call.array(m)}, {k!r})"


@_row("diff")
def _diff(call: Call, a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> str:
    if prepend is not None or append is not None:
        raise call.refuse("prepend= or append=")
    return f"torch.diff({call.array(a)}, {n!r}, {axis!r})"


@_row("vander")
def _vander(call: Call, x: Any, N: Any = None, increasing: bool = False) -> str:
    del N
    powers = numpy.arange(call.shape[1]) if increasing else numpy.arange(call.shape[1])[::-1]
    return f"torch.pow({call.array(x, call.result_dtype)}.unsqueeze(-1), {call.array(powers)})"


@_row("delete")
def _delete(call: Call, arr: Any, obj: Any, axis: Any = None) -> str:
    if isinstance(obj, Operand) and obj.value is None:
        raise call.refuse("obj= that is not constant")
    where: Any = obj.value if isinstance(obj, Operand) else obj
    at = 0 if axis is None else axis_of(axis, arr.ndim)
    text = call.array(arr) if axis is not None else f"torch.reshape({call.array(arr)}, (-1,))"
    positions = numpy.delete(numpy.arange(arr.size if axis is None else arr.shape[at]), where)
    return f"torch.index_select({text}, {at}, {call.array(positions)})"


@_row("insert")
def _insert(call: Call, arr: Any, obj: Any, values: Any, axis: Any = None) -> str:
    if not isinstance(obj, int):
        raise call.refuse("obj= that is not one position")
    at = 0 if axis is None else axis_of(axis, arr.ndim)
    shape = (arr.size,) if axis is None else arr.shape
    text = call.operand(f"torch.reshape({call.array(arr)}, {call.text(shape)})", shape, arr.dtype).text
    where = obj + shape[at] if obj < 0 else obj
    count = call.shape[at] - shape[at]
    part = call.spec(values).shape
    inserted = (*shape[:at], count, *shape[at + 1 :])
    new = call.array(values, arr.dtype)
    if len(part) == len(shape) and at:  # one position takes the values along its axis
        new = f"torch.moveaxis({new}, 0, {at})"
    parts = f"{text}.narrow({at}, 0, {where}), torch.broadcast_to({new}, {call.text(inserted)})"
    return f"torch.cat(({parts}, {text}.narrow({at}, {where}, {shape[at] - where})), {at})"


@_row("resize")
def _resize(call: Call, a: Any, new_shape: Any) -> str:
    if not a.size:
        raise call.refuse("an array without elements")
    size = int(numpy.prod(call.shape, dtype=numpy.int64))
    positions = call.array(numpy.arange(size) % a.size)
    return torch_reshaped(call, f"torch.reshape({call.array(a)}, (-1,))[{positions}]")


@_row("ediff1d")
def _ediff1d(call: Call, ary: Any, to_end: Any = None, to_begin: Any = None) -> str:
    text = f"torch.diff(torch.reshape({call.array(ary)}, (-1,)))"
    ends = [
        None if end is None else f"torch.reshape({call.array(end, ary.dtype)}, (-1,))" for end in (to_begin, to_end)
    ]
    parts = [part for part in (ends[0], text, ends[1]) if part is not None]
    return f"torch.cat(({', '.join(parts)},))"


@_row("block")
def _block(call: Call, arrays: Any) -> str:
    def joined(nest: Any, depth: int) -> str:
        if isinstance(nest, list):
            return f"torch.cat(({', '.join(joined(part, depth - 1) for part in nest)},), {-depth})"
        spec = call.spec(nest)
        axes = max(len(call.shape), len(spec.shape))
        shape = (1,) * (axes - len(spec.shape)) + spec.shape
        return f"torch.reshape({call.array(nest, call.result_dtype)}, {call.text(shape)})"

    depth, nest = 0, arrays
    while isinstance(nest, list):
        depth, nest = depth + 1, nest[0]
    return joined(arrays, depth)
