"""Convolutions whose filters take each of their elements from a place of its own, which is computed: an offset.

`DeformableConvolution` (Dai et al., Deformable Convolutional Networks, 2017) and `ModulatedDeformableConvolution` (Zhu
et al., Deformable ConvNets v2, 2018), where each element also has a factor. The elements are samples of the image,
between its points; all samples of all positions make the columns of one product with the filters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ShapeError
from minpy.ops.composed import Composed
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import derived, merge_lengths, with_axes
from minpy.ops.kernels.im2col import output_lengths
from minpy.ops.kernels.matrix_products import matmul
from minpy.ops.kernels.sampling import clamped_taps, gather_rows, pixels, taps
from minpy.ops.nn.convolution import per_axis
from minpy.ops.registry import operator

__all__ = ["deformable_convolution", "modulated_deformable_convolution"]

Ints = tuple[int, ...]


class _Window(NamedTuple):
    """What a filter covers, and what surrounds it."""

    name: str
    kernel: Ints
    stride: Ints
    dilate: Ints
    pad: Ints
    num_filter: int
    num_group: int
    num_deformable_group: int
    taps_of: Callable[[Any, int], tuple[Any, ...]]


def _window(attributes: Mapping[str, Any], modulated: bool) -> _Window:
    """Return what the attributes of one of the two operators say."""
    name = "ModulatedDeformableConvolution" if modulated else "DeformableConvolution"
    return _Window(
        name,
        per_axis(name, "kernel", attributes["kernel"], 2, 1, 1),
        per_axis(name, "stride", attributes["stride"], 2, 1, 1),
        per_axis(name, "dilate", attributes["dilate"], 2, 1, 1),
        per_axis(name, "pad", attributes["pad"], 2, 0, 0),
        attributes["num_filter"],
        attributes["num_group"],
        attributes["num_deformable_group"],
        # Else what lies beyond the last point, by less than one, counts as that point.
        taps if modulated else lambda at, length: clamped_taps(at, length, np.logical_and(at >= 0, at < length)),
    )


def _expected(data: Ints, window: _Window) -> dict[str, Ints]:
    """Return the shapes that the inputs beside the data must have."""
    name, groups = window.name, window.num_deformable_group
    batch, channels, height, width = data
    if window.num_group < 1 or groups < 1 or channels % window.num_group or channels % groups:
        raise ShapeError(
            f"{name}: num_group is {window.num_group} and num_deformable_group {groups}; both must divide the "
            f"{channels} channels of data {data}."
        )
    if window.num_filter < 1 or window.num_filter % window.num_group:
        raise ShapeError(
            f"{name}: num_filter is {window.num_filter}; expected a multiple of {window.num_group}, num_group."
        )
    out_height, out_width = output_lengths((height, width), window.kernel, window.stride, window.dilate, window.pad)
    if min(out_height, out_width) < 1:
        raise ShapeError(
            f"{name}: kernel {window.kernel} with dilate={window.dilate} does not fit into data of shape {data} with "
            f"pad={window.pad}."
        )
    size = window.kernel[0] * window.kernel[1]
    return {
        "offset": (batch, groups * size * 2, out_height, out_width),
        "mask": (batch, groups * size, out_height, out_width),
        "weight": (window.num_filter, channels // window.num_group, *window.kernel),
        "bias": (window.num_filter,),
    }


_MEANING = {
    "offset": "(batch, num_deformable_group * kernel height * kernel width * 2, positions down, positions across)",
    "mask": "(batch, num_deformable_group * kernel height * kernel width, positions down, positions across)",
    "weight": "(num_filter, channels / num_group, *kernel)",
    "bias": "(num_filter,)",
}


def _require_fit(data: Any, window: _Window, no_bias: bool, layout: str | None, **arrays: Any) -> None:
    """Raise unless all inputs have the shapes that the data and the attributes ask for."""
    name = window.name
    if layout not in (None, "NCHW"):
        raise ArgumentError(f"{name}: layout is {layout!r}; expected 'NCHW'.")
    if np.ndim(data) != 4:
        raise ShapeError(f"{name}: data has shape {np.shape(data)}; expected (batch, channels, height, width).")
    bias = arrays.pop("bias")
    if (bias is None) != bool(no_bias):
        problem = "is missing; give it, or pass no_bias=True" if bias is None else "is given together with no_bias=True"
        raise ArgumentError(f"{name}: bias {problem}.")
    expected = _expected(np.shape(data), window)
    for argument, array in {**arrays, **({} if bias is None else {"bias": bias})}.items():
        if np.shape(array) != expected[argument]:
            raise ShapeError(
                f"{name}: {argument} has shape {np.shape(array)}; expected {expected[argument]}, which is "
                f"{_MEANING[argument]}, for data of shape {np.shape(data)}."
            )


# -- samples -----------------------------------------------------------------------------------------------------------


def _samples(shape: Ints, offset: Any, window: _Window) -> tuple[Any, Any]:
    """Return the pixels round each sample, and their weights: (samples, 4) each.

    Samples lie in the order (batch, down, across, element of the filter, deformable group), and a pixel's row holds the
    channels of one group.
    """
    batch, _, height, width = shape
    groups, kernel = window.num_deformable_group, window.kernel
    out_height, out_width = np.shape(offset)[2:]
    size = kernel[0] * kernel[1]
    compute_dtype = np.promote_types(offset.dtype, np.float32)
    split = np.reshape(offset.astype(compute_dtype), (batch, groups, size, 2, out_height, out_width))
    offsets = np.transpose(split, (3, 0, 4, 5, 2, 1))
    stride, dilate, pad = window.stride, window.dilate, window.pad
    elements_down = np.repeat(np.arange(kernel[0]), kernel[1]) * dilate[0]
    elements_across = np.tile(np.arange(kernel[1]), kernel[0]) * dilate[1]
    starts_down, starts_across = np.arange(out_height) * stride[0] - pad[0], np.arange(out_width) * stride[1] - pad[1]
    base_down = (starts_down[:, None, None, None] + elements_down[:, None]).astype(compute_dtype)
    base_across = (starts_across[:, None, None] + elements_across[:, None]).astype(compute_dtype)
    rows, down = window.taps_of(offsets[0] + base_down, height)[:2]
    columns, across = window.taps_of(offsets[1] + base_across, width)[:2]
    image_offsets = np.reshape(np.arange(batch) * height, (batch, 1, 1, 1, 1, 1))
    places = np.expand_dims((rows + image_offsets) * width, -1) + np.expand_dims(columns, -2)
    places = places * groups + np.reshape(np.arange(groups), (groups, 1, 1))
    weights = np.expand_dims(down, -1) * np.expand_dims(across, -2)
    count = batch * out_height * out_width * size * groups
    return np.reshape(places, (count, 4)), np.reshape(weights, (count, 4))


def _flat_mask(mask: Any, window: _Window) -> Any:
    """Return the factor of each sample, as a column."""
    batch, channels, out_height, out_width = np.shape(mask)
    size = window.kernel[0] * window.kernel[1]
    split = np.reshape(mask, (batch, window.num_deformable_group, size, out_height, out_width))
    return np.reshape(np.transpose(split, (0, 3, 4, 2, 1)), (batch * channels * out_height * out_width, 1))


def _columns(rows: Any, positions: int, channels: int, window: _Window) -> Any:
    """Return the samples as matrices to multiply with the filters, (groups, positions, elements * channels)."""
    size, groups = window.kernel[0] * window.kernel[1], window.num_group
    if groups == 1:
        return np.reshape(rows, (1, positions, size * channels))
    split = np.reshape(rows, (positions, size, groups, channels // groups))
    return np.reshape(np.transpose(split, (2, 0, 1, 3)), (groups, positions, size * (channels // groups)))


def _filters(weight: Any, window: _Window) -> Any:
    """Return the filters as matrices, (groups, elements * channels, filters)."""
    count, channels, kernel_height, kernel_width = np.shape(weight)
    groups = window.num_group
    split = np.reshape(weight, (groups, count // groups, channels, kernel_height * kernel_width))
    return np.reshape(
        np.transpose(split, (0, 3, 2, 1)), (groups, kernel_height * kernel_width * channels, count // groups)
    )


def _convolved(data: Any, offset: Any, mask: Any, weight: Any, bias: Any, window: _Window) -> Any:
    shape, (out_height, out_width) = np.shape(data), np.shape(offset)[2:]
    positions, count = shape[0] * out_height * out_width, window.num_filter
    places, weights = _samples(shape, offset, window)
    weights = weights if mask is None else weights * _flat_mask(mask, window)
    by_groups = np.reshape(pixels(data), (-1, shape[1] // window.num_deformable_group))
    rows = gather_rows(by_groups, weights.astype(data.dtype), places)
    product = matmul(_columns(rows, positions, shape[1], window), _filters(weight, window))
    split = np.reshape(product, (window.num_group, shape[0], out_height, out_width, count // window.num_group))
    result = np.reshape(np.transpose(split, (1, 0, 4, 2, 3)), (shape[0], count, out_height, out_width))
    return result if bias is None else result + np.reshape(bias, (count, 1, 1))


# -- the operators -----------------------------------------------------------------------------------------------------

_OPTIONS: dict[str, Any] = {
    "kind": Composed,
    "optional_inputs": {"bias": lambda attributes: not attributes.get("no_bias", False)},
    "category": "product",
}
_PARAMETERS = """
    weight : NDArray
        Of shape (num_filter, channels / num_group, *kernel).
    bias : NDArray, optional
        Of shape (num_filter,); left out if `no_bias`.
    kernel : tuple of int
        Height and width of a filter.
    stride, dilate, pad : tuple of int
        As for `Convolution`.
    num_filter : int
        Number of filters.
    num_group : int
        Channels and filters are split into so many groups, and each group of filters sees its group of channels.
    num_deformable_group : int
    """


@operator(name="_contrib_DeformableConvolution", **_OPTIONS)
@documented(parameters=_PARAMETERS)
def deformable_convolution(
    data: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    num_filter: int,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: str | None = None,
) -> np.ndarray:
    """Return the convolution of images with filters whose elements are moved by offsets.

    An element that is moved beyond the last row (or column) by less than a point counts as that row; further away, and
    in front of the first, it is zero.

    {data_parameter}
        Of shape (batch, channels, height, width).
    offset : NDArray
        Of shape (batch, num_deformable_group * kernel height * kernel width * 2, positions down, positions across): by
        how many points each element of the filter is moved at each position, down and across.
    {parameters}
        Channels are split into so many groups, each with offsets of its own.
    no_bias : bool
        Whether there is no bias.
    layout : str, optional
        'NCHW', which is what the arrays have.
    workspace : int
        Accepted and not used.

    {returns_array}
        Of shape (batch, num_filter, positions down, positions across).

    {raises_shape_error}
        If the arrays or attributes do not fit each other.
    ArgumentError
        If the bias is missing, or given with `no_bias`; for another layout.

    {examples}
    >>> x, w = nd.array([[[[1, 2, 4, 8]]]]), nd.ones((1, 1, 1, 1))
    >>> right = nd.array([[[[0, 0, 0, 0]], [[0.5, 1, 1, -3]]]])
    >>> nd.contrib.DeformableConvolution(x, right, w, kernel=(1, 1), num_filter=1, no_bias=True).asnumpy()
    array([[[[1.5, 4. , 8. , 1. ]]]], dtype=float32)
    """
    attributes = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "num_filter": num_filter}
    groups = {"num_group": num_group, "num_deformable_group": num_deformable_group}
    window = _window({**attributes, **groups}, False)
    _require_fit(data, window, no_bias, layout, offset=offset, weight=weight, bias=bias)
    return _convolved(data, offset, None, weight, bias, window)


@operator(name="_contrib_ModulatedDeformableConvolution", **_OPTIONS)
@documented(parameters=_PARAMETERS)
def modulated_deformable_convolution(
    data: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
    num_filter: int,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: str | None = None,
) -> np.ndarray:
    """Return the convolution of images with filters whose elements are moved by offsets and multiplied with factors.

    Around the image there are zeros.

    {data_parameter}
        Of shape (batch, channels, height, width).
    offset : NDArray
        Of shape (batch, num_deformable_group * kernel height * kernel width * 2, positions down, positions across): by
        how many points each element of the filter is moved at each position, down and across.
    mask : NDArray
        The factors, of shape (batch, num_deformable_group * kernel height * kernel width, positions down, positions
        across).
    {parameters}
        Channels are split into so many groups, each with offsets and factors of its own.
    no_bias : bool
        Whether there is no bias.
    layout : str, optional
        'NCHW', which is what the arrays have.
    workspace, im2col_step
        Accepted and not used.

    {returns_array}
        Of shape (batch, num_filter, positions down, positions across).

    {raises_shape_error}
        If the arrays or attributes do not fit each other.
    ArgumentError
        If the bias is missing, or given with `no_bias`; for another layout.

    {examples}
    >>> x, w = nd.array([[[[1, 2, 4, 8]]]]), nd.ones((1, 1, 1, 1))
    >>> right, half = nd.array([[[[0, 0, 0, 0]], [[0.5, 1, 1, -3]]]]), nd.full((1, 1, 1, 4), 0.5)
    >>> options = {'kernel': (1, 1), 'num_filter': 1, 'no_bias': True}
    >>> nd.contrib.ModulatedDeformableConvolution(x, right, half, w, **options).asnumpy()
    array([[[[0.75, 2.  , 4.  , 0.5 ]]]], dtype=float32)
    """
    attributes = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "num_filter": num_filter}
    groups = {"num_group": num_group, "num_deformable_group": num_deformable_group}
    window = _window({**attributes, **groups}, True)
    _require_fit(data, window, no_bias, layout, offset=offset, mask=mask, weight=weight, bias=bias)
    return _convolved(data, offset, mask, weight, bias, window)


# -- shapes ------------------------------------------------------------------------------------------------------------


def _shapes(inputs: Shapes, outputs: Shapes, window: _Window, names: list[str]) -> tuple[Shapes, Shapes]:
    data = with_axes(inputs[0], 4)
    result = with_axes(merge_shapes(outputs[0], (UNKNOWN, window.num_filter, UNKNOWN, UNKNOWN)), 4)
    weight = merge_shapes(inputs[names.index("weight")], (window.num_filter, UNKNOWN, *window.kernel)) or ()
    batch = merge_lengths(data[0], result[0])
    channels = merge_lengths(data[1], derived(lambda n: n * window.num_group, weight[1]))
    placeholder = 1 << 20  # in place of what is not known: the shapes that depend on it are not said then
    assumed = tuple(placeholder if length == UNKNOWN else length for length in data[2:])
    divisible = window.num_group * window.num_deformable_group if channels == UNKNOWN else channels
    expected = _expected((batch, divisible, *assumed), window)
    size = [UNKNOWN if x == UNKNOWN else n for x, n in zip(data[2:], expected["offset"][2:], strict=True)]
    shapes: list[Any] = [(batch, channels, *data[2:])]
    for name in names[1:]:
        shape = expected[name]
        if name in ("offset", "mask"):
            shape = (batch, shape[1], *size)
        elif name == "weight" and channels == UNKNOWN:
            shape = weight
        shapes.append(shape)
    return shapes, [(batch, window.num_filter, *size)]


@deformable_convolution.def_infer_shape
def _plain_shapes(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    return _shapes(inputs, outputs, _window(attributes, False), ["data", "offset", "weight", "bias"][: len(inputs)])


@modulated_deformable_convolution.def_infer_shape
def _modulated_shapes(inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
    names = ["data", "offset", "mask", "weight", "bias"]
    return _shapes(inputs, outputs, _window(attributes, True), names[: len(inputs)])
