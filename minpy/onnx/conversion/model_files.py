"""Models from MXNet's pair of files to ONNX, and back."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy

import minpy
from minpy import ndarray as nd
from minpy import onnx as onnx_functions
from minpy.core.errors import ArgumentError, FileFormatError, MXNetError
from minpy.inspection.artifacts import Artifact, find
from minpy.inspection.findings import by_name
from minpy.inspection.report import Report, report
from minpy.inspection.report_text import shortened
from minpy.ndarray.array_files import ArrayHead, StoredArray
from minpy.ndarray.saving import file_content
from minpy.onnx.comparing import OutputRow
from minpy.onnx.conversion.comparison import compare
from minpy.onnx.conversion.layer_lines import lines_of_export, lines_of_import
from minpy.onnx.conversion.options import OpenAxes, open_axes, values_by_name
from minpy.onnx.conversion.outputs import require_new, written_folder, written_together
from minpy.onnx.conversion.parameter_files import read_parameters
from minpy.onnx.conversion.tensors import COMMAND, Tensors
from minpy.onnx.exporting.export_model import export_model_with_report
from minpy.onnx.importing.reading import read_model
from minpy.onnx.importing.tensors import numpy_dtype
from minpy.symbol.saving import load_json

__all__ = ["Conversion", "ConversionFailed", "ModelOptions", "pair_of", "to_onnx", "to_pair"]


class ConversionFailed(MXNetError):
    """A model that cannot be said in the other format, or that computes something else there."""


@dataclass
class ModelOptions:
    """How a model is converted; see `python -m minpy convert --help`."""

    params: str | None = None
    epoch: int | None = None
    shapes: list[tuple[str, Any]] = field(default_factory=list)
    dtypes: list[tuple[str, Any]] = field(default_factory=list)
    dynamic: list[OpenAxes] = field(default_factory=list)
    opset: int | None = None
    check: bool = False
    layers: bool = False
    force: bool = False
    modules: list[str] = field(default_factory=list)


@dataclass
class Conversion:
    """What was written, what was assumed, how far outputs differ, and a line a layer."""

    written: list[str]
    assumptions: list[str] = field(default_factory=list)
    rows: list[OutputRow] = field(default_factory=list)
    layers: list[str] = field(default_factory=list)


def to_onnx(source: str, target: str, options: ModelOptions) -> Conversion:
    """Write MXNet's pair of files as an ONNX model.

    Raises
    ------
    FileMissingError, FileAccessError, FileFormatError, ArgumentError
        If a file or an option is not right.
    ConversionFailed
        If the model cannot be exported.
    """
    require_new(source, [target], options.force)
    _import_modules(options.modules)
    artifact = _artifact(source, options)
    model = _described(artifact, options)
    inputs = [entry for entry in model.inputs if not entry.is_label]
    names = [entry.name for entry in inputs]
    shapes = {entry.name: entry.shape or () for entry in inputs}
    chosen_dtypes = values_by_name("--dtype", options.dtypes, names)
    dtypes = {entry.name: str(chosen_dtypes.get(entry.name, entry.dtype)) for entry in inputs}
    axes = open_axes(options.dynamic, shapes)
    given = {name or names[0] for name, _ in options.shapes}
    assumptions = list(model.notes)
    if artifact.params_name and options.params is None:
        assumptions.append(f"the parameters are {artifact.params_name!r}, beside the symbol; --params names others")
    for entry in inputs:
        if entry.name not in given:
            assumptions.append(f"the input {entry.name!r} is {entry.shape} ({entry.origin}); --shape says otherwise")
        if entry.name not in chosen_dtypes:
            assumptions.append(f"the input {entry.name!r} is {entry.dtype}; --dtype says otherwise")
    labels = [entry.name for entry in model.inputs if entry.is_label]
    if labels:
        assumptions.append(f"{', '.join(map(repr, labels))} is a label, which only training reads: no input")
    symbol = load_json(artifact.symbol.decode("utf-8-sig"))
    parameters = {name: array for name, (_, array) in by_name(artifact.read()).items()}
    conversion = Conversion([target], assumptions)
    with written_folder(target, options.force) as path:
        rows = _export(symbol, dict(parameters), path, options, shapes, dtypes, axes)
        if options.check:
            conversion.rows = rows
        if options.layers:
            conversion.layers = lines_of_export(model.layers, path)
    return conversion


def _import_modules(modules: list[str]) -> None:
    minpy.install_as_mxnet()
    if os.curdir not in sys.path and "" not in sys.path:
        sys.path.insert(0, "")
    for module in modules:
        try:
            importlib.import_module(module.removesuffix(".py").replace(os.sep, "."))
        except ImportError as error:
            raise ArgumentError(f"{COMMAND}: --import {module}: {error}.") from error


def _artifact(source: str, options: ModelOptions) -> Artifact:
    """Return the model's files, with the parameters that the options name."""
    params = options.params
    if params is None or not params.lower().endswith((".safetensors", ".npz")):
        return find(source, params, options.epoch)
    artifact = find(source)
    tensors = read_parameters(params)
    arrays = {name: nd.array(_widened(tensor), dtype=_widened(tensor).dtype) for name, tensor in tensors.items()}
    artifact.params_name, artifact.read = params, lambda: arrays
    artifact.heads = {name: ArrayHead(a.shape, numpy.dtype(a.dtype), a._data.nbytes) for name, a in arrays.items()}
    return artifact


