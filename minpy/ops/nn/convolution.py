"""Convolution and Deconvolution, in one to three dimensions. The work is done in `minpy.ops.kernels.im2col`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import derived, joined, merge_lengths, with_axes
from minpy.ops.kernels.im2col import (
    convolve,
    convolve_data,
    data_gradient,
    output_lengths,
    transposed_weight_gradient,
    weight_gradient,
)
from minpy.ops.nn.data_axes import axes_of_layout, wrong_axes
from minpy.ops.registry import operator

__all__ = ["convolution", "deconvolution", "per_axis", "transposed_window", "window_of"]

Ints = tuple[int, ...]

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def per_axis(name: str, attribute: str, value: Any, count: int, default: int, least: int) -> Ints:
    """Return an attribute with one number for each of `count` axes; `()` means `default` for all.

    Raises
    ------
    ShapeError
        If there are more or fewer numbers, or one is below `least`; `name` is the operator's.
    """
    numbers = (value,) if isinstance(value, (int, np.integer)) else tuple(value or ())
    if not numbers:
        return (default,) * count
    if len(numbers) != count or min(numbers) < least:
        raise ShapeError(
            f"{name}: {attribute} is {numbers}; expected {count} whole number(s) >= {least}, one for each axis."
        )
    return tuple(map(int, numbers))


def window_of(name: str, data: Any, kernel: Any, stride: Any, dilate: Any, pad: Any, num_group: int) -> dict[str, Any]:
    """Return what the kernels of `minpy.ops.kernels.im2col` need to know beside the arrays."""
    count = 1 if isinstance(kernel, int) else len(kernel)
    if count not in LAYOUTS or np.ndim(data) != count + 2:
        raise ShapeError(
            f"{name}: data has shape {np.shape(data)} and kernel is {kernel}; expected a kernel of 1 to 3 numbers, and "
            "data with two more axes: (batch, channels, width) for one, (batch, channels, height, width) for two."
        )
    return {
        "stride": per_axis(name, "stride", stride, count, 1, 1),
        "dilate": per_axis(name, "dilate", dilate, count, 1, 1),
        "pad": per_axis(name, "pad", pad, count, 0, 0),
        "num_group": num_group,
    }


def _require_layout(name: str, layout: str | None, count: int) -> None:
    if layout not in (None, LAYOUTS[count]):
        raise ArgumentError(
            f"{name}: layout {layout!r} is not supported for a kernel of {count} axes; expected {LAYOUTS[count]!r}. "
            "Transpose the data, as in data.transpose((0, 3, 1, 2))."
        )


def _require_groups(name: str, shape: Ints, num_filter: int, num_group: int) -> None:
    if num_group < 1 or shape[1] % num_group or num_filter % num_group or num_filter < 1:
        raise ShapeError(
            f"{name}: num_group is {num_group}; it must divide the {shape[1]} channels of data {shape} and "
            f"num_filter={num_filter}."
        )


def _require_fit(
    name: str, data: Any, weight: Any, bias: Any, expected: Ints, meaning: str, filters: tuple[int, int], no_bias: bool
) -> None:
    """Raise unless weight and bias have the shapes that the data and the attributes ask for."""
    num_filter, num_group = filters
    _require_groups(name, data.shape, num_filter, num_group)
    if weight.shape != expected:
        raise ShapeError(
            f"{name}: weight has shape {weight.shape}; expected {expected}, which is {meaning}, for data of shape "
            f"{data.shape} with num_filter={num_filter} and num_group={num_group}."
        )
    if bias is None and not no_bias:
        raise ArgumentError(f"{name}: bias is missing; give it, or pass no_bias=True.")
    if bias is not None and no_bias:
        raise ArgumentError(f"{name}: bias is given together with no_bias=True; leave it out, or pass no_bias=False.")
    if bias is not None and bias.shape != (num_filter,):
        raise ShapeError(f"{name}: bias has shape {bias.shape}; expected {(num_filter,)}, (num_filter,).")


def _with_bias(result: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    if bias is None:
        return result
    column = bias.reshape((-1,) + (1,) * (result.ndim - 2))
    if np.can_cast(bias.dtype, result.dtype):
        result += column
        return result
    return result + column


def _bias_gradient(g: Any) -> Any:
    return sum_over(g, axis=(0, *range(2, np.ndim(g))))


@operator(
    name="Convolution",
    aliases=("Convolution_v1",),
    optional_inputs={"bias": lambda attributes: not attributes.get("no_bias", False)},
)
def convolution(
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> np.ndarray:
    """Return the cross-correlation of data with filters, in one to three dimensions, plus a bias.

    {data_parameter}
        Of shape (batch, channels, width), (batch, channels, height, width) or (batch, channels, depth, height, width).
    weight : NDArray
        Of shape (num_filter, channels / num_group, *kernel).
    bias : NDArray, optional
        Of shape (num_filter,); left out if `no_bias`.
    kernel : tuple of int
        Lengths of a filter: (w,), (h, w) or (d, h, w).
    stride : tuple of int
        Steps between the filter's positions; 1 if left out.
    dilate : tuple of int
        Steps between the elements under a filter; 1 if left out.
    pad : tuple of int
        How many zeros are added at both ends of each axis; none if left out.
    num_filter : int
        Number of filters.
    num_group : int
        Channels and filters are split into so many groups, and each group of filters sees its group of channels.
    no_bias : bool
        Whether there is no bias.
    layout : str, optional
        'NCW', 'NCHW' or 'NCDHW', which is what the arrays have.
    workspace, cudnn_tune, cudnn_off
        Accepted and not used.

    {returns_array}
        Of shape (batch, num_filter, ...), with (x + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1 positions along
        an axis of length x.

    {raises_shape_error}
        If the arrays or attributes do not fit each other.
    ArgumentError
        If the bias is missing, or given with `no_bias`; for another layout.

    {examples}
    >>> x, w = nd.array([[[1, 2, 4, 8]]]), nd.array([[[1, -1]]])
    >>> nd.Convolution(x, w, kernel=(2,), num_filter=1, no_bias=True).asnumpy()
    array([[[-1., -2., -4.]]], dtype=float32)
    """
    window = window_of("Convolution", data, kernel, stride, dilate, pad, num_group)
    kernel = per_axis("Convolution", "kernel", kernel, data.ndim - 2, 1, 1)
    _require_layout("Convolution", layout, len(kernel))
    expected = (num_filter, data.shape[1] // max(num_group, 1), *kernel)
    meaning = "(num_filter, channels / num_group, *kernel)"
    _require_fit("Convolution", data, weight, bias, expected, meaning, (num_filter, num_group), no_bias)
    if min(output_lengths(data.shape[2:], kernel, window["stride"], window["dilate"], window["pad"])) < 1:
        raise ShapeError(
            f"Convolution: kernel {kernel} with dilate={window['dilate']} does not fit into data of shape {data.shape} "
            f"with pad={window['pad']}."
        )
    return _with_bias(convolve.forward(data, weight, **window), bias)


def _with_window(gradient: Any) -> Any:
    """Return the rule that calls `gradient` with the data, the weights and the window."""

    def rule(
        ans: Any, data: Any, weight: Any, bias: Any, *, kernel: Any, stride: Any, dilate: Any, pad: Any, num_group: int
    ) -> Any:
        return gradient(data, weight, **window_of("Convolution", data, kernel, stride, dilate, pad, num_group))

    return rule


convolution.def_grad(_with_window(data_gradient), 0)
convolution.def_grad(_with_window(weight_gradient), 1)
convolution.def_grad(lambda ans, data, weight, bias: _bias_gradient, 2)


def _output_length(x: int, kernel: int, stride: int, dilate: int, pad: int, least: int = 1) -> int:
    """Return at how many positions a filter fits on an axis."""
    count: int = derived(lambda length: (length + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1, x)
    if count < least and x != UNKNOWN:
        raise ShapeError(
            f"kernel {kernel} with dilate={dilate} does not fit into an axis of length {x} with pad={pad}."
        )
    return count


def _input_length(x: int, kernel: int, stride: int, dilate: int, pad: int, adj: int = 0) -> int:
    """Return the length of an axis of the data of which a convolution makes `x` positions, with `adj` left over."""
    spread: int = derived(lambda length: (length - 1) * stride + dilate * (kernel - 1) + 1 - 2 * pad + adj, x)
    if spread < 1 and x != UNKNOWN:
        raise ShapeError(f"pad={pad} leaves nothing of an axis of {x} positions of a kernel of length {kernel}.")
    return spread


@convolution.def_infer_shape
def _convolution_shapes(
    inputs: Any, outputs: Any, *, kernel: Any, num_filter: int, stride: Any, dilate: Any, pad: Any, num_group: int
) -> Any:
    axes, data, result = _axes("Convolution", inputs[0], outputs[0], kernel, stride, dilate, pad)
    kernel = tuple(axis[0] for axis in axes)
    weight = merge_shapes(inputs[1], (num_filter, UNKNOWN, *kernel)) or ()
    batch = merge_lengths(data[0], result[0])
    channels = merge_lengths(data[1], derived(lambda n: n * num_group, weight[1]))
    lengths = tuple(
        merge_lengths(x, _input_length(y, *axis)) if axis[1] == 1 else x
        for x, y, axis in zip(data[2:], result[2:], axes, strict=True)
    )
    data = (batch, channels, *lengths)
    if channels != UNKNOWN:
        _require_groups("Convolution", data, num_filter, num_group)
    weight = (num_filter, derived(lambda n: n // num_group, channels), *kernel)
    result = (batch, num_filter, *(_output_length(x, *axis) for x, axis in zip(lengths, axes, strict=True)))
    return [data, weight, *[(num_filter,)] * (len(inputs) - 2)], [result]


def _axes(
    name: str, data: Any, result: Any, kernel: Any, stride: Any, dilate: Any, pad: Any
) -> tuple[list[tuple[int, int, int, int]], Ints, Ints]:
    """Return (kernel, stride, dilate, pad) of each axis, and the shapes of data and result with as many axes."""
    count = 1 if isinstance(kernel, int) else len(kernel)
    if count not in LAYOUTS:
        raise ShapeError(f"{name}: kernel is {kernel}; expected 1 to 3 numbers.")
    if data is not None and len(data) != count + 2:
        raise wrong_axes("", data, axes_of_layout(LAYOUTS[count]))
    window = (("kernel", kernel, 1, 1), ("stride", stride, 1, 1), ("dilate", dilate, 1, 1), ("pad", pad, 0, 0))
    values = [per_axis(name, attribute, value, count, default, least) for attribute, value, default, least in window]
    return list(zip(*values, strict=True)), with_axes(data, count + 2), with_axes(result, count + 2)


# The attributes of a deconvolution that say what it computes.
_WINDOW_ATTRIBUTES = ("kernel", "stride", "dilate", "pad", "adj", "target_shape", "num_group")


def transposed_window(
    data: Any, kernel: Any, stride: Any, dilate: Any, pad: Any, adj: Any, target_shape: Any, num_group: int
) -> dict[str, Any]:
    """Return the window of the convolution whose gradient a deconvolution is, and the lengths of its data.

    A `target_shape` takes the place of pad and adj: what is too much is cut off at both ends, the odd one at the front.
    """
    name = "Deconvolution"
    window = window_of(name, data, kernel, stride, dilate, pad, num_group)
    count = np.ndim(data) - 2
    kernel = per_axis(name, "kernel", kernel, count, 1, 1)
    steps = tuple(zip(np.shape(data)[2:], window["stride"], window["dilate"], kernel, strict=True))
    full = tuple((x - 1) * s + d * (k - 1) + 1 for x, s, d, k in steps)
    target = per_axis(name, "target_shape", target_shape, count, 0, 0)
    if any(target):
        surplus = tuple(have - want for have, want in zip(full, target, strict=True))
        if min(surplus) < 0 or not all(target):
            raise ShapeError(
                f"Deconvolution: target_shape is {target}; expected between 1 and {full}, which is the result without "
                f"pad for data of shape {np.shape(data)} with kernel={kernel}, stride={window['stride']}."
            )
        pad, adj = tuple((number + 1) // 2 for number in surplus), tuple(number % 2 for number in surplus)
    else:
        pad, adj = window["pad"], per_axis(name, "adj", adj, count, 0, 0)
    if any(a >= s for a, s in zip(adj, window["stride"], strict=True)):
        raise ShapeError(
            f"Deconvolution: {'target_shape asks for ' if any(target) else ''}adj={adj} with "
            f"stride={window['stride']}; each number of adj must be smaller than the stride."
        )
    lengths = tuple(have - 2 * p + a for have, p, a in zip(full, pad, adj, strict=True))
    if min(lengths) < 1:
        raise ShapeError(
            f"Deconvolution: pad={pad} leaves nothing of data {np.shape(data)} with kernel={kernel}: the result would "
            f"have the lengths {lengths}."
        )
    return {**window, "pad": pad, "lengths": lengths}


@operator(name="Deconvolution", optional_inputs={"bias": lambda attributes: not attributes.get("no_bias", True)})
def deconvolution(
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    adj: tuple[int, ...] = (),
    target_shape: tuple[int, ...] = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> np.ndarray:
    """Return the transposed convolution: what the gradient of `Convolution` does to its upstream gradient.

    {data_parameter}
        Of shape (batch, channels, ...), with one to three axes after the channels.
    weight : NDArray
        Of shape (channels, num_filter / num_group, *kernel).
    bias : NDArray, optional
        Of shape (num_filter,), with no_bias=False.
    kernel, stride, dilate, pad : tuple of int
        Those of the convolution that this one undoes: `stride` spreads the data, `pad` cuts off the result's ends.
    adj : tuple of int
        How many positions are added at the end of each axis; less than the stride.
    target_shape : tuple of int
        Lengths of the result; pad and adj are then found from it, and what is given for them is not used.
    num_filter : int
        Number of channels of the result.
    num_group : int
        Channels and filters are split into so many groups.
    no_bias : bool
        Whether there is no bias, which is the default.
    layout : str, optional
        'NCW', 'NCHW' or 'NCDHW', which is what the arrays have.
    workspace, cudnn_tune, cudnn_off
        Accepted and not used.

    {returns_array}
        Of shape (batch, num_filter, ...), with (x - 1) * stride + dilate * (kernel - 1) + 1 - 2 * pad + adj positions
        along an axis of length x.

    {raises_shape_error}
        If the arrays or attributes do not fit each other.
    ArgumentError
        If the bias is missing, or given with `no_bias`; for another layout.

    {examples}
    >>> x, w = nd.array([[[1, 2]]]), nd.array([[[1, 10, 100]]])
    >>> nd.Deconvolution(x, w, kernel=(3,), stride=(2,), num_filter=1).asnumpy()
    array([[[  1.,  10., 102.,  20., 200.]]], dtype=float32)
    """
    window = transposed_window(data, kernel, stride, dilate, pad, adj, target_shape, num_group)
    kernel = per_axis("Deconvolution", "kernel", kernel, data.ndim - 2, 1, 1)
    _require_layout("Deconvolution", layout, len(kernel))
    expected = (data.shape[1], num_filter // max(num_group, 1), *kernel)
    meaning = "(channels, num_filter / num_group, *kernel)"
    _require_fit("Deconvolution", data, weight, bias, expected, meaning, (num_filter, num_group), no_bias)
    return _with_bias(convolve_data.forward(data, weight, **window), bias)


@deconvolution.def_grad(argnum=0)
def _deconvolution_data_gradient(ans: Any, data: Any, weight: Any, bias: Any, **attributes: Any) -> Any:
    window = transposed_window(data, **{name: attributes[name] for name in _WINDOW_ATTRIBUTES})
    del window["lengths"]
    return lambda g: convolve(g, weight, **window)


@deconvolution.def_grad(argnum=1)
def _deconvolution_weight_gradient(ans: Any, data: Any, weight: Any, bias: Any, **attributes: Any) -> Any:
    window = transposed_window(data, **{name: attributes[name] for name in _WINDOW_ATTRIBUTES})
    return transposed_weight_gradient(ans, data, weight, **window)


deconvolution.def_grad(lambda ans, data, weight, bias: _bias_gradient, argnum=2)


@deconvolution.def_infer_shape
def _deconvolution_shapes(
    inputs: Any,
    outputs: Any,
    *,
    kernel: Any,
    num_filter: int,
    stride: Any,
    dilate: Any,
    pad: Any,
    adj: Any,
    target_shape: Any,
    num_group: int,
) -> Any:
    axes, data, result = _axes("Deconvolution", inputs[0], outputs[0], kernel, stride, dilate, pad)
    kernel = tuple(axis[0] for axis in axes)
    batch = merge_lengths(data[0], result[0])
    weight = merge_shapes(inputs[1], (data[1], num_filter // max(num_group, 1), *kernel)) or ()
    lengths = per_axis("Deconvolution", "target_shape", target_shape, len(axes), 0, 0)
    inner = data[2:]
    if not any(lengths):
        extra = per_axis("Deconvolution", "adj", adj, len(axes), 0, 0)
        inner = tuple(
            merge_lengths(x, _output_length(y if y == UNKNOWN else y - a, *axis, least=0))
            for x, y, a, axis in zip(inner, result[2:], extra, axes, strict=True)
        )
        lengths = tuple(_input_length(x, *axis, a) for x, a, axis in zip(inner, extra, axes, strict=True))
    data = (batch, weight[0], *inner)
    if data[1] != UNKNOWN:
        _require_groups("Deconvolution", data, num_filter, num_group)
    return [data, weight, *[(num_filter,)] * (len(inputs) - 2)], [(batch, num_filter, *lengths)]


convolution.saved_aliases = frozenset({"Convolution_v1"})
for _operator in (convolution, deconvolution):
    _operator.category = "product"
    _operator.caption = lambda attributes: (
        f"{joined(attributes['kernel'])}/{joined(attributes.get('stride') or (1,))}, {attributes['num_filter']}"
    )
