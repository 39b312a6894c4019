"""Operators that give arrays other shapes, join, split, and make them."""

from __future__ import annotations

import math
from typing import Any

import numpy

from minpy import symbol as sym
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.lengths import Length, reshape_codes
from minpy.onnx.importing.refusals import Refusal
from minpy.onnx.importing.tensors import numpy_dtype

np = sym.np
_UNKNOWN = "its shape hangs on lengths that are not known. Give shapes="


@row("Reshape")
def reshape(call: Call) -> Any:
    """0 keeps a length, -1 is what is left; lengths that are not known are said in codes."""
    target = call.get("shape") if "shape" in call.attributes else call.elements(1, "lengths")
    x, is_literal = call.symbol(), bool(call.get("allowzero", 0))
    if is_literal and all(isinstance(length, int) for length in target):
        return np.reshape(x, tuple(target))
    shape = call.tensor(0).shape
    if shape is not None:
        target = [shape[axis] if length == 0 and axis < len(shape) else length for axis, length in enumerate(target)]
    if all(isinstance(length, int) for length in target):
        if shape is not None or 0 not in target:
            return np.reshape(x, tuple(target))
        return sym.reshape(x, shape=tuple(target))
    codes = None if shape is None else reshape_codes(shape, target)
    if codes is None:
        raise Refusal(_UNKNOWN, needs_shapes=True)
    return sym.reshape(x, shape=codes)


@row("Flatten")
def _flatten(call: Call) -> Any:
    axis = call.axis(1) if call.get("axis", 1) < 0 else call.get("axis", 1)
    if axis == 1:
        return sym.Flatten(call.symbol())
    if axis == 0:
        return np.reshape(call.symbol(), (1, -1))
    return np.reshape(call.symbol(), (math.prod(call.shape(0, range(axis))), -1))


@row("Transpose")
def _transpose(call: Call) -> Any:
    return np.transpose(call.symbol(), call.get("perm"))


@row("Squeeze")
def _squeeze(call: Call) -> Any:
    axes = call.ints(1, "axes", "axes")
    return np.squeeze(call.symbol(), axis=None if axes is None else tuple(axes))


@row("Unsqueeze")
def _unsqueeze(call: Call) -> Any:
    return np.expand_dims(call.symbol(), tuple(call.ints(1, "axes", "axes") or ()))


@row("Concat")
def _concat(call: Call) -> Any:
    return np.concatenate(call.symbols(), axis=call.get("axis", 1))


@row("Split")
def split(call: Call) -> Any:
    """Into equal parts, or parts of given lengths."""
    axis, count = call.axis(0), len(call.outputs)
    lengths = call.ints(1, "lengths", "split")
    if lengths is None:
        (length,) = call.shape(0, [axis])
        each = -(-length // count)
        lengths = [each] * (count - 1) + [length - each * (count - 1)]
    ends = [sum(lengths[: position + 1]) for position in range(len(lengths))]
    x, leading = call.symbol(), (slice(None),) * axis
    return [x[(*leading, slice(end - length, end))] for length, end in zip(lengths, ends, strict=True)]


@row("Slice")
def slice_(call: Call) -> Any:
    """Ends beyond the data are its ends, as in Python."""
    if call.opset < 10:
        starts, ends = list(call.get("starts")), list(call.get("ends"))
        axes, steps = call.get("axes"), None
    else:
        starts, ends = call.elements(1, "starts"), call.elements(2, "ends")
        axes, steps = call.ints(3, "axes"), call.ints(4, "steps")
    axes = range(len(starts)) if axes is None else axes
    rank = max(axes, default=-1) + 1 if call.tensor(0).shape is None and min(axes, default=0) >= 0 else call.rank()
    shape = call.tensor(0).shape
    index: list[Any] = [slice(None)] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps or [1] * len(starts), strict=True):
        if isinstance(end, Length):
            if shape is None or end != shape[axis]:
                raise Refusal(_UNKNOWN, needs_shapes=True)
            end = None
        if isinstance(start, Length):
            raise Refusal(_UNKNOWN, needs_shapes=True)
        # Whatever is further away than the first element leaves none out, going backwards.
        length = None if shape is None else shape[axis]
        first = -length if isinstance(length, int) else -(2**31) + 1
        is_beyond = end is not None and ((step < 0 and end < first) or end >= 2**31 - 1)
        index[axis] = slice(start, None if is_beyond else end, step)
    return call.symbol()[tuple(index)]


@row("Expand")
def expand(call: Call) -> Any:
    """Broadcast with a shape: lengths of 1 there leave those of the data."""
    target = call.elements(1, "lengths")
    shape = call.lengths()
    rank = max(len(shape), len(target))
    shape, target = [1] * (rank - len(shape)) + shape, [1] * (rank - len(target)) + target
    result = [there if here == 1 else here for here, there in zip(shape, target, strict=True)]
    if all(isinstance(length, int) for length in result):
        return np.broadcast_to(call.symbol(), tuple(result))
    x = call.symbol() if rank == call.rank() else np.expand_dims(call.symbol(), tuple(range(rank - call.rank())))
    return np.where(
        _ones(call, [there if here != there else 1 for here, there in zip(shape, result, strict=True)]), x, x
    )