def _widened(tensor: StoredArray) -> numpy.ndarray:
    """Return an array's values, bfloat16 as float32."""
    if tensor.dtype != "bfloat16":
        return tensor.data
    bits: numpy.ndarray = tensor.data.astype(numpy.uint32) << 16
    return bits.view(numpy.float32)


def _described(artifact: Artifact, options: ModelOptions) -> Report:
    """Return what the model is; raise if it cannot be run."""
    model = report(artifact)
    if model.unknown:
        names = ", ".join(sorted({operator.name for operator in model.unknown}))
        raise ConversionFailed(
            f"{COMMAND}: {artifact.symbol_name!r} has operators that are not here: {names}. If they are custom "
            "operators, --import MODULE names the module that defines them; `python -m minpy model` says more."
        )
    if options.shapes:
        inputs = [entry.name for entry in model.inputs if not entry.is_label]
        everything = inputs if len(inputs) == 1 else [entry.name for entry in model.inputs]
        model = report(artifact, shapes=values_by_name("--shape", options.shapes, everything))  # type: ignore[arg-type]
    if artifact.heads is None and (model.fit is None) and _has_parameters(model):
        raise ArgumentError(
            f"{COMMAND}: there are no parameters beside {artifact.symbol_name!r}. Name their file: --params FILE."
        )
    if model.fit is not None and not model.fit.fits:
        missing = ", ".join(repr(name) for name, *_ in (*model.fit.missing, *model.fit.other_shape)[:5])
        raise ArgumentError(
            f"{COMMAND}: {artifact.params_name!r} does not fit {artifact.symbol_name!r}: {missing} "
            "is missing, or of another shape. Name the right file: --params FILE; `python -m minpy model` says more."
        )
    if model.problem:
        raise ArgumentError(f"{COMMAND}: {model.problem}".replace("--data ", "--shape "))
    return model


def _has_parameters(model: Report) -> bool:
    return bool(model.parameters) or model.parameters is None


def _export(
    symbol: Any,
    parameters: dict[str, Any],
    target: str,
    options: ModelOptions,
    shapes: Mapping[str, tuple[int, ...]],
    dtypes: Mapping[str, str],
    axes: Mapping[str, set[int]],
) -> list[OutputRow]:
    """Write the ONNX file, which is compared in any case, and return how far its outputs were off."""
    dynamic = any(axes.values())
    dynamic_shapes = {
        name: tuple(_axis_name(name, axis) if axis in axes[name] else length for axis, length in enumerate(shape))
        for name, shape in shapes.items()
    }
    return export_model_with_report(
        symbol,
        parameters,
        dict(shapes),
        dict(dtypes),
        target,
        dynamic=dynamic,
        dynamic_input_shapes=dynamic_shapes if dynamic else None,
        opset=options.opset,
    ).rows


