"""Symbols exported to ONNX in tests, with their proof."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minpy as mx

OPSETS = (13, 17, 18, 21, 28)


def exported(
    symbol: Any,
    shapes: dict[str, Sequence[int]],
    params: dict[str, Any] | None = None,
    dtypes: Any = "float32",
    dynamic: dict[str, Sequence[Any]] | None = None,
    opset: int | None = None,
    example_inputs: dict[str, Any] | None = None,
) -> Any:
    """Export a symbol, let it be proved, and return the `onnx.ModelProto`."""
    import onnx

    from minpy.onnx.exporting.export_model import export_model_with_report

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        exported_model = export_model_with_report(
            symbol,
            params or {},
            dict(shapes),
            dtypes,
            path,
            dynamic=dynamic is not None,
            dynamic_input_shapes=dynamic or None,
            opset=opset,
            example_inputs=example_inputs,
        )
        assert len(exported_model.rows) == len(symbol.list_outputs())
        sizes = 1 if dynamic is None else 2
        if example_inputs is None:
            assert all(row.sizes == sizes for row in exported_model.rows)
        else:  # drawn ones may be no inputs for it
            assert all(1 <= row.sizes <= sizes + 1 for row in exported_model.rows)
        return onnx.load(path)


def parameters_of(symbol: Any, seed: int = 0, **shapes: Sequence[int]) -> dict[str, Any]:
    """Return drawn parameters for all inputs of a symbol but those whose shapes are given."""
    generator = np.random.default_rng(seed)
    arguments, _, states = symbol.infer_shape(**shapes)
    drawn = {
        name: generator.standard_normal(shape) * 0.3
        for name, shape in zip(symbol.list_arguments(), arguments, strict=True)
        if name not in shapes and not name.endswith("label")
    }
    drawn |= {
        name: generator.uniform(0.5, 1.5, shape)
        for name, shape in zip(symbol.list_auxiliary_states(), states, strict=True)
    }
    return {name: mx.nd.array(array, dtype="float32") for name, array in drawn.items()}


def op_types(model: Any) -> list[str]:
    """Return the operators of a model's nodes, in order."""
    return [node.op_type for node in model.graph.node]


def as_customop(function: Callable[..., Any]) -> Any:
    """Return a function of NumPy's as an operator of its own."""
    return mx.customop("numpy")(function)
