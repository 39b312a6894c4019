"""The cases of `onnx.backend.test`: models, the arrays that go in, and what must come out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["KINDS", "BackendCase", "backend_cases", "with_constants"]

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
# Inputs of so few elements say how a node computes: its axes, its shape, its limits.
_FEW = 64


class BackendCase(NamedTuple):
    """A model with examples; inputs and outputs that are no tensors are None."""

    name: str
    model: Any
    examples: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


@cache
def backend_cases(kind: str) -> list[BackendCase]:
    """Return all cases of a kind, by their names."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [_case(kind, entry) for entry in load_model_tests(kind=kind)]
    return sorted(cases, key=lambda case: case.name)


def _case(kind: str, entry: Any) -> BackendCase:
    import onnx

    if kind == "node":
        model, examples = entry.model, entry.data_sets
    else:
        folder = Path(entry.model_dir)
        model = onnx.load(str(folder / "model.onnx"))
        examples = [
            tuple([_tensor(path) for path in _numbered(example, side)] for side in ("input", "output"))
            for example in sorted(folder.glob("test_data_set_*"))
        ]
    arrays = [tuple([_array(value) for value in side] for side in example) for example in examples]
    return BackendCase(entry.name, model, arrays, entry.rtol, entry.atol)


def _numbered(folder: Path, side: str) -> Iterator[Path]:
    number = 0
    while (path := folder / f"{side}_{number}.pb").exists():
        yield path
        number += 1


def _tensor(path: Path) -> Any:
    import onnx

    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
    except Exception:  # a sequence, or an optional value
        return None
    return tensor


def _array(value: Any) -> Any:
    import onnx

    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else None


def with_constants(case: BackendCase) -> BackendCase | None:
    """Return the case with small inputs after the first as constants of its model; None where there are none.

    The nodes' cases have axes, shapes and limits as inputs, which models have as constants.
    """
    import onnx

    if len(case.examples) != 1 or len(case.examples[0][0]) != len(case.model.graph.input):
        return None
    inputs, outputs = case.examples[0]
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    variables = []
    for position, (value, array) in enumerate(zip(model.graph.input, inputs, strict=True)):
        is_lengths = case.name.startswith(("test_constantofshape", "test_range"))
        if array is not None and (position or is_lengths) and array.size <= _FEW and array.dtype.kind in "iubf":
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
        else:
            variables.append(array)
    if len(variables) == len(inputs):
        return None
    return case._replace(model=model, examples=[(variables, outputs)])
