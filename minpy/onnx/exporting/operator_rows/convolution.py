"""Convolutions, and what undoes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.frameworks.dialects import Operand
from minpy.onnx.exporting.calls import NodeCall, Rows
from minpy.ops.nn.convolution import per_axis, transposed_window

__all__ = ["ROWS"]

ROWS = Rows()

Numbers = int | Sequence[int]


@ROWS.enter("Convolution")
def _convolution(
    call: NodeCall,
    data: Operand,
    weight: Operand,
    bias: Operand | None = None,
    kernel: Numbers = (),
    stride: Numbers = (),
    dilate: Numbers = (),
    pad: Numbers = (),
    num_filter: int = 0,
    num_group: int = 1,
    no_bias: bool = False,
    layout: str | None = None,
    **_: Any,
) -> Any:
    count = data.ndim - 2
    pads = per_axis("Convolution", "pad", pad, count, 0, 0)
    return call.node(
        "Conv",
        data,
        weight,
        bias,
        kernel_shape=weight.shape[2:],
        strides=per_axis("Convolution", "stride", stride, count, 1, 1),
        dilations=per_axis("Convolution", "dilate", dilate, count, 1, 1),
        pads=(*pads, *pads),
        group=num_group,
    )


@ROWS.enter("Deconvolution")
def _deconvolution(
    call: NodeCall,
    data: Operand,
    weight: Operand,
    bias: Operand | None = None,
    kernel: Numbers = (),
    stride: Numbers = (),
    dilate: Numbers = (),
    pad: Numbers = (),
    adj: Numbers = (),
    target_shape: Numbers = (),
    num_filter: int = 0,
    num_group: int = 1,
    no_bias: bool = True,
    layout: str | None = None,
    **_: Any,
) -> Any:
    window = transposed_window(data, kernel, stride, dilate, pad, adj, target_shape, num_group)
    sizes = zip(
        data.shape[2:], weight.shape[2:], window["stride"], window["dilate"], window["pad"], call.shape[2:], strict=True
    )
    # What the full result has beyond the one that is asked for, after the padding at both ends is cut off.
    added = [length - ((x - 1) * s + d * (k - 1) + 1 - 2 * p) for x, k, s, d, p, length in sizes]
    return call.node(
        "ConvTranspose",
        data,
        weight,
        bias,
        kernel_shape=weight.shape[2:],
        strides=window["stride"],
        dilations=window["dilate"],
        pads=(*window["pad"], *window["pad"]),
        output_padding=added if any(added) else None,
        group=num_group,
    )


# -- filters whose elements are moved ----------------------------------------------------------------------------------


@ROWS.enter("_contrib_ModulatedDeformableConvolution")
def _modulated_deformable(
    call: NodeCall,
    data: Operand,
    offset: Operand,
    mask: Operand,
    weight: Operand,
    bias: Operand | None = None,
    **attributes: Any,
) -> Any:
    return _deformable(call, data, weight, offset.text, bias, mask, attributes)


@ROWS.enter("_contrib_DeformableConvolution")
def _plain_deformable(
    call: NodeCall, data: Operand, offset: Operand, weight: Operand, bias: Operand | None = None, **attributes: Any
) -> Any:
    """Elements beyond the last point by less than one count as that point, and those before the first as nothing.

    ONNX interpolates there, too: elements are moved to where both say the same.
    """
    stride, dilate, pad = _moved_window(attributes)
    lengths, kernel, counts = data.shape[2:], weight.shape[2:], offset.shape[2:]
    positions = numpy.zeros((1, *kernel, 2, *counts), data.dtype)
    for axis in range(2):
        element = numpy.arange(kernel[axis]).reshape([-1 if each == axis else 1 for each in range(2)] + [1, 1])
        position = numpy.arange(counts[axis]).reshape([1, 1] + [-1 if each == axis else 1 for each in range(2)])
        positions[0, :, :, axis] = position * stride[axis] - pad[axis] + element * dilate[axis]
    groups = offset.shape[1] // (2 * kernel[0] * kernel[1])
    places = numpy.tile(positions.reshape(1, -1, 2, *counts), (1, groups, 1, 1, 1))
    moved = call.node("Add", call.reshape(call.array(offset, data.dtype), (-1, *places.shape[1:])), places)
    ends = numpy.array(lengths, data.dtype).reshape(2, 1, 1)
    is_inside = call.node(
        "And", call.node("GreaterOrEqual", moved, numpy.zeros((), data.dtype)), call.node("Less", moved, ends)
    )
    outside = numpy.asarray(-2, data.dtype)
    chosen = call.node("Where", is_inside, call.node("Min", moved, ends - 1), outside)
    offsets = call.reshape(call.node("Sub", chosen, places), (-1, *offset.shape[1:]))
    return _deformable(call, data, weight, offsets, bias, None, attributes)


def _deformable(
    call: NodeCall,
    data: Operand,
    weight: Operand,
    offsets: str,
    bias: Operand | None,
    mask: Operand | None,
    attributes: dict[str, Any],
) -> Any:
    if call.opset < 19:
        raise call.refuse(f"opset={call.opset}: DeformConv is there from 19 on")
    stride, dilate, pad = _moved_window(attributes)
    groups = attributes.get("num_group", 1)
    return call.node(
        "DeformConv",
        data,
        weight,
        offsets,
        bias,
        mask,
        kernel_shape=weight.shape[2:],
        strides=stride,
        dilations=dilate,
        pads=(*pad, *pad),
        group=groups,
        offset_group=attributes.get("num_deformable_group", 1),
    )


def _moved_window(attributes: dict[str, Any]) -> list[tuple[int, ...]]:
    defaults = {"stride": 1, "dilate": 1, "pad": 0}
    return [
        per_axis("DeformableConvolution", name, attributes.get(name, ()), 2, default, default)
        for name, default in defaults.items()
    ]
