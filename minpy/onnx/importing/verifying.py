"""A symbol compared with the ONNX model that it was made of, on inputs that are drawn."""

from __future__ import annotations

from typing import Any

import numpy

from minpy import ndarray as nd
from minpy import symbol as sym
from minpy.context import cpu
from minpy.core.errors import CheckError
from minpy.onnx.comparing import difference, drawn_input
from minpy.onnx.importing.lengths import Length
from minpy.onnx.running import run_model, runtime_name

__all__ = ["run_symbol", "verify"]

# Lengths that are not known are tried as this.
_TRIED = 2


def run_symbol(symbol: Any, arrays: dict[str, numpy.ndarray]) -> list[numpy.ndarray]:
    """Return what a symbol computes of arrays by the names of its variables."""
    placed = {name: nd.array(array, dtype=array.dtype) for name, array in arrays.items()}
    arguments = {name: placed[name] for name in symbol.list_arguments()}
    states = {name: placed[name] for name in symbol.list_auxiliary_states()}
    executor = symbol.bind(cpu(), arguments, aux_states=states, grad_req="null")
    return [array.asnumpy() for array in executor.forward(is_train=False)]


def verify(function: str, name: str, model: Any, importer: Any, symbol: Any, inputs: list[str]) -> None:
    """Run the symbol and the model, and raise where they differ.

    Raises
    ------
    CheckError
        With the first node whose output differs, and both numbers.
    """
    drawn = {}
    for seed, entry in enumerate(inputs):
        tensor = importer.tensors[entry]
        shape = [_TRIED if isinstance(length, Length) else length for length in tensor.shape or ()]
        drawn[entry] = drawn_input(shape, tensor.dtype, seed)
    arrays = drawn | importer.arguments | importer.auxiliaries
    expected = run_model(model, drawn)
    actual = run_symbol(symbol, arrays)
    pairs = zip(model.graph.output, actual, strict=True)
    if all(difference(expected[output.name], array).is_close for output, array in pairs):
        return
    values = run_model(model, drawn, every_output=True)
    for node in model.graph.node:
        for output in node.output:
            tensor = importer.tensors.get(output)
            if tensor is None or tensor.symbol is None or output not in values:
                continue
            head = sym.identity(tensor.symbol) if tensor.symbol.values[0].node.operator is None else tensor.symbol
            (array,) = run_symbol(head, {key: arrays[key] for key in arrays})
            found = difference(values[output], array)
            if not found.is_close:
                raise CheckError(
                    f"{function}: {name} does not compute here what {runtime_name()} computes: the first output that "
                    f"differs is {output!r} of node {node.name or output!r} ({node.op_type}): {found}."
                )
    output, array = next(
        (output, array)
        for output, array in zip(model.graph.output, actual, strict=True)
        if not difference(expected[output.name], array).is_close
    )
    raise CheckError(
        f"{function}: the output {output.name!r} of {name} differs from {runtime_name()}'s: "
        f"{difference(expected[output.name], array)}."
    )
