"""Casts put into an existing graph, for `convert_symbol`.

Of each value is known whether it is in float16, in float32, or in what the variables are that it is computed of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy

from minpy.contrib.amp.casting_policy import LOW, WIDE, WIDEST, Policy
from minpy.core.errors import MXNetError
from minpy.graph.inference import infer_dtypes
from minpy.graph.ir import Node, Value
from minpy.ops.inference.partial_shapes import same_dtype
from minpy.ops.registry import OPERATORS
from minpy.symbol import Symbol

__all__ = ["names_of", "parameters_in_low", "reduced"]

_DTYPES = {LOW: numpy.dtype("float16"), WIDE: numpy.dtype("float32")}
_PLACES = {dtype: place for place, dtype in _DTYPES.items()}


def names_of(node: Node) -> list[str]:
    """Return the names that lists may have for a node's operator."""
    saved = getattr(node.operator, "saved_name", None)
    return [name for name in dict.fromkeys((node.kind, node.operator.__name__, saved)) if name is not None]


def parameters_in_low(symbol: Symbol, policy: Policy, excluded: Collection[str], data: Collection[str]) -> set[Node]:
    """Return the variables that can be in float16 themselves: parameters of operators that compute in it.

    They are those whose dtype follows from that of data, if they are not cast.
    """
    candidates: set[Node] = set()
    for node in symbol.order:
        if node.operator is not None and node.name not in excluded and _place(node, policy) == LOW:
            states = {value.node for value in node.auxiliary_inputs()}
            candidates.update(
                value.node
                for value in node.inputs
                if value.node.operator is None and value.node not in states and value.node.name not in data
            )
    while True:
        order = reduced(symbol, policy, excluded, candidates).order
        facts = {Value(node): _DTYPES[WIDE] for node in order if node.operator is None and node.name in data}
        dtypes = infer_dtypes(order, [(facts, "data")]).known
        names = {value.node.name for value, dtype in dtypes.items() if dtype == _DTYPES[LOW]}
        still_low = {node for node in candidates if node.name in names}
        if len(still_low) == len(candidates):
            return candidates
        candidates = still_low


def reduced(symbol: Symbol, policy: Policy, excluded: Collection[str], in_low: Collection[Node]) -> Symbol:
    """Return the graph with casts: each operator computes where a policy says, and all outputs are in float32."""
    return _Reduction(policy, excluded, in_low).run(symbol)


def _place(node: Node, policy: Policy) -> str | None:
    return policy.place(names_of(node), node.shown_attributes())


