"""Convolution as products of matrices over columns: the raw kernels, and their three operators.

A convolution is linear in its data and in its weight, so it comes with two relatives: the gradient of the data, and
that of the weight. The derivatives of each of the three are the other two, so three kernels serve every order.

Inside, arrays are stored batch last: (channels, *positions, batch). The elements under one kernel offset are then long
contiguous runs, of which the columns are assembled, and all positions of all examples make up one large product. The
results are views of such arrays with the axes in their places; NumPy's ufuncs keep the order of the memory, so a whole
network stays in it without a copy. Columns are made a block of positions at a time, which stays in the cache.
Kernels of 3 x 3 over many channels go to `minpy.ops.kernels.winograd`, which needs fewer products.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minpy.ops.inference.partial_shapes import PartialShape, is_known
from minpy.ops.kernels import winograd
from minpy.ops.registry import operator

__all__ = [
    "convolve",
    "convolve_data",
    "convolve_weight",
    "data_gradient",
    "output_lengths",
    "transposed_weight_gradient",
    "weight_gradient",
]

Ints = tuple[int, ...]
Shapes = Sequence[PartialShape]

# Bytes of columns that are made at a time, in a buffer that each thread keeps: fresh memory costs more than filling it.
BLOCK = 4 << 20


class _ThreadLocal(threading.local):
    buffer: np.ndarray | None = None


_thread_local = _ThreadLocal()


def _scratch(shape: Ints, dtype: np.dtype) -> np.ndarray:
    """Return an array to work in, until the next call in this thread."""
    size = math.prod(shape) * dtype.itemsize
    if size > BLOCK:
        return np.empty(shape, dtype)
    if _thread_local.buffer is None or _thread_local.buffer.size < BLOCK:
        _thread_local.buffer = np.empty(BLOCK, np.uint8)
    return np.ndarray(shape, dtype, _thread_local.buffer)


def output_lengths(lengths: Ints, kernel: Ints, stride: Ints, dilate: Ints, pad: Ints) -> Ints:
    """Return how many positions a kernel takes along each axis.

    Examples
    --------
    >>> output_lengths((28, 28), (5, 5), (1, 1), (1, 1), (0, 2))
    (24, 28)
    """
    axes = zip(lengths, kernel, stride, dilate, pad, strict=True)
    return tuple((x + 2 * p - d * (k - 1) - 1) // s + 1 for x, k, s, d, p in axes)


def _in_compute_dtype(*arrays: np.ndarray) -> tuple[np.dtype, list[np.ndarray]]:
    """Return the dtype of the result, and the arrays in the dtype to compute in."""
    result = np.result_type(*arrays)
    working = np.promote_types(result, np.float32) if result.itemsize == 2 else result
    return result, [array.astype(working, copy=False) for array in arrays]


def _batch_last_view(array: np.ndarray) -> np.ndarray:
    """Return an array of shape (batch, channels, ...) as a view of shape (channels, ..., batch)."""
    return array.transpose(*range(1, array.ndim), 0)


def _batch_last(array: np.ndarray, pad: Ints = ()) -> np.ndarray:
    """Return an array of shape (batch, channels, ...) as a contiguous one of shape (channels, ..., batch)."""
    turned = _batch_last_view(array)
    if not any(pad):
        return np.ascontiguousarray(turned)
    lengths = turned.shape[1:-1]
    padded = np.zeros(
        (len(turned), *(x + 2 * p for x, p in zip(lengths, pad, strict=True)), turned.shape[-1]), array.dtype
    )
    padded[(slice(None), *(slice(p, p + x) for x, p in zip(lengths, pad, strict=True)))] = turned
    return padded


def _batch_first(array: np.ndarray) -> np.ndarray:
    """Return an array of shape (channels, ..., batch) as a view of shape (batch, channels, ...)."""
    return array.transpose(-1, *range(array.ndim - 1))


def _is_identity(kernel: Ints, stride: Ints) -> bool:
    """Tell whether the columns are the data itself."""
    return all(k == 1 for k in kernel) and all(s == 1 for s in stride)


def _blocks(height: int, positions: Ints, batch: int, itemsize: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) of the positions along the first axis whose columns are made together."""
    row = max(1, height * math.prod(positions[1:]) * batch * itemsize)
    count = max(1, BLOCK // row)
    for first in range(0, positions[0], count):
        yield first, min(first + count, positions[0])


def _columns(
    data: np.ndarray, kernel: Ints, positions: Ints, stride: Ints, dilate: Ints, num_group: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (which columns, the columns), of shape (groups, height, count). The next ones may overwrite them."""
    channels, batch = len(data), data.shape[-1]
    height = channels * math.prod(kernel)
    stride_of_first = math.prod(positions[1:]) * batch
    if _is_identity(kernel, stride):
        yield slice(0, positions[0] * stride_of_first), data.reshape(num_group, height // num_group, -1)
        return
    inner = data.strides[1:-1]
    windows: np.ndarray = np.ndarray(
        (channels, *kernel, *positions, batch),
        data.dtype,
        data,
        strides=(
            data.strides[0],
            *(step * d for step, d in zip(inner, dilate, strict=True)),
            *(step * s for step, s in zip(inner, stride, strict=True)),
            data.strides[-1],
        ),
    )
    leading = (slice(None),) * (1 + len(kernel))
    for first, end in _blocks(height, positions, batch, data.itemsize):
        buffer = _scratch((channels, *kernel, end - first, *positions[1:], batch), data.dtype)
        np.copyto(buffer, windows[(*leading, slice(first, end))])
        yield slice(first * stride_of_first, end * stride_of_first), buffer.reshape(num_group, height // num_group, -1)


@operator(name="_convolution", public=False)
def convolve(data: Any, weight: Any, *, stride: Ints, dilate: Ints, pad: Ints, num_group: int) -> Any:
    """Return the convolution of (N, C, *lengths) with (F, C / groups, *kernel): of shape (N, F, *positions)."""
    dtype, (data, weight) = _in_compute_dtype(data, weight)
    window = {"stride": stride, "dilate": dilate, "pad": pad, "num_group": num_group}
    kernel, count = weight.shape[2:], len(weight)
    positions = output_lengths(data.shape[2:], kernel, stride, dilate, pad)
    if winograd.pays(window, weight.shape, data.dtype, positions, len(data)):
        return _batch_first(winograd.correlate(_batch_last_view(data), weight, positions, pad)).astype(
            dtype, copy=False
        )
    matrix = weight.reshape(num_group, count // num_group, -1)
    result = np.empty((num_group, count // num_group, math.prod(positions) * len(data)), data.dtype)
    if result.size:
        for chosen, columns in _columns(_batch_last(data, pad), kernel, positions, stride, dilate, num_group):
            np.matmul(matrix, columns, out=result[:, :, chosen])
    return _batch_first(result.reshape(count, *positions, len(data))).astype(dtype, copy=False)


@operator(name="_convolution_data", public=False)
def convolve_data(
    gradient: Any, weight: Any, *, lengths: Ints, stride: Ints, dilate: Ints, pad: Ints, num_group: int
) -> Any:
    """Return the gradient of a convolution's data, of the given `lengths`: each product goes back to its place."""
    dtype, (gradient, weight) = _in_compute_dtype(gradient, weight)
    window = {"stride": stride, "dilate": dilate, "pad": pad, "num_group": num_group}
    kernel, positions, batch = weight.shape[2:], gradient.shape[2:], len(gradient)
    channels = weight.shape[1] * num_group
    if max(pad) <= 2 and winograd.pays(window, weight.shape, gradient.dtype, lengths, batch):
        full_pad = tuple(2 - p for p in pad)
        turned = winograd.correlate(_batch_last_view(gradient), weight, lengths, full_pad, transposed=True)
        return _batch_first(turned).astype(dtype, copy=False)
    matrix = weight.reshape(num_group, len(weight) // num_group, -1).transpose(0, 2, 1)
    upstream = _batch_last(gradient).reshape(num_group, len(weight) // num_group, -1)
    if _is_identity(kernel, stride) and not any(pad) and positions == lengths:
        return _batch_first(np.matmul(matrix, upstream).reshape(channels, *lengths, batch)).astype(dtype, copy=False)
    padded = tuple(x + 2 * p for x, p in zip(lengths, pad, strict=True))
    padded_data = np.zeros((channels, *padded, batch), gradient.dtype)
    inner = math.prod(positions[1:]) * batch
    for first, end in _blocks(channels * math.prod(kernel), positions, batch, padded_data.itemsize):
        columns = _scratch((channels, *kernel, end - first, *positions[1:], batch), padded_data.dtype)
        products = columns.reshape(num_group, matrix.shape[1], -1)
        np.matmul(matrix, upstream[:, :, first * inner : end * inner], out=products)
        firsts, counts = (first, *(0,) * (len(kernel) - 1)), (end - first, *positions[1:])
        for offset in itertools.product(*map(range, kernel)):
            starts = [o * d + f * s for o, d, f, s in zip(offset, dilate, firsts, stride, strict=True)]
            places = [slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, counts, stride, strict=True)]
            at: Any = (slice(None), *offset)
            padded_data[(slice(None), *places)] += columns[at]
    if any(pad):
        padded_data = padded_data[(slice(None), *(slice(p, p + x) for x, p in zip(lengths, pad, strict=True)))]
    return _batch_first(padded_data).astype(dtype, copy=False)


@operator(name="_convolution_weight", public=False)
def convolve_weight(
    data: Any, gradient: Any, *, kernel: Ints, stride: Ints, dilate: Ints, pad: Ints, num_group: int
) -> Any:
    """Return the gradient of a convolution's weight: products of the columns and the upstream gradient."""
    dtype, (data, gradient) = _in_compute_dtype(data, gradient)
    window = {"stride": stride, "dilate": dilate, "pad": pad, "num_group": num_group}
    count, positions = gradient.shape[1], gradient.shape[2:]
    if winograd.pays(window, (count, data.shape[1], *kernel), data.dtype, positions, len(data)):
        return winograd.weight_gradient(_batch_last_view(data), _batch_last_view(gradient), pad).astype(
            dtype, copy=False
        )
    upstream = _batch_last(gradient).reshape(num_group, count // num_group, -1).transpose(0, 2, 1)
    total = np.zeros((num_group, data.shape[1] // num_group * math.prod(kernel), count // num_group), data.dtype)
    for chosen, columns in _columns(_batch_last(data, pad), kernel, positions, stride, dilate, num_group):
        total += np.matmul(columns, upstream[:, chosen])
    shape = (count, data.shape[1] // num_group, *kernel)
    return np.ascontiguousarray(total.transpose(0, 2, 1)).reshape(shape).astype(dtype, copy=False)


def data_gradient(data: Any, weight: Any, **window: Any) -> Any:
    """Return the function from the gradient of a convolution to that of its data."""
    lengths = np.shape(data)[2:]
    return lambda g: convolve_data(g, weight, lengths=lengths, **window)


def weight_gradient(data: Any, weight: Any, **window: Any) -> Any:
    """Return the function from the gradient of a convolution to that of its weight."""
    kernel = np.shape(weight)[2:]
    return lambda g: convolve_weight(data, g, kernel=kernel, **window)


convolve.def_grad(lambda ans, data, weight, **window: data_gradient(data, weight, **window), argnum=0)
convolve.def_grad(lambda ans, data, weight, **window: weight_gradient(data, weight, **window), argnum=1)


# Shapes are inferred, so that tracing gradient rules convolves nothing.


@convolve.def_infer_shape
def _shape_of_convolution(
    inputs: Shapes, outputs: Shapes, *, stride: Ints, dilate: Ints, pad: Ints, num_group: int
) -> tuple[Shapes, Shapes]:
    data, weight = inputs
    if data is None or weight is None or not (is_known(data) and is_known(weight)):
        return inputs, outputs
    positions = output_lengths(data[2:], weight[2:], stride, dilate, pad)
    return inputs, [(data[0], weight[0], *positions)]


@convolve_data.def_infer_shape
def _shape_of_data(
    inputs: Shapes, outputs: Shapes, *, lengths: Ints, num_group: int, **window: Any
) -> tuple[Shapes, Shapes]:
    gradient, weight = inputs
    if gradient is None or weight is None or not (is_known(gradient) and is_known(weight)):
        return inputs, outputs
    return inputs, [(gradient[0], weight[1] * num_group, *lengths)]


@convolve_weight.def_infer_shape
def _shape_of_weight(
    inputs: Shapes, outputs: Shapes, *, kernel: Ints, num_group: int, **window: Any
) -> tuple[Shapes, Shapes]:
    data, gradient = inputs
    if data is None or gradient is None or not (is_known(data) and is_known(gradient)):
        return inputs, outputs
    return inputs, [(gradient[1], data[1] // num_group, *kernel)]


@convolve_data.def_grad(argnum=0)
def _data_upstream_gradient(ans: Any, gradient: Any, weight: Any, *, lengths: Ints, **window: Any) -> Any:
    return lambda h: convolve(h, weight, **window)


@convolve_data.def_grad(argnum=1)
def transposed_weight_gradient(ans: Any, gradient: Any, weight: Any, *, lengths: Ints, **window: Any) -> Any:
    """Return the function from the gradient of `convolve_data` to that of its weight."""
    kernel = np.shape(weight)[2:]
    return lambda h: convolve_weight(h, gradient, kernel=kernel, **window)


@convolve_weight.def_grad(argnum=0)
def _weight_data_gradient(ans: Any, data: Any, gradient: Any, *, kernel: Ints, **window: Any) -> Any:
    lengths = np.shape(data)[2:]
    return lambda h: convolve_data(gradient, h, lengths=lengths, **window)


@convolve_weight.def_grad(argnum=1)
def _weight_upstream_gradient(ans: Any, data: Any, gradient: Any, *, kernel: Ints, **window: Any) -> Any:
    return lambda h: convolve(data, h, **window)
