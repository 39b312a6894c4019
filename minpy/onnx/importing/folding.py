"""Nodes whose inputs are all known, computed while a model is imported."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.onnx.importing.calls import Call
from minpy.onnx.importing.refusals import Refusal
from minpy.onnx.importing.tensors import numpy_dtype

__all__ = ["computed_by_reference", "constant_of"]


def constant_of(call: Call) -> numpy.ndarray:
    """Return the value of a `Constant`.

    Raises
    ------
    Refusal
        If it is text, or sparse, or of a dtype that arrays do not have.
    """
    import onnx

    for name, dtype in (("value_float", "float32"), ("value_int", "int64")):
        if name in call.attributes:
            return numpy.asarray(call.attributes[name], dtype)
    for name, dtype in (("value_floats", "float32"), ("value_ints", "int64")):
        if name in call.attributes:
            return numpy.asarray(call.attributes[name], dtype)
    if "value" not in call.attributes:
        raise Refusal("it is text, or sparse: neither has arrays here")
    tensor = call.attributes["value"]
    numpy_dtype(tensor.data_type)
    return numpy.asarray(onnx.numpy_helper.to_array(tensor))


def computed_by_reference(node: Any, arrays: list[Any], opset: int) -> list[Any]:
    """Return what a node computes of arrays, by onnx's reference evaluator.

    Parameters
    ----------
    node : onnx.NodeProto
    arrays : list of numpy.ndarray or None
        One for each input of the node.
    opset : int

    Returns
    -------
    list of numpy.ndarray or None
        One for each output of the node.

    Raises
    ------
    Refusal
        If it computes sequences or maps.
    """
    import onnx
    from onnx.reference import ReferenceEvaluator

    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in dict(zip(node.input, arrays, strict=True)).items()
        if name
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "folded", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    feeds = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
    with numpy.errstate(all="ignore"):
        values = dict(zip([entry.name for entry in outputs], ReferenceEvaluator(model).run(None, feeds), strict=True))
    if any(isinstance(value, (list, dict)) for value in values.values()):
        raise Refusal("it computes a sequence or a map, and symbols are arrays")
    return [numpy.asarray(values[name]) if name else None for name in node.output]
