"""How much work a node is: multiply-adds, from its shapes.

The convention: one multiplication with the addition that follows it counts as one (so FLOPs, as hardware counts them,
are twice as many). Layers with products count their products, without biases; pooling counts the elements in its
windows, sums and the like the elements that they read, everything else one for each element of its outputs. Moving
or looking up values counts nothing. Where the work depends on values, or the operator is a user's, it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from minpy.core.signatures import REQUIRED
from minpy.graph.ir import Node

__all__ = ["multiply_adds"]

Shapes = Sequence[tuple[int, ...]]


def multiply_adds(node: Node, inputs: Shapes, outputs: Shapes) -> int | None:
    """Return how many multiply-adds a call of an operator is in prediction; None if that is not known.

    Examples
    --------
    >>> import minpy as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=10, name='fc')
    >>> multiply_adds(net.order[-1], [(2, 5), (10, 5), (10,)], [(2, 10)])
    100
    """
    operator = node.operator
    if operator is None:
        return 0
    if not getattr(operator, "builtin", False):
        return None
    name = operator.__name__
    rule = _RULES.get(name)
    if rule is not None:
        return rule(node, inputs, outputs)
    if name in _MOVING or (operator.category == "shape" and name not in ("im2col", "col2im")):
        return 0
    if name in _VALUE_DEPENDENT:
        return None
    if name in _REDUCTIONS:
        return prod(inputs[0]) if inputs else 0
    return sum(map(prod, outputs))


def _attribute(node: Node, name: str) -> Any:
    """Return the value of an attribute, or its default."""
    if name in node.attributes:
        return node.attributes[name]
    default = node.operator.signature.attributes[name].default
    return None if default is REQUIRED else default


def _weight(node: Node, inputs: Shapes) -> tuple[int, ...]:
    """Return the shape of a layer's weight."""
    return inputs[node.input_names().index("weight")]


def _matrices(node: Node, inputs: Shapes, outputs: Shapes, transposed: str = "transpose_a", rows: int = -2) -> int:
    """Each output element is a product with a row of the first input, or, where that is transposed, a column."""
    return prod(outputs[0]) * inputs[0][rows if _attribute(node, transposed) else -1]


def _convolution(node: Node, inputs: Shapes, outputs: Shapes) -> int:
    """Each output element is a product with one filter: (filters, channels / groups, *kernel)."""
    return prod(outputs[0]) * prod(_weight(node, inputs)[1:])