class _Reduction:
    def __init__(self, policy: Policy, excluded: Collection[str], in_low: Collection[Node]) -> None:
        self._policy, self._excluded, self._in_low = policy, excluded, in_low
        self._nodes: dict[Node, Node] = {}
        self._dtype_of: dict[Value, str | None] = {}
        self._casts: dict[tuple[Value, str], Value] = {}

    def run(self, symbol: Symbol) -> Symbol:
        for node in symbol.order:
            if node.operator is None:
                self._nodes[node] = Node(None, (), {}, node.name, node.kind, node.annotations)
                self._dtype_of[Value(node)] = LOW if node in self._in_low else None
            else:
                self._add(node)
        return Symbol([self._in(WIDE, value) for value in symbol.values])

    def _add(self, node: Node) -> None:
        place = WIDE if node.name in self._excluded else _place(node, self._policy)
        states = {*node.auxiliary_inputs()}
        input_dtypes = [self._dtype_of.get(value) for value in node.inputs]
        outputs: Mapping[int, str | None] | str | None = place
        if place == LOW:
            inputs = [self._new(value) if value in states else self._in(LOW, value) for value in node.inputs]
        elif place == WIDE:
            inputs = [
                self._new(value) if value in states or (value.node.operator is None and place_of_input is None)
                else self._in(WIDE, value)
                for value, place_of_input in zip(node.inputs, input_dtypes, strict=True)
            ]  # fmt: skip
        elif place == WIDEST:
            inputs, outputs = self._in_widest(node, input_dtypes)
        else:
            pairs = zip(node.inputs, input_dtypes, strict=True)
            wide = [dtype or (WIDE if (value, WIDE) in self._casts else None) for value, dtype in pairs]
            inputs, outputs = [*map(self._new, node.inputs)], self._inferred(node, wide)
        self._nodes[node] = Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
        for index in range(len(node.output_names())):
            self._dtype_of[Value(node, index)] = outputs.get(index) if isinstance(outputs, Mapping) else outputs

    def _in_widest(self, node: Node, input_dtypes: list[str | None]) -> tuple[list[Value], str | None]:
        """Return the inputs in one dtype, and which that is."""
        places = [
            place or next((cast for cast in (WIDE, LOW) if (value, cast) in self._casts), None)
            for value, place in zip(node.inputs, input_dtypes, strict=True)
        ]
        if all(dtype == LOW for dtype in places):
            return [self._in(LOW, value) for value in node.inputs], LOW
        if None not in places:
            return [self._in(WIDE, value) for value in node.inputs], WIDE
        name = f"{_name(node.inputs[0])}_amp_multicast"
        attributes = {"num_outputs": len(node.inputs)}
        casts = Node(OPERATORS["amp_multicast"], [*map(self._new, node.inputs)], attributes, name, "amp_multicast")
        return [Value(casts, index) for index in range(len(node.inputs))], None

    def _inferred(self, node: Node, input_dtypes: list[str | None]) -> Mapping[int, str | None]:
        """Return where the outputs of an operator are that computes in what it is given."""
        if not any(input_dtypes):
            return {}
        rule: Any = node.operator.type_inference or same_dtype
        inputs = [None if dtype is None else _DTYPES[dtype] for dtype in input_dtypes]
        outputs: list[Any] = [None] * len(node.output_names())
        attributes = {name: value for name, value in node.attributes.items() if name != "training"}
        try:
            dtypes = rule(inputs, outputs, **attributes)[1]
        except MXNetError:  # of two dtypes: it is known when they are all known
            return {}
        return {index: None if dtype is None else _PLACES.get(dtype) for index, dtype in enumerate(dtypes)}

    def _new(self, value: Value) -> Value:
        return Value(self._nodes[value.node], value.index)

    def _in(self, place: str, value: Value) -> Value:
        """Return a value in float16 or float32, cast if it is not known to be."""
        if self._dtype_of.get(value) == place:
            return self._new(value)
        if (value, place) not in self._casts:
            name = f"{_name(value)}_amp_cast_{place}"
            node = Node(OPERATORS["amp_cast"], [self._new(value)], {"dtype": place}, name, "amp_cast")
            self._casts[value, place] = Value(node)
        return self._casts[value, place]


# The operators whose outputs have names in MXNet: casts are called after these, and after numbers for all others.
_NAMED = frozenset(
    """
    Activation BatchNorm BilinearSampler Concat Convolution Correlation Crop Custom Deconvolution Dropout
    FullyConnected GridGenerator GroupNorm InstanceNorm L2Normalization LRN LayerNorm LeakyReLU MakeLoss Pad Pooling
    Pooling_v1 RNN ROIPooling SVMOutput SequenceLast SequenceMask SequenceReverse SliceChannel SoftmaxActivation
    SoftmaxOutput SpatialTransformer SwapAxis UpSampling _contrib_BatchNormWithReLU _contrib_DeformableConvolution
    _contrib_DeformablePSROIPooling _contrib_ModulatedDeformableConvolution _contrib_MultiBoxDetection
    _contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal
    _contrib_ROIAlign _contrib_RROIAlign _contrib_SyncBatchNorm _contrib_count_sketch _contrib_fft _contrib_ifft
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _rnn_param_concat col2im
    concat elemwise_add im2col make_loss pad softmax softmin split swapaxes
    """.split()  # noqa: SIM905
)


def _name(value: Value) -> str:
    """Return what casts of a value are called after."""
    node = value.node
    if node.operator is None:
        return node.name
    if _NAMED.isdisjoint(names_of(node)):
        return f"{node.name}_{value.index}"
    return f"{node.name}_{node.output_names()[value.index]}"
