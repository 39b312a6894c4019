"""Calls of NumPy's functions as operators that are exported to ONNX: the body of a model-local function each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import translated_calls

import minpy as mx

__all__ = ["CALLS", "ExportedCall", "call_function", "exported_call", "extreme_arrays", "require_equal"]

NAMES = ("a", "b", "v", "s", "t", "i", "j", "m")


def call_function(call: str, scope: Mapping[str, Any] | None = None) -> tuple[Callable[..., Any], list[str]]:
    """Return (a function of the arrays that a call is of, their names)."""
    names = [name for name in NAMES if re.search(rf"\b{name}\b", call)]
    functions = {name: value for name, value in vars(translated_calls).items() if name.startswith("x_")}
    namespace = {"np": np, **functions, **(scope or {})}
    exec(f"def called({', '.join(names)}):\n    return {call}\n", namespace)
    return namespace["called"], names


# Of those over constants only there is nothing to export, and what cannot be traced never gets there.
CALLS = [call for call in translated_calls.CALLS if call_function(call)[1] and call != "np.sum(a, where=a > 1)"]


class ExportedCall(NamedTuple):
    """A call, and the model that was written for it and proved."""

    function: Callable[..., Any]
    names: list[str]
    written: Any  # a `WrittenModel`
    model: Any  # an `onnx.ModelProto`


def exported_call(
    call: str,
    dtype: str = "float64",
    opset: int | None = None,
    dynamic: Mapping[str, Sequence[Any]] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> ExportedCall:
    """Write a call as a model, which is proved.

    Parameters
    ----------
    call : str
        Of NumPy's functions, of arrays that are called as in `translated_calls`.
    dtype : str
        Of the arrays a, b, v, s and t.
    opset : int, optional
    dynamic : mapping, optional
        By the names of arrays, the names of lengths that are open, and None for those that are not.
    arrays : mapping of str to numpy.ndarray, optional
        Whose shapes and dtypes the inputs have, in the place of those of `translated_calls`.
    """
    from minpy.onnx.exporting.proof import prove
    from minpy.onnx.exporting.requests import chosen_opset
    from minpy.onnx.exporting.sources import ExportInput, SymbolSource
    from minpy.onnx.exporting.writing import written

    function, names = call_function(call)
    samples = translated_calls.arrays(dtype) if arrays is None else arrays
    inputs = [
        ExportInput(
            name,
            samples[name].shape,
            samples[name].dtype,
            {axis: length for axis, length in enumerate((dynamic or {}).get(name, ())) if length is not None},
        )
        for name in names
    ]
    with np.errstate(all="ignore"):
        results = function(*(samples[name].copy() for name in names))
    count = len(results) if isinstance(results, (tuple, list)) else None
    operator = mx.customop("numpy", outputs=count)(function) if count else mx.customop("numpy")(function)
    symbol = operator(*map(mx.sym.var, names), name="call")
    model = written(SymbolSource(symbol, inputs, {}), chosen_opset(opset))
    prove(model, model.model)
    return ExportedCall(function, names, model, model.model)


def extreme_arrays(dtype: str) -> dict[str, np.ndarray]:
    """Return arrays as those of `translated_calls`, with nan, infinities, both zeros, ties, negative numbers."""
    with np.errstate(all="ignore"):
        a = np.array([[np.nan, 1.0, -1.5, 0.0], [np.inf, 2.5, 2.5, -np.inf], [-0.0, 0.5, 1.0, 1.0]])
        b = np.array([[1.0, np.nan, 2.0, -0.5], [1.0, -np.inf, 2.5, 3.0], [0.0, -0.0, -2.0, 1.0]])
        t = np.stack([a, b])
        floats = {"a": a, "b": b, "v": np.array([0.5, np.inf, -2.0, 0.5]), "t": t}
        s = np.array([[4.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])
        arrays = {name: array.astype(dtype) for name, array in {**floats, "s": s}.items()}
    arrays["i"] = np.array([[0, -7, 3, 3], [5, 1, -1, 0], [2, 2, -3, 9]])
    arrays["j"] = np.array([2, 0, 3, 1])
    arrays["m"] = np.array([[True, False, False, True], [False] * 4, [True] * 4])
    return arrays


def require_equal(exported: ExportedCall, arrays: Mapping[str, np.ndarray]) -> None:
    """Require that a model computes of arrays what the function does."""
    from minpy.onnx.comparing import difference, tolerances
    from minpy.onnx.running import RuntimeFailure, run_model

    inputs = {name: arrays[name] for name in exported.names}
    with np.errstate(all="ignore"):
        expected = exported.function(*inputs.values())
    outputs = expected if isinstance(expected, (tuple, list)) else [expected]
    try:
        actual = run_model(exported.model, inputs)
    except RuntimeFailure:  # what onnxruntime lacks for a dtype
        actual = run_model(exported.model, inputs, runtime="onnx.reference")
    for output, name in zip(outputs, exported.written.output_names, strict=True):
        output = np.asarray(output)
        relative, absolute = tolerances(output.dtype)
        scale = 1.0
        if output.dtype.kind in "fc":
            scale = max(scale, float(np.abs(output[np.isfinite(output)]).max(initial=0.0)))
        distance = difference(output, actual[name], relative, absolute * scale)
        assert distance.is_close, f"{name}: {distance}; of {inputs}"