def _axis_name(name: str, axis: int) -> str:
    """Return what an open axis is called: the first ones, of batches, are one."""
    return "batch" if axis == 0 else f"{name}_axis{axis}"


# -- ONNX to MXNet -----------------------------------------------------------------------------------------------------


def pair_of(target: str) -> tuple[str, str]:
    """Return the names of a symbol's file and its parameters' file, for either or their prefix.

    >>> pair_of('net'), pair_of('net-0012.params')
    (('net-symbol.json', 'net-0000.params'), ('net-symbol.json', 'net-0012.params'))
    """
    if target.endswith(".params"):
        prefix = re.sub(r"-\d{4,}$", "", target.removesuffix(".params"))
        return f"{prefix}-symbol.json", target
    if target.endswith(".json"):
        return target, f"{target.removesuffix('.json').removesuffix('-symbol')}-0000.params"
    return f"{target}-symbol.json", f"{target}-0000.params"


def to_pair(source: str, target: str, options: ModelOptions) -> Conversion:
    """Write an ONNX model as MXNet's pair of files.

    Raises
    ------
    FileMissingError, FileAccessError, FileFormatError, ArgumentError
        If a file or an option is not right.
    ConversionFailed
        If the model cannot be imported.
    """
    symbol_file, params_file = pair_of(target)
    require_new(source, [symbol_file, params_file], options.force)
    shapes: dict[str, Any] = {}
    assumptions: list[str] = []
    if options.shapes:
        with _reading(source):
            metadata = onnx_functions.get_model_metadata(source)
        shapes = values_by_name("--shape", options.shapes, [name for name, _ in metadata["input_tensor_data"]])
    with _reading(source):
        symbol, arguments, states = onnx_functions.import_model(source, shapes=shapes or None, check=options.check)
    arrays: Tensors = {f"arg:{name}": _stored(array) for name, array in arguments.items()}
    arrays |= {f"aux:{name}": _stored(array) for name, array in states.items()}
    content = symbol.tojson().encode()
    writers = {
        symbol_file: lambda file: file.write(content),
        params_file: lambda file: file.writelines(file_content(list(arrays.values()), list(arrays))),
    }
    conversion = Conversion([symbol_file, params_file], assumptions)
    if options.check:
        conversion.rows = _compared(source, symbol, {**arguments, **states}, shapes)
    if options.layers:
        conversion.layers = lines_of_import(symbol, source)
    with written_together(writers):
        pass
    return conversion


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Turn what libraries raise for a damaged model, of many kinds, into one error."""
    try:
        yield
    except (MXNetError, MemoryError):
        raise
    except Exception as error:
        text = shortened(" ".join(str(error).split()).rstrip("."), 300)
        raise FileFormatError(
            f"{COMMAND}: {source!r} cannot be imported ({type(error).__name__}: {text}). It is damaged, or not valid: "
            "onnx.checker.check_model says more."
        ) from error


def _compared(source: str, symbol: Any, parameters: Mapping[str, Any], shapes: Mapping[str, Any]) -> list[OutputRow]:
    """Run both on inputs of the shapes that are given or said by the model, its open lengths tried as 2 and 3."""
    model, _ = read_model("import_model", source)
    constants = {tensor.name for tensor in model.graph.initializer}
    entries = [value for value in model.graph.input if value.name not in constants]
    dtypes = {value.name: numpy.dtype(numpy_dtype(value.type.tensor_type.elem_type)).name for value in entries}
    sizes: list[dict[str, tuple[int, ...]]] = []
    for tried in (2, 3):
        lengths = {
            value.name: tuple(
                dimension.dim_value if dimension.HasField("dim_value") else tried
                for dimension in value.type.tensor_type.shape.dim
            )
            for value in entries
        }
        lengths |= {name: tuple(shape) for name, shape in shapes.items()}
        if lengths not in sizes:
            sizes.append(lengths)
    return compare(source, symbol, parameters, sizes, dtypes)


def _stored(array: Any) -> StoredArray:
    return StoredArray(array._data.dtype.name, array._data)
