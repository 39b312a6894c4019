"""Images with more points: each repeated, or weighted together with its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.inference.partial_shapes import UNKNOWN, PartialShape, merge_shapes
from minpy.ops.inference.rule_parts import derived, with_axes
from minpy.ops.nn.convolution import deconvolution
from minpy.ops.registry import operator

__all__ = ["bilinear_window", "upsampling"]

Ints = tuple[int, ...]


def _require_known(scale: int, sample_type: str, multi_input_mode: str) -> None:
    if scale < 1:
        raise ArgumentError(f"UpSampling: scale is {scale}; expected 1 or more.")
    if sample_type not in ("nearest", "bilinear"):
        raise ArgumentError(f"UpSampling: unknown sample_type {sample_type!r}; expected 'nearest' or 'bilinear'.")
    if multi_input_mode not in ("concat", "sum"):
        raise ArgumentError(f"UpSampling: unknown multi_input_mode {multi_input_mode!r}; expected 'concat' or 'sum'.")


def _factors(shapes: Sequence[Ints], scale: int) -> list[tuple[int, int]]:
    """Return how often each point of each image is repeated, down and across: all become as large as the first."""
    if not shapes or any(len(shape) != 4 for shape in shapes):
        received = ", ".join(map(str, shapes)) or "nothing"
        raise ShapeError(f"UpSampling: got {received}; expected images of shape (batch, channels, height, width).")
    height, width = (length * scale for length in shapes[0][2:])
    for shape in shapes:
        if 0 in shape[2:] or height % shape[2] or width % shape[3]:
            raise ShapeError(
                f"UpSampling: an image of shape {shape} cannot become {height} x {width}, {scale} times the first one."
            )
    return [(height // shape[2], width // shape[3]) for shape in shapes]


def _repeated(data: np.ndarray, down: int, across: int) -> np.ndarray:
    return data.repeat(down, axis=2).repeat(across, axis=3)


def bilinear_window(shape: PartialShape, scale: int) -> dict[str, Any]:
    """Return the attributes of the deconvolution that weights neighbours; there is one filter a channel."""
    channels = shape[1] if shape is not None and len(shape) == 4 else 1
    kernel = 2 * scale - scale % 2
    return {
        "kernel": (kernel, kernel),
        "stride": (scale, scale),
        "pad": (scale // 2, scale // 2),
        "num_filter": channels,
        "num_group": channels,
    }


@operator(name="UpSampling", initializers={"weight": '["bilinear", {}]'}, may_alias=False, category="pooling")
def upsampling(
    *data: np.ndarray,
    scale: int,
    sample_type: Literal["bilinear", "nearest"],
    num_filter: int = 0,
    multi_input_mode: Literal["concat", "sum"] = "concat",
    num_args: int | None = None,
    workspace: int = 512,
) -> np.ndarray:
    """Return images with `scale` times as many points along both axes.

    Parameters
    ----------
    *data : NDArray
        Images of shape (batch, channels, height, width). With 'nearest' several are brought to the same height and
        width, `scale` times those of the first. With 'bilinear' one, and the weights that neighbouring points get, of
        shape (channels, 1, kernel, kernel) with kernel = 2 * scale - scale % 2.
    scale : int
    sample_type : {'nearest', 'bilinear'}
        Whether points are repeated, or weighted together by a transposed convolution.
    multi_input_mode : {'concat', 'sum'}
        Whether several images are joined along their channels, or added.
    num_filter, num_args, workspace
        Accepted and not used.

    {returns_array}

    {raises_shape_error}
        If the images or weights do not fit.
    ArgumentError
        For unknown names, or a scale below 1.

    {examples}
    >>> nd.UpSampling(nd.array([[[[1, 2]]]]), scale=2, sample_type='nearest').asnumpy()
    array([[[[1., 1., 2., 2.],
             [1., 1., 2., 2.]]]], dtype=float32)
    """
    _require_known(scale, sample_type, multi_input_mode)
    shapes = [array.shape for array in data]
    if sample_type == "bilinear":
        if len(data) != 2:
            raise ArgumentError(f"UpSampling: 'bilinear' takes an image and its weights, got {len(data)} input(s).")
        _factors(shapes[:1], scale)
        result: np.ndarray = deconvolution.forward(*data, **bilinear_window(shapes[0], scale))
        return result
    repeated = [_repeated(part, *factors) for part, factors in zip(data, _factors(shapes, scale), strict=True)]
    if len(repeated) == 1:
        return repeated[0]
    if multi_input_mode == "concat":
        return np.concatenate(repeated, axis=1)
    total = repeated[0] + repeated[1]
    for part in repeated[2:]:
        total = total + part
    return total


@upsampling.def_multiple_grad()
def _upsampling_gradients(
    ans: Any, *data: Any, scale: int, sample_type: str, multi_input_mode: str
) -> Callable[[Any], Any]:
    if sample_type == "bilinear":
        rules: Any = deconvolution.rules[:2]
        pullbacks = [rule(ans, *data, **bilinear_window(np.shape(data[0]), scale)) for rule in rules]
        return lambda g: tuple(pullback(g) for pullback in pullbacks)
    shapes = [np.shape(part) for part in data]
    factors = _factors(shapes, scale)
    ends = np.cumsum([shape[1] for shape in shapes]).tolist()

    def gradients(g: Any) -> tuple[Any, ...]:
        if multi_input_mode == "sum":
            cotangents = [g] * len(shapes)
        else:
            cotangents = [g[:, end - shape[1] : end] for end, shape in zip(ends, shapes, strict=True)]
        blocks = [
            np.reshape(part, (*shape[:3], down, shape[3], across))
            for part, shape, (down, across) in zip(cotangents, shapes, factors, strict=True)
        ]
        return tuple(sum_over(block, axis=(3, 5)) for block in blocks)

    return gradients


@upsampling.def_infer_shape
def _upsampling_shapes(
    inputs: Shapes, outputs: Shapes, *, scale: int, sample_type: str, multi_input_mode: str
) -> tuple[Shapes, Shapes]:
    _require_known(scale, sample_type, multi_input_mode)
    first = inputs[0]
    if first is None or any(shape is None for shape in inputs[: 1 if sample_type == "bilinear" else None]):
        return inputs, outputs
    batch, channels, height, width = with_axes(first, 4)
    if sample_type == "bilinear":
        kernel = 2 * scale - scale % 2
        inputs = [first, merge_shapes((channels, 1, kernel, kernel), inputs[1])]
    elif multi_input_mode == "concat":
        counts = [shape[1] for shape in inputs if shape is not None]
        channels = UNKNOWN if UNKNOWN in counts else sum(counts)
    return inputs, [(batch, channels, *(derived(lambda n: n * scale, length) for length in (height, width)))]


def _input_names(attributes: dict[str, Any], count: int | None = None) -> list[str]:
    if attributes.get("sample_type") == "bilinear":
        return ["data", "weight"]
    return [f"arg{index}" for index in range(count or attributes.get("num_args") or 0)]


upsampling.input_names = _input_names
upsampling.saved_attributes = lambda attributes: (  # the weights of 'bilinear' do not count
    {**attributes, "num_args": 1} if attributes.get("sample_type") == "bilinear" else attributes
)
