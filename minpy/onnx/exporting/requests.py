"""What users ask `export_model` for, in all spellings, as inputs, parameters and an opset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, describe, nearest
from minpy.frameworks.libraries import require
from minpy.ndarray import NDArray
from minpy.onnx.exporting.sources import ExportInput
from minpy.symbol.saving import load as load_symbol
from minpy.symbol.symbol import Symbol

__all__ = ["chosen_opset", "data_names", "example_arrays", "export_inputs", "loaded_parameters", "loaded_symbol"]

_OLDEST, _NEWEST = 13, 28
_PREFIXES = ("arg:", "aux:")


def loaded_symbol(sym: Any) -> Symbol:
    """Return a symbol that is given, or in a file."""
    if isinstance(sym, Symbol):
        return sym
    if isinstance(sym, (str, os.PathLike)):
        return load_symbol(sym)
    raise ArgumentError(
        f"export_model: expected a symbol or the name of its file, got {describe(sym)}. A Gluon block is exported by "
        "block.export_onnx(path, *example_inputs)."
    )


def loaded_parameters(params: Any) -> dict[str, numpy.ndarray]:
    """Return parameters by name, from dicts of arrays (with or without 'arg:' and 'aux:'), or a file."""
    if isinstance(params, (str, os.PathLike)):
        loaded = nd.load(os.fspath(params))
        if not isinstance(loaded, dict):
            raise ArgumentError(f"export_model: the arrays in {os.fspath(params)!r} have no names.")
        params = loaded
    dicts = list(params) if isinstance(params, (list, tuple)) else [params]
    if not all(isinstance(each, Mapping) for each in dicts):
        raise ArgumentError(
            f"export_model: expected a dict of arrays or the name of their file, got {describe(params)}."
        )
    arrays: dict[str, numpy.ndarray] = {}
    given: dict[str, Any] = {}
    for name, array in (pair for each in dicts for pair in each.items()):
        plain = name[4:] if str(name).startswith(_PREFIXES) else str(name)
        if given.setdefault(plain, array) is not array:
            raise ArgumentError(
                f"export_model: params has two arrays for {plain!r} (as 'arg:{plain}' and 'aux:{plain}', or in two "
                "dicts). Give one."
            )
        arrays[plain] = array.asnumpy() if isinstance(array, NDArray) else numpy.asarray(array)
    return arrays


def data_names(symbol: Symbol, parameters: Mapping[str, Any], count: int | None) -> list[str]:
    """Return the inputs that are no parameters; labels are left out unless `count` says that they are meant.

    Raises
    ------
    ArgumentError
        If parameters are missing.
    """
    states = symbol.list_auxiliary_states()
    missing = [name for name in states if name not in parameters]
    if missing:
        raise ArgumentError(
            f"export_model: params lacks the auxiliary states {', '.join(map(repr, missing[:5]))}. Give those of the "
            "whole network, as Module.get_params and Block.export have them."
        )
    names = [name for name in symbol.list_inputs() if name not in parameters]
    labels = [name for name in names if name.endswith("label")]
    if labels and count != len(names):
        names = [name for name in names if name not in labels]
    return names


def export_inputs(
    symbol: Symbol,
    parameters: Mapping[str, Any],
    in_shapes: Any,
    in_types: Any,
    dynamic: bool,
    dynamic_input_shapes: Any,
) -> list[ExportInput]:
    """Return the inputs of a model: with open axes if it is `dynamic`.

    Raises
    ------
    ArgumentError
        If there is not one shape and one dtype for each input.
    """
    if isinstance(in_shapes, tuple) and all(length is None or isinstance(length, (int, str)) for length in in_shapes):
        in_shapes = [in_shapes]
    names = data_names(symbol, parameters, len(in_shapes) if in_shapes is not None else None)
    shapes = _by_name("in_shapes", in_shapes, names, "a tuple of int")
    opened = shapes
    if dynamic_input_shapes is not None:
        if not dynamic:
            raise ArgumentError("export_model: dynamic_input_shapes is given, and dynamic=False. Pass dynamic=True.")
        opened = _by_name("dynamic_input_shapes", dynamic_input_shapes, names, "a tuple of int, str or None")
    elif dynamic:
        opened = {name: (None, *shape[1:]) for name, shape in shapes.items()}
    dtypes = _dtypes(in_types, names)
    inputs = []
    for name in names:
        shape, axes = shapes[name], opened[name]
        if len(shape) != len(axes):
            raise ArgumentError(
                f"export_model: {name!r} has the shape {tuple(shape)} in in_shapes and {tuple(axes)} in "
                "dynamic_input_shapes; both need one entry an axis."
            )
        open_axes = {
            axis: length if isinstance(length, str) else "batch" if axis == 0 else f"{name}_axis{axis}"
            for axis, length in enumerate(axes)
            if not isinstance(length, (int, numpy.integer)) or length < 0
        }
        inputs.append(ExportInput(name, _example(shape), dtypes[name], open_axes))
    _require_consistent(inputs)
    return inputs


def example_arrays(inputs: Sequence[ExportInput], examples: Mapping[str, Any]) -> dict[str, numpy.ndarray]:
    """Return the arrays that users want a model to be compared on, by the names of its inputs.

    Raises
    ------
    ArgumentError
        If there is not one array for each input, of its shape.
    """
    names = [each.name for each in inputs]
    if not isinstance(examples, Mapping) or sorted(map(str, examples)) != sorted(names):
        got = ", ".join(map(repr, examples)) if isinstance(examples, Mapping) else describe(examples)
        raise ArgumentError(
            f"export_model: example_inputs has {got or 'nothing'}; expected a dict with an array for each of "
            f"{', '.join(map(repr, names)) or 'no inputs'}."
        )
    arrays = {}
    for each in inputs:
        value = examples[each.name]
        array = value.asnumpy() if isinstance(value, NDArray) else numpy.asarray(value)
        fits = array.ndim == len(each.shape) and all(
            axis in each.open_axes or array.shape[axis] == length for axis, length in enumerate(each.shape)
        )
        if not fits:
            raise ArgumentError(
                f"export_model: example_inputs[{each.name!r}] has the shape {array.shape}; expected {each.shape}, as "
                "in in_shapes."
            )
        arrays[each.name] = array.astype(each.dtype)
    return arrays


def _example(shape: Sequence[Any]) -> tuple[int, ...]:
    """Return the lengths that a model is tried with first: 2 for those that are not said."""
    return tuple(int(each) if isinstance(each, (int, numpy.integer)) and each >= 0 else 2 for each in shape)


def _require_consistent(inputs: Sequence[ExportInput]) -> None:
    lengths: dict[str, tuple[int, str]] = {}
    for each in inputs:
        for axis, name in each.open_axes.items():
            length, other = lengths.setdefault(name, (each.shape[axis], each.name))
            if length != each.shape[axis]:
                raise ArgumentError(
                    f"export_model: the axis {name!r} is {length} long in {other!r} and {each.shape[axis]} in "
                    f"{each.name!r}. Axes of one name are equally long: name them otherwise in dynamic_input_shapes."
                )


def _by_name(argument: str, given: Any, names: Sequence[str], expected: str) -> dict[str, tuple[Any, ...]]:
    if given is None:
        if names:
            raise ArgumentError(
                f"export_model: {argument} is not given; expected {expected} for each of {', '.join(map(repr, names))}."
            )
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ArgumentError(
                f"export_model: {argument} has {unknown[0]!r}, which is no input; the inputs are "
                f"{', '.join(map(repr, names))}." + nearest(unknown[0], names)
            )
        given = [given.get(name) for name in names]
    if not isinstance(given, (list, tuple)) or len(given) != len(names):
        count = len(given) if isinstance(given, (list, tuple)) else describe(given)
        raise ArgumentError(
            f"export_model: {argument} has {_entries(count)}, and the inputs that are no parameters are {len(names)}: "
            f"{', '.join(map(repr, names)) or 'none'}. Give {expected} for each; what else is listed here is missing "
            "in params."
        )
    shapes: dict[str, tuple[Any, ...]] = {}
    for name, shape in zip(names, given, strict=True):
        if not isinstance(shape, (tuple, list)):
            raise ArgumentError(f"export_model: {argument}: expected {expected} for {name!r}, got {describe(shape)}.")
        shapes[name] = tuple(shape)
    return shapes


def _entries(count: Any) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _dtypes(in_types: Any, names: Sequence[str]) -> dict[str, numpy.dtype]:
    if not isinstance(in_types, (list, tuple, Mapping)):
        in_types = [in_types] * len(names)
    if isinstance(in_types, Mapping):
        in_types = [in_types.get(name, "float32") for name in names]
    if len(in_types) == 1:
        in_types = list(in_types) * len(names)
    if len(in_types) != len(names):
        raise ArgumentError(
            f"export_model: in_types has {_entries(len(in_types))}, and the inputs are {len(names)}: "
            f"{', '.join(map(repr, names))}. Give one dtype, or one for each."
        )
    try:
        return {name: numpy.dtype(dtype) for name, dtype in zip(names, in_types, strict=True)}
    except TypeError as error:
        raise ArgumentError(f"export_model: in_types: expected dtypes, such as 'float32' ({error}).") from None


def chosen_opset(opset: int | None) -> int:
    """Return the version of ONNX's operators to write: by default the newest that is stable here.

    Raises
    ------
    ArgumentError
        If it is older than 13, or newer than what is installed knows.
    """
    onnx = require("onnx")
    newest = min(_NEWEST, onnx.defs.onnx_opset_version())
    if opset is None:
        return newest
    if not isinstance(opset, (int, numpy.integer)) or not _OLDEST <= opset <= newest:
        raise ArgumentError(
            f"export_model: opset={opset!r}; expected an int from {_OLDEST} to {newest}, the newest that onnx "
            f"{onnx.__version__} and this exporter know."
        )
    return int(opset)
