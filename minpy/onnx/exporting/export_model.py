"""`export_model`: a symbol and its parameters as an ONNX file that was run and compared before it is there."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy

from minpy.core.errors import ArgumentError
from minpy.files import checked_path, write_file
from minpy.frameworks.libraries import require
from minpy.onnx.comparing import OutputRow
from minpy.onnx.exporting.proof import prove
from minpy.onnx.exporting.requests import (
    chosen_opset,
    example_arrays,
    export_inputs,
    loaded_parameters,
    loaded_symbol,
)
from minpy.onnx.exporting.sources import Source, SymbolSource
from minpy.onnx.exporting.writing import written

__all__ = ["Exported", "export_model", "export_model_with_report", "write_proved"]

_LOGGER = logging.getLogger("minpy.onnx")
# Protocol Buffers hold 2 GB; larger models have their weights in a file beside them.
_LARGEST_MESSAGE = 1_900_000_000


class Exported(NamedTuple):
    """What was exported: the file, and how far each output was from the graph's (empty with `check=False`)."""

    path: str
    rows: list[OutputRow]


def export_model(
    sym: Any,
    params: Any,
    in_shapes: Any = None,
    in_types: Any = numpy.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
    *,
    opset: int | None = None,
    check: bool = True,
    example_inputs: Mapping[str, Any] | None = None,
) -> str:
    """Write a symbol and its parameters as an ONNX model, after it was run and compared with the symbol.

    Parameters
    ----------
    sym : Symbol, str or PathLike
        The symbol, or the file that it is in.
    params : dict of str to NDArray, str or PathLike
        Arguments and auxiliary states, with or without 'arg:' and 'aux:' before their names; or the file that they
        are in.
    in_shapes : list of tuple of int, or dict of str to tuple of int
        The shape of each input that is no parameter, in the order of `sym.list_inputs()`. Labels may be left out.
    in_types : dtype, or list of dtype
        One for all inputs, or one for each.
    onnx_file_path : str or PathLike
    verbose : bool
        Whether what is written is logged.
    dynamic : bool
        Whether some axes may have any length: those of `dynamic_input_shapes`, by default the first ones.
    dynamic_input_shapes : list of tuple of int, str or None, optional
        The shape of each input, with the name of a length, or None, for an axis that may have any. Axes of one name
        are equally long.
    run_shape_inference : bool
        Whether shapes of all values between are stored in the model.
    input_type, input_shape : optional
        Older spellings of `in_types` and `in_shapes`.
    opset : int, optional
        The version of ONNX's operators, 13 or later; by default the newest that is stable.
    check : bool
        Whether the model is checked by onnx, run by onnxruntime (by onnx's reference evaluator where that is missing)
        on drawn inputs, for two sizes of each dynamic axis, and compared with the symbol.
    example_inputs : mapping of str to array, optional
        Inputs to compare on, beside the drawn ones, e.g. where indices have to be in a range. Drawn ones that the
        symbol refuses are then left out.

    Returns
    -------
    str
        `onnx_file_path`.

    Raises
    ------
    MissingDependencyError
        If onnx is not installed.
    ArgumentError
        If an argument is not right, or parameters are missing.
    ExportError
        If nodes have no equal in ONNX (the text lists all), or an output differs (the text names the first node that
        does, with both numbers). What was at `onnx_file_path` before is there still.

    Examples
    --------
    >>> import os, tempfile
    >>> import onnx
    >>> import minpy as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc')
    >>> params = {'fc_weight': mx.nd.ones((2, 3)), 'fc_bias': mx.nd.zeros(2)}
    >>> path = mx.onnx.export_model(net, params, [(1, 3)], onnx_file_path=os.path.join(tempfile.mkdtemp(), 'fc.onnx'))
    >>> [node.op_type for node in onnx.load(path).graph.node]
    ['Gemm']
    """
    in_shapes = _older_spelling("input_shape", input_shape, "in_shapes", in_shapes)
    in_types = input_type if input_type is not None else in_types
    return export_model_with_report(
        sym,
        params,
        in_shapes,
        in_types,
        onnx_file_path,
        verbose,
        dynamic,
        dynamic_input_shapes,
        run_shape_inference,
        opset,
        check,
        example_inputs,
    ).path


def export_model_with_report(
    sym: Any,
    params: Any,
    in_shapes: Any,
    in_types: Any,
    onnx_file_path: str | os.PathLike[str],
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    opset: int | None = None,
    check: bool = True,
    example_inputs: Mapping[str, Any] | None = None,
) -> Exported:
    """Write a model as `export_model`, and return how far each of its outputs was from the symbol's, too."""
    require("onnx")
    path = checked_path("export_model", onnx_file_path)
    number = chosen_opset(opset)
    symbol, parameters = loaded_symbol(sym), loaded_parameters(params)
    inputs = export_inputs(symbol, parameters, in_shapes, in_types, dynamic, dynamic_input_shapes)
    examples = None if example_inputs is None else example_arrays(inputs, example_inputs)
    return write_proved(
        SymbolSource(symbol, inputs, parameters),
        path,
        number,
        verbose=verbose,
        run_shape_inference=run_shape_inference,
        check=check,
        example_inputs=examples,
    )


def write_proved(
    source: Source,
    path: str,
    opset: int,
    *,
    verbose: bool = False,
    run_shape_inference: bool = False,
    check: bool = True,
    example_inputs: Mapping[str, numpy.ndarray] | None = None,
) -> Exported:
    """Write a graph as an ONNX file, after the model was run and compared with it."""
    exported = written(source, opset)
    model = exported.model
    if run_shape_inference:
        import onnx

        model = exported.model = onnx.shape_inference.infer_shapes(model)
    if verbose:
        _LOGGER.info("%d nodes, %d functions, opset %d", len(model.graph.node), len(model.functions), opset)
    if sum(array.nbytes for array in source.parameters.values()) > _LARGEST_MESSAGE:
        return _write_with_weights_beside(path, exported, check, example_inputs)
    content = model.SerializeToString()
    rows = prove(exported, model, example_inputs, content) if check else []
    write_file("export_model", path, [content])
    return Exported(path, rows)


def _write_with_weights_beside(path: str, exported: Any, check: bool, examples: Any) -> Exported:
    """Write a model whose weights are in a file beside it, PATH.data; both are compared before they get their names."""
    import onnx

    folder, name = os.path.split(os.path.abspath(path))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".minpy-") as temporary:
        beside = os.path.join(temporary, name)
        onnx.save(exported.model, beside, save_as_external_data=True, location=f"{name}.data")
        rows = prove(exported, beside, examples) if check else []
        weights, kept = os.path.join(folder, f"{name}.data"), os.path.join(temporary, "before")
        if os.path.exists(weights):
            os.replace(weights, kept)
        try:
            for each in (f"{name}.data", name):
                os.replace(os.path.join(temporary, each), os.path.join(folder, each))
        except OSError:
            if os.path.exists(kept):  # the model that is there reads these
                os.replace(kept, weights)
            raise
    return Exported(path, rows)


def _older_spelling(old: str, old_value: Any, new: str, value: Any) -> Any:
    if old_value is None:
        return value
    if value is not None:
        raise ArgumentError(f"export_model: {old} is an older spelling of {new}; give one of them.")
    return old_value
