"""Ways into ONNX without files between: of a Gluon block, of a bound executor, of a compiled function."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.capture.places import CaptureRefused
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, describe
from minpy.files import checked_path
from minpy.frameworks.libraries import require
from minpy.frameworks.tracing import TracedSteps
from minpy.graph.ir import Value
from minpy.jit.captured_call import capture_call
from minpy.onnx.exporting.export_model import write_proved
from minpy.onnx.exporting.lengths import OpenLengthError
from minpy.onnx.exporting.requests import chosen_opset, export_inputs
from minpy.onnx.exporting.sources import ExportError, ExportInput, FunctionSource, SymbolSource

__all__ = ["export_block", "export_executor", "export_function"]


def export_block(
    block: Any,
    path: str | os.PathLike[str],
    examples: Sequence[Any],
    dynamic: Any = False,
    opset: int | None = None,
    check: bool = True,
) -> str:
    """Write a block as an ONNX model. This is `HybridBlock.export_onnx`: see there."""
    require("onnx")
    function = f"{block.name}.export_onnx"
    if not examples:
        raise ArgumentError(f"{function}: expected an example of each input, such as net.export_onnx(path, data).")
    block(*examples)  # parameters get their shapes; what it raises says what is wrong with the examples
    graph, leaves = block._graphs.find(block, block._as_called(*examples))
    if dynamic and block._graphs.asks_for_shapes:
        raise OpenLengthError(
            f"{function}: it is written as forward, which is captured for the lengths of the examples: nothing says "
            "that it does the same for others. Write it as hybrid_forward, or export a model for each length, without "
            "dynamic."
        )
    inputs = {
        variable.name: _array(function, leaf)
        for variable, leaf in zip(graph.inputs, leaves, strict=True)
        if variable is not None
    }
    sources = {**block._parameters_by_name(), **graph.lasting_inputs()}
    names = graph.out.list_inputs()
    parameters = {
        name: numpy.asarray((source._reduce() if hasattr(source, "_reduce") else source).asnumpy())
        for name, source in sources.items()
        if name in names and name not in inputs
    }
    return _exported(graph.out, inputs, parameters, block.name, path, dynamic, opset, check)


def export_executor(
    executor: Any,
    path: str | os.PathLike[str],
    inputs: Sequence[str],
    dynamic: Any = False,
    opset: int | None = None,
    check: bool = True,
) -> str:
    """Write a bound graph as an ONNX model. This is `Executor.export_onnx`: see there."""
    require("onnx")
    symbol = executor._symbol
    arrays = {**executor.arg_dict, **executor.aux_dict}
    names = [inputs] if isinstance(inputs, str) else list(inputs)
    unknown = [name for name in names if name not in executor.arg_dict]
    if unknown:
        raise ArgumentError(
            f"Executor.export_onnx: there is no argument {unknown[0]!r}; the arguments are "
            f"{', '.join(map(repr, executor.arg_dict))}."
        )
    given = {name: arrays[name].asnumpy() for name in names}
    parameters = {name: array.asnumpy() for name, array in arrays.items() if name not in names}
    return _exported(symbol, given, parameters, "", path, dynamic, opset, check)


def _exported(
    symbol: Any,
    arrays: dict[str, numpy.ndarray],
    parameters: dict[str, numpy.ndarray],
    name: str,
    path: str | os.PathLike[str],
    dynamic: Any,
    opset: int | None,
    check: bool,
) -> str:
    read = [each for each in symbol.list_inputs() if each in arrays]
    open_shapes = None if isinstance(dynamic, bool) else dynamic
    shapes = {each: arrays[each].shape for each in read}
    dtypes = {each: arrays[each].dtype for each in read}
    inputs = export_inputs(symbol, parameters, shapes, dtypes, bool(dynamic), open_shapes)
    source = SymbolSource(symbol, inputs, parameters, name)
    return write_proved(source, checked_path("export_onnx", path), chosen_opset(opset), check=check).path


def export_function(
    function: Any, path: str | os.PathLike[str], examples: Sequence[Any], opset: int | None = None, check: bool = True
) -> str:
    """Write a compiled function as an ONNX model. This is `CompiledFunction.export_onnx`: see there."""
    require("onnx")
    title = getattr(function, "__name__", "function")
    arrays = [_array(f"{title}.export_onnx", example) for example in examples]
    try:
        captured = capture_call(function, title, examples, {})
    except CaptureRefused as error:
        raise ExportError(f"{title}.export_onnx: it cannot become a graph: {error.reason}.") from error
    if captured.writes:
        raise ExportError(
            f"{title}.export_onnx: it changes its arguments, which an ONNX model cannot. Return the result."
        )
    outputs = [captured.outputs[result.value] for result in captured.results if result.kind == "output"]
    if len(outputs) != len(captured.results):
        raise ExportError(
            f"{title}.export_onnx: it returns an argument, an array of another place, or a constant as it is; a model "
            "has outputs that it computes."
        )
    if captured.group is not None and captured.group.nodes:
        raise ExportError(
            f"{title}.export_onnx: it calls a Gluon block. Export the block: block.export_onnx(path, ...)."
        )
    variables = [Value(node) for node in captured.inputs]
    steps = TracedSteps(title, variables, outputs, captured.recorder, captured.reads)  # type: ignore[arg-type]
    names = _argument_names(function, len(arrays))
    inputs = [ExportInput(name, array.shape, array.dtype) for name, array in zip(names, arrays, strict=True)]
    source = FunctionSource(steps, inputs)
    return write_proved(source, checked_path("export_onnx", path), chosen_opset(opset), check=check).path


def _argument_names(function: Any, count: int) -> list[str]:
    try:
        names = list(inspect.signature(function).parameters)[:count]
    except (TypeError, ValueError):
        names = []
    return names if len(names) == count else [f"input{index}" for index in range(count)]


def _array(function: str, example: Any) -> numpy.ndarray:
    if isinstance(example, Array):
        return numpy.asarray(example.asnumpy())  # type: ignore[attr-defined]
    if isinstance(example, numpy.ndarray):
        return example
    raise ArgumentError(f"{function}: expected arrays as examples, got {describe(example)}.")