def _ones(call: Call, lengths: list[Any]) -> Any:
    """Return True in a shape of which some lengths are those of other values, wherever these are."""
    mask = np.ones(tuple(length if isinstance(length, int) else 1 for length in lengths), dtype="bool")
    for axis, length in enumerate(lengths):
        if isinstance(length, int):
            continue
        tensor = None if length.origin is None else call.importer.tensors.get(length.origin.value)
        if tensor is None or tensor.symbol is None or tensor.shape is None:
            raise Refusal(_UNKNOWN, needs_shapes=True)
        seen = length.origin.axis
        if any(other == 0 for other in tensor.shape):
            raise Refusal(_UNKNOWN, needs_shapes=True)
        index = tuple(slice(None) if other == seen else 0 for other in range(len(tensor.shape)))
        column = np.ones_like(tensor.symbol[index], dtype="bool")
        mask = np.logical_and(mask, np.reshape(column, (-1, *[1] * (len(lengths) - 1 - axis))))
    return mask


@row("ConstantOfShape")
def _constant_of_shape(call: Call) -> Any:
    import onnx

    value = call.get("value")
    array = numpy.zeros(1, numpy.float32) if value is None else onnx.numpy_helper.to_array(value)
    numpy_dtype(1 if value is None else value.data_type)
    lengths = call.elements(0, "lengths")
    if all(isinstance(length, int) for length in lengths):
        return np.full(tuple(lengths), array.ravel()[0].item(), dtype=array.dtype.name)
    filled = np.where(_ones(call, lengths), array.ravel()[0].item(), 0)
    return np.astype(filled, array.dtype.name)


@row("Tile")
def _tile(call: Call) -> Any:
    return np.tile(call.symbol(), tuple(call.ints(1, "repeats") or ()))


@row("Shape")
def _shape(call: Call) -> Any:
    result = sym.shape_array(call.symbol())
    if "start" in call.attributes or "end" in call.attributes:
        return result.as_np_ndarray()[slice(call.get("start", 0), call.get("end"))]
    return result


@row("Size")
def _size(call: Call) -> Any:
    return np.prod(sym.shape_array(call.symbol()).as_np_ndarray())


@row("Range")
def _range_(call: Call) -> Any:
    start, stop, step = (call.value(index, "limits").item() for index in range(3))
    return np.arange(start, stop, step, dtype=call.dtype().name)


@row("Pad")
def pad(call: Call) -> Any:
    """Negative widths cut off."""
    mode, value = call.get("mode", "constant"), call.get("value", 0.0)
    widths = call.ints(1, "widths", "pads" if "pads" in call.attributes else "paddings")
    if widths is None:
        raise Refusal("its widths are missing")
    if call.has(2) and mode == "constant":
        value = call.value(2, "value").item()
    axes = (call.ints(3, "axes") if call.has(3) else None) or list(range(call.rank()))
    count = len(widths) // 2
    pairs = [(0, 0)] * call.rank()
    for axis, begin, end in zip(axes, widths[:count], widths[count:], strict=True):
        pairs[axis] = (begin, end)
    x = call.symbol()
    if any(min(pair) < 0 for pair in pairs):
        x = x[tuple(slice(max(-begin, 0), -max(-end, 0) or None) for begin, end in pairs)]
        pairs = [(max(begin, 0), max(end, 0)) for begin, end in pairs]
    if mode == "constant":
        return np.pad(x, tuple(pairs), mode="constant", constant_values=value)
    return np.pad(x, tuple(pairs), mode=mode)


@row("DepthToSpace", "SpaceToDepth")
def _depth_and_space(call: Call) -> Any:
    block = call.get("blocksize")
    if call.operator == "DepthToSpace" and call.get("mode", "DCR") == "DCR":
        return sym.depth_to_space(call.symbol(), block_size=block)
    if call.operator == "SpaceToDepth" and call.get("mode", "DCR") == "DCR":
        return sym.space_to_depth(call.symbol(), block_size=block)
    batch, channels, height, width = call.shape()
    if call.operator == "DepthToSpace":
        x = np.reshape(call.symbol(), (batch, channels // block**2, block, block, height, width))
        return np.reshape(
            np.transpose(x, (0, 1, 4, 2, 5, 3)), (batch, channels // block**2, height * block, width * block)
        )
    x = np.reshape(call.symbol(), (batch, channels, height // block, block, width // block, block))
    return np.reshape(
        np.transpose(x, (0, 1, 3, 5, 2, 4)), (batch, channels * block**2, height // block, width // block)
    )


@row("EyeLike")
def _eye_like(call: Call) -> Any:
    rows, columns = call.shape()
    dtype = numpy_dtype(call.get("dtype")) if "dtype" in call.attributes else call.dtype()
    return np.eye(rows, columns, call.get("k", 0), dtype=dtype.name)


@row("Trilu")
def _trilu(call: Call) -> Any:
    offset = int(call.value(1, "diagonal").item()) if call.has(1) else 0
    return (np.triu if call.get("upper", 1) else np.tril)(call.symbol(), offset)
