"""`get_model_metadata`: the inputs and outputs of an ONNX model."""

from __future__ import annotations

from typing import Any

from minpy.onnx.importing.reading import read_model

__all__ = ["get_model_metadata"]


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[Any, ...]]]]:
    """Return the names and shapes of a model's inputs and outputs.

    Parameters
    ----------
    model_file : str, PathLike, bytes or onnx.ModelProto

    Returns
    -------
    dict
        'input_tensor_data' and 'output_tensor_data', lists of (name, shape). A length that the model leaves open is the
        name that it gives it, or 0. Parameters are no inputs.

    Raises
    ------
    MissingDependencyError
        If onnx is not installed.
    FileMissingError, FileFormatError
        If the file is not there, or damaged.

    Examples
    --------
    >>> import onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 8, opset_import: ["" : 13]>
    ...     rectified (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }''')
    >>> get_model_metadata(model)
    {'input_tensor_data': [('x', ('N', 3))], 'output_tensor_data': [('y', ('N', 3))]}
    """
    model, _ = read_model("get_model_metadata", model_file)
    parameters = {tensor.name for tensor in model.graph.initializer}
    return {
        "input_tensor_data": [_described(value) for value in model.graph.input if value.name not in parameters],
        "output_tensor_data": [_described(value) for value in model.graph.output],
    }


def _described(value: Any) -> tuple[str, tuple[Any, ...]]:
    dimensions = value.type.tensor_type.shape.dim
    return value.name, tuple(
        int(entry.dim_value) if entry.HasField("dim_value") else entry.dim_param or 0 for entry in dimensions
    )
