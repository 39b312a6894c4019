"""Shapes and dtypes of outputs that operators have in MXNet's files, and that callers do not see.

They are what backward reads there: means, masks, positions. Nobody computes them here, but who is told the shapes of
all outputs of a node, as partitioners are, counts on there being as many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.graph.ir import Node

__all__ = ["hidden_outputs"]

Shape = tuple[int, ...]
Shapes = Sequence[Any]
Attribute = Callable[[str], Any]  # `attribute(name)` is that of the call, or its default
Rule = Callable[[Shapes, Shapes, Attribute], Sequence[Shape]]

_POSITIONS = numpy.dtype("int32")


def _without(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return a shape with some axes of length 1."""
    axes = [axis % len(shape) for axis in axes]
    return tuple(1 if axis in axes else length for axis, length in enumerate(shape))


def _statistics_of_channels(inputs: Shapes, outputs: Shapes, attribute: Attribute) -> list[Shape]:
    axis = attribute("axis")
    return [(outputs[0][1 if axis is None else axis],)] * 2


def _norms(inputs: Shapes, outputs: Shapes, attribute: Attribute) -> list[Shape]:
    mode = attribute("mode")
    if mode == "channel":
        return [_without(outputs[0], [1])]
    return [outputs[0][: 2 if mode == "spatial" else 1]]


def _padded_pictures(inputs: Shapes, outputs: Shapes, attribute: Attribute) -> list[Shape]:
    count, channels, height, width = inputs[0]
    padding = 2 * (attribute("pad_size") or 0)
    return [(count, height + padding, width + padding, channels)] * 2


def _grid(inputs: Shapes, outputs: Shapes, attribute: Attribute) -> list[Shape]:
    count, _, height, width = outputs[0]
    return [(3, height * width) if attribute("transform_type") == "affine" else (count, height, width)]


def _grids(inputs: Shapes, outputs: Shapes, attribute: Attribute) -> list[Shape]:
    count, _, height, width = outputs[0]
    return [(3, height * width), (count, 2, height * width)]


def _like_output(inputs: Shapes, outputs: Shapes, attribute: Attribute) -> list[Shape]:
    return [outputs[0]]


# By the names of files: the rule, and the dtypes that are not the first output's.
_RULES: dict[str, tuple[Rule, dict[int, numpy.dtype[Any]]]] = {
    "BatchNorm": (_statistics_of_channels, {}),
    "BilinearSampler": (lambda inputs, outputs, attribute: [(outputs[0][0], *outputs[0][2:], 2)], {}),
    "CTCLoss": (lambda inputs, outputs, attribute: [inputs[0]], {}),
    "Correlation": (_padded_pictures, {}),
    "Dropout": (lambda inputs, outputs, attribute: [_without(outputs[0], attribute("axes") or ())], {}),
    "GridGenerator": (_grid, {}),
    "GroupNorm": (lambda inputs, outputs, attribute: [(outputs[0][0], attribute("num_groups"))] * 2, {}),
    "InstanceNorm": (lambda inputs, outputs, attribute: [outputs[0][:2]] * 2, {}),
    "L2Normalization": (_norms, {}),
    "LRN": (_like_output, {}),
    "LayerNorm": (lambda inputs, outputs, attribute: [_without(outputs[0], [attribute("axis")])] * 2, {}),
    "LeakyReLU": (_like_output, {}),
    "Pooling": (_like_output, {1: _POSITIONS}),
    "ROIPooling": (_like_output, {1: _POSITIONS}),
    "SpatialTransformer": (_grids, {}),
    "_contrib_BatchNormWithReLU": (lambda *call: [*_statistics_of_channels(*call), call[1][0]], {}),
    "_contrib_SyncBatchNorm": (lambda inputs, outputs, attribute: [(outputs[0][1],)] * 2, {}),
    "_contrib_box_nms": (lambda inputs, outputs, attribute: [(*outputs[0][:-1], 1)], {}),
    "_linalg_det": (lambda inputs, outputs, attribute: [inputs[0], inputs[0][:-1]], {2: _POSITIONS}),
    "_linalg_slogdet": (lambda inputs, outputs, attribute: [inputs[0], inputs[0][:-1]], {3: _POSITIONS}),
    "sort": (_like_output, {1: _POSITIONS}),
    "topk": (_like_output, {1: _POSITIONS}),
}


def hidden_outputs(
    op: str, node: Node, count: int, inputs: Sequence[Any], outputs: Sequence[Any], dtype: Any
) -> list[tuple[Any, Any]]:
    """Return (shape, dtype) of the outputs of a node that callers do not see; None for shapes that are not known.

    `op` is what files call its operator, `count` how many outputs it has in all; `inputs` and `outputs` are the shapes
    of its inputs and of the outputs that callers see, `dtype` is that of the first.

    Examples
    --------
    >>> from minpy import sym
    >>> node = sym.BatchNorm(sym.var('x')).values[0].node
    >>> hidden_outputs('BatchNorm', node, 3, [(2, 6, 4)], [(2, 6, 4)], 'float32')
    [((6,), 'float32'), ((6,), 'float32')]
    """
    visible = len(outputs)
    if count <= visible:
        return []
    shapes: Sequence[Any] = [None] * (count - visible)
    rule, dtypes = _RULES.get(op, (None, {}))
    if rule is not None and None not in (inputs[0], outputs[0]):

        def attribute(name: str) -> Any:
            attributes = node.operator.signature.attributes
            return node.attributes.get(name, attributes[name].default if name in attributes else None)

        shapes = rule(inputs, outputs, attribute)
    return [(shape, dtypes.get(index, dtype)) for index, shape in enumerate(shapes, visible)]