def _head_width(node: Node, inputs: Shapes) -> int:
    return int(inputs[0][2] // _attribute(node, "heads"))


def _rnn(node: Node, inputs: Shapes, outputs: Shapes) -> int:
    """At every step, in each direction of each layer, the gates are products with the input and the last output."""
    steps, batch, width = inputs[0]
    size, layers = _attribute(node, "state_size"), _attribute(node, "num_layers")
    directions = 2 if _attribute(node, "bidirectional") else 1
    projected = _attribute(node, "projection_size")
    output_size = projected or size
    gates = {"lstm": 4, "gru": 3}.get(_attribute(node, "mode"), 1)
    cells = 0
    for _ in range(layers):
        cells += directions * (gates * size * (width + output_size) + (size * projected if projected else 0))
        width = directions * output_size
    return steps * batch * cells


def _pooling(node: Node, inputs: Shapes, outputs: Shapes) -> int:
    if _attribute(node, "global_pool"):
        return prod(inputs[0])
    return prod(outputs[0]) * prod(_attribute(node, "kernel") or ())


def _upsampling(node: Node, inputs: Shapes, outputs: Shapes) -> int:
    if _attribute(node, "sample_type") == "nearest":
        return 0
    return prod(inputs[0]) * prod(inputs[1][1:])  # a deconvolution


def _roi_align(node: Node, inputs: Shapes, outputs: Shapes) -> int | None:
    """Each output element is the mean of samples, and each of these of four pixels."""
    ratio = _attribute(node, "sample_ratio")
    return None if ratio <= 0 else prod(outputs[0]) * int(ratio) ** 2 * 4


_RULES: dict[str, Callable[[Node, Shapes, Shapes], int | None]] = {
    "Convolution": _convolution,
    "Correlation": lambda node, ins, outs: prod(outs[0]) * int(_attribute(node, "kernel_size")) ** 2 * ins[0][1],
    # Each input element is multiplied with one filter: (channels, filters / groups, *kernel).
    "Deconvolution": lambda node, ins, outs: prod(ins[0]) * prod(_weight(node, ins)[1:]),
    "FullyConnected": lambda node, ins, outs: prod(outs[0]) * _weight(node, ins)[-1],
    "LRN": lambda node, ins, outs: prod(outs[0]) * int(_attribute(node, "nsize")),
    "Pooling": _pooling,
    "Pooling_v1": _pooling,
    "RNN": _rnn,
    "UpSampling": _upsampling,
    "_contrib_AdaptiveAvgPooling2D": lambda node, ins, outs: prod(ins[0]),
    "_contrib_DeformableConvolution": _convolution,
    "_contrib_ModulatedDeformableConvolution": _convolution,
    "_contrib_ROIAlign": _roi_align,
    "_contrib_interleaved_matmul_encdec_qk": lambda node, ins, outs: prod(outs[0]) * _head_width(node, ins),
    "_contrib_interleaved_matmul_encdec_valatt": lambda node, ins, outs: prod(outs[0]) * ins[1][-1],
    # Queries, keys and values of all heads lie side by side along the last axis.
    "_contrib_interleaved_matmul_selfatt_qk": lambda node, ins, outs: prod(outs[0]) * (_head_width(node, ins) // 3),
    "_contrib_interleaved_matmul_selfatt_valatt": lambda node, ins, outs: prod(outs[0]) * ins[1][-1],
    "_linalg_gemm": _matrices,
    "_linalg_gemm2": _matrices,
    "_linalg_syrk": partial(_matrices, transposed="transpose"),
    # Half of a triangular matrix is zero.
    "_linalg_trmm": lambda node, ins, outs: prod(outs[0]) * (ins[0][-1] + 1) // 2,
    "batch_dot": _matrices,
    "dot": partial(_matrices, rows=0),
    "khatri_rao": lambda node, ins, outs: prod(outs[0]) * (len(ins) - 1),
}

# Operators that read every element of their first input, and return fewer.
_REDUCTIONS = frozenset(
    (
        *("sum", "mean", "prod", "nansum", "nanprod", "max", "min", "norm", "moments", "argmax", "argmin"),
        *("argmax_channel", "all_finite", "multi_sum_sq", "softmax_cross_entropy"),
    )
)
# Operators that move values, look them up, or pass them on in prediction.
_MOVING = frozenset(
    (
        *("BlockGrad", "_copy", "_identity_with_attr_like_rhs", "cast", "amp_cast", "amp_multicast", "cast_storage"),
        *("Dropout", "IdentityAttachKLSparseReg", "MakeLoss", "make_loss", "LinearRegressionOutput"),
        *("MAERegressionOutput", "SVMOutput", "_contrib_gradientmultiplier"),
        *("Embedding", "take", "batch_take", "pick", "gather_nd", "scatter_nd", "_scatter_set_nd", "one_hot"),
        *("concat", "stack", "SliceChannel", "split_v2", "_split_v2", "slice", "slice_axis", "slice_like"),
        *("_slice_assign", "_slice_assign_scalar", "Crop", "pad", "tile", "repeat", "flip", "reshape", "reshape_like"),
        *("flatten", "expand_dims", "squeeze", "transpose", "swapaxes", "depth_to_space", "space_to_depth", "diag"),
        *("broadcast_to", "broadcast_axis", "broadcast_like", "where", "SequenceLast", "SequenceMask"),
        *("SequenceReverse", "_zeros", "_zeros_without_dtype", "_ones", "_full", "_eye", "_arange", "_linspace"),
        *("zeros_like", "ones_like", "shape_array", "size_array", "_contrib_arange_like", "_contrib_index_array"),
        *("_contrib_index_copy", "_rnn_param_concat", "fill_element_0index", "_shuffle", "_contrib_MultiBoxPrior"),
        *("_linalg_extractdiag", "_linalg_extracttrian", "_linalg_makediag", "_linalg_maketrian"),
    )
)
# Operators whose work depends on values.
_VALUE_DEPENDENT = frozenset(
    (
        *("_contrib_MultiBoxDetection", "_contrib_MultiBoxTarget", "_contrib_Proposal", "_contrib_MultiProposal"),
        *("_contrib_box_nms", "_contrib_bipartite_matching", "ROIPooling", "_contrib_PSROIPooling"),
        *("_contrib_DeformablePSROIPooling", "_contrib_RROIAlign", "CTCLoss", "_contrib_boolean_mask", "sort"),
        *("argsort", "topk", "_contrib_fft", "_contrib_ifft", "_linalg_det", "_linalg_slogdet", "_linalg_inverse"),
        *("_linalg_gelqf", "_linalg_potrf", "_linalg_potri", "_linalg_syevd", "_linalg_trsm"),
    )
)
