"""ONNX models read from files, bytes or objects, and looked over before anything is made of them."""

from __future__ import annotations

import os
from typing import Any

from minpy.core.errors import ArgumentError, FileFormatError, describe
from minpy.files import access_error, checked_path, read_file
from minpy.frameworks.libraries import require

__all__ = ["local_functions", "opset_of", "read_model"]

_DEEPEST = 32


def read_model(function: str, source: Any) -> tuple[Any, str]:
    """Return a model, with its weights in it, and what messages call it.

    Parameters
    ----------
    function : str
        What users called.
    source : str, PathLike, bytes or onnx.ModelProto

    Raises
    ------
    FileMissingError, FileAccessError
        If the file cannot be read.
    FileFormatError
        If it is no ONNX model, or a damaged one.
    """
    require("onnx")
    import onnx

    folder = None
    if isinstance(source, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(source)
        name = "the model"
    elif isinstance(source, (bytes, bytearray, memoryview)):
        name, model = "the model", _parsed(function, bytes(source), "the bytes")
    elif isinstance(source, (str, os.PathLike)):
        path = checked_path(function, source)
        name, folder = repr(path), os.path.dirname(os.path.abspath(path))
        if os.path.isdir(path):
            raise access_error(function, "read", path, IsADirectoryError(21, "It is a folder"))
        model = _parsed(function, read_file(function, path), name)
    else:
        raise ArgumentError(
            f"{function}: model_file must be a path, bytes or an onnx.ModelProto, got {describe(source)}."
        )
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise FileFormatError(f"{function}: {name} holds no ONNX graph: it is empty, damaged, or of another format.")
    _check_nesting(function, model.graph, name, 0)
    _load_external(function, model, folder, name)
    return model, name


def _parsed(function: str, content: bytes, name: str) -> Any:
    import onnx

    try:
        return onnx.load_model_from_string(content)
    except Exception:  # the library and its protocol buffers have kinds of their own
        raise FileFormatError(
            f"{function}: {name} ({len(content)} bytes) is no ONNX model: it is damaged, cut off, or of another format."
            " Write it anew, or load it as what it is."
        ) from None


def _check_nesting(function: str, graph: Any, name: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise FileFormatError(f"{function}: the graphs of {name} are nested more than {_DEEPEST} deep.")
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                _check_nesting(function, inner, name, depth + 1)


def _load_external(function: str, model: Any, folder: str | None, name: str) -> None:
    """Read weights that stand in files beside the model: only in its folder."""
    import onnx
    from onnx import external_data_helper

    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        if folder is None:
            raise FileFormatError(
                f"{function}: the initializer {tensor.name!r} stands in the file {location!r}, and of {name} no folder"
                " is known. Give the path of the model's file."
            )
        path = os.path.realpath(os.path.join(folder, location))
        if not location or os.path.commonpath([path, os.path.realpath(folder)]) != os.path.realpath(folder):
            raise FileFormatError(
                f"{function}: the initializer {tensor.name!r} of {name} stands in {location!r}, outside of the model's "
                "folder, which is not read. Put the file beside the model."
            )
        try:
            external_data_helper.load_external_data_for_tensor(tensor, folder)
        except Exception as error:  # the library has errors of several kinds for a file that does not fit
            raise FileFormatError(
                f"{function}: the weights of the initializer {tensor.name!r} cannot be read from {path!r}: "
                f"{' '.join(str(error).split())}"
            ) from error
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def opset_of(function: str, model: Any, name: str) -> int:
    """Return the version of ONNX's operators that a model uses."""
    import onnx

    versions = {entry.domain: entry.version for entry in model.opset_import}
    opset = int(versions.get("", versions.get("ai.onnx", 1)))
    newest = onnx.defs.onnx_opset_version()
    if opset > newest:
        raise FileFormatError(
            f"{function}: {name} is of opset {opset}; the onnx that is installed knows opsets up to {newest}. "
            "Update it: python -m pip install -U onnx"
        )
    if opset < 6:
        raise FileFormatError(
            f"{function}: {name} is of opset {opset}; opsets from 6 on are read. Convert it first: "
            "onnx.version_converter.convert_version(model, 13)"
        )
    return opset


def local_functions(model: Any) -> dict[tuple[str, str], Any]:
    """Return the functions that a model defines, by domain and name."""
    return {(function.domain, function.name): function for function in model.functions}
