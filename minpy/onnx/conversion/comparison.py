"""An ONNX file and a symbol run on the same inputs: how far each output differs, for one or two sizes of open axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.context import cpu
from minpy.core.errors import CheckError
from minpy.inspection.report_text import shape_text, table
from minpy.onnx.comparing import OutputRow, difference, drawn_input
from minpy.onnx.running import run_model, runtime_name

__all__ = ["compare", "comparison_table"]


def compare(
    model_file: str,
    symbol: Any,
    parameters: Mapping[str, Any],
    sizes: Sequence[Mapping[str, tuple[int, ...]]],
    dtypes: Mapping[str, str],
) -> list[OutputRow]:
    """Run an ONNX file and a symbol, and return a row an output.

    Parameters
    ----------
    model_file : str
    symbol : Symbol
    parameters : mapping of str to NDArray
        Arguments and auxiliary states by name.
    sizes : sequence of mapping of str to tuple of int
        The shapes of the inputs, by name, once for each size that is tried.
    dtypes : mapping of str to str
        Of the inputs.

    Raises
    ------
    CheckError
        If the numbers of outputs differ, or an output is further off than rounding explains.
    """
    rows: list[OutputRow] = []
    for shapes in sizes:
        drawn = {name: drawn_input(shape, dtypes[name], seed) for seed, (name, shape) in enumerate(shapes.items())}
        from_file = run_model(model_file, drawn)
        from_symbol = _run(symbol, parameters, drawn)
        if len(from_file) != len(from_symbol):
            raise CheckError(f"{model_file!r} has {len(from_file)} outputs, and the symbol {len(from_symbol)}.")
        for position, ((name, one), other) in enumerate(zip(from_file.items(), from_symbol, strict=True)):
            distance = difference(one, other)
            if not distance.is_close:
                where = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
                raise CheckError(
                    f"the output {name!r} of {model_file!r} for {where or 'no inputs'}, run by {runtime_name()}, "
                    f"and the symbol's differ: {distance}."
                )
            before = rows[position] if position < len(rows) else OutputRow(name, (), "", 0.0, 0.0, 0)
            rows[position : position + 1] = [
                OutputRow(
                    *(name, tuple(one.shape), one.dtype.name),
                    *(max(before.absolute, distance.absolute), max(before.relative, distance.relative)),
                    before.sizes + 1,
                )
            ]
    return rows


def _run(symbol: Any, parameters: Mapping[str, Any], drawn: Mapping[str, numpy.ndarray]) -> list[numpy.ndarray]:
    arrays = {**parameters, **{name: nd.array(array, dtype=array.dtype) for name, array in drawn.items()}}
    arguments = {name: arrays[name] for name in symbol.list_arguments()}
    states = {name: arrays[name] for name in symbol.list_auxiliary_states()}
    executor = symbol.bind(cpu(), arguments, aux_states=states, grad_req="null")
    return [array.asnumpy() for array in executor.forward(is_train=False)]


def comparison_table(rows: Sequence[Any]) -> list[str]:
    """Return the lines of a table of the largest differences by output.

    >>> print(*comparison_table([OutputRow('y', (2, 3), 'float32', 1e-7, 2e-7, 2)]), sep=chr(10))
      output  shape   dtype    largest difference  relative  sizes tried
      y       (2, 3)  float32               1e-07     2e-07            2
    """
    texts = []
    for row in rows:
        distances = [f"{row.absolute:.3g}", f"{row.relative:.3g}"]
        texts.append([row.output, shape_text(row.shape), str(row.dtype), *distances, str(row.sizes)])
    heads = ["output", "shape", "dtype", "largest difference", "relative", "sizes tried"]
    return table(heads, texts, right=(3, 4, 5))
