"""Emitted nodes as an ONNX model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.onnx.exporting.emitter import EmittedFunction, EmittedGraph, EmittedNode, Emitter
from minpy.onnx.exporting.graph_writer import FUNCTION_DOMAIN
from minpy.version import __version__

__all__ = ["TensorInfo", "build_model"]


class TensorInfo(NamedTuple):
    """A tensor's name, its dtype, and its shape: a text stands for a length that is open."""

    name: str
    shape: tuple[int | str, ...]
    dtype: numpy.dtype


def build_model(
    emitter: Emitter,
    name: str,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    values: Iterable[TensorInfo],
    parameters: Mapping[str, numpy.ndarray],
) -> Any:
    """Return an `onnx.ModelProto`.

    Parameters
    ----------
    emitter : Emitter
        The nodes, constants and functions.
    name : str
        Of the graph.
    inputs, outputs : sequence of TensorInfo
    values : iterable of TensorInfo
        What is known of values between.
    parameters : mapping of str to numpy.ndarray
        Those that nodes read become initializers.
    """
    from onnx import helper, numpy_helper

    read = {name for node in emitter.nodes for name in node.values_read()} | {output.name for output in outputs}
    initializers = [
        numpy_helper.from_array(numpy.ascontiguousarray(array).reshape(array.shape), each)
        for each, array in {**parameters, **emitter.constants}.items()
        if each in read
    ]
    graph = helper.make_graph(
        [_node(node) for node in emitter.nodes],
        name,
        [_value_info(each) for each in inputs],
        [_value_info(each) for each in outputs],
        initializers,
        value_info=[_value_info(each) for each in values],
    )
    opsets = [helper.make_opsetid("", emitter.opset)]
    functions = [_function(each, emitter.opset) for each in emitter.functions.values()]
    if functions:
        opsets.append(helper.make_opsetid(FUNCTION_DOMAIN, 1))
    return helper.make_model(
        graph,
        functions=functions,
        opset_imports=opsets,
        ir_version=max(helper.find_min_ir_version_for([opsets[0]]), 8),  # 8: the first with functions
        producer_name="minpy",
        producer_version=__version__,
    )


def _value_info(info: TensorInfo) -> Any:
    from onnx import helper

    shape = [None if length == -1 else length for length in info.shape]
    return helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(numpy.dtype(info.dtype)), shape)


def _node(node: EmittedNode) -> Any:
    from onnx import helper

    proto = helper.make_node(node.op_type, node.inputs, node.outputs, name=node.name, domain=node.domain or None)
    for key, value in sorted(node.attributes.items()):
        proto.attribute.append(_attribute(key, value))
    return proto


def _attribute(key: str, value: Any) -> Any:
    from onnx import AttributeProto, helper, numpy_helper

    if isinstance(value, numpy.dtype) or (isinstance(value, type) and issubclass(value, numpy.generic)):
        value = helper.np_dtype_to_tensor_dtype(numpy.dtype(value))
    elif isinstance(value, numpy.ndarray):
        value = numpy_helper.from_array(numpy.ascontiguousarray(value).reshape(value.shape))
    elif isinstance(value, (numpy.generic, bool)):
        value = int(value) if isinstance(value, bool) else value.item()
    elif isinstance(value, EmittedGraph):
        value = _graph(value)
    elif isinstance(value, (list, tuple)):
        value = [each.item() if isinstance(each, numpy.generic) else each for each in value]
        if not value:
            return helper.make_attribute(key, [], attr_type=AttributeProto.INTS)
    return helper.make_attribute(key, value)


def _graph(graph: EmittedGraph) -> Any:
    from onnx import helper

    outputs = [
        TensorInfo(name, shape, dtype) for name, (shape, dtype) in zip(graph.outputs, graph.output_specs, strict=True)
    ]
    return helper.make_graph(
        [_node(node) for node in graph.nodes],
        graph.name,
        [_value_info(TensorInfo(*each)) for each in graph.inputs],
        [_value_info(each) for each in outputs],
    )


def _function(function: EmittedFunction, opset: int) -> Any:
    from onnx import helper, numpy_helper

    body = function.body
    read = {name for node in body.nodes for name in node.values_read()} | set(function.outputs)
    nodes = [
        helper.make_node("Constant", [], [name], name=name, value=numpy_helper.from_array(array))
        for name, array in body.constants.items()
        if name in read
    ]
    nodes += [_node(node) for node in body.nodes]
    opsets = [helper.make_opsetid("", opset)]
    if any(node.domain == FUNCTION_DOMAIN for node in body.nodes):
        opsets.append(helper.make_opsetid(FUNCTION_DOMAIN, 1))
    proto = helper.make_function(
        function.domain, function.name, function.inputs, function.outputs, nodes, opset_imports=opsets
    )
    proto.doc_string = function.documentation
    return proto
