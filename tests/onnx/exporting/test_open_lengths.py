"""Functions of a length that may be any: each is exported and right for all lengths, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from functions_of_lengths import CHOOSING, COMPUTED, FROM_TWO_ON, LENGTHS, SHAPE, STEADY
from many import each

import minpy as mx
from minpy import customop

onnx = pytest.importorskip("onnx", minversion="1.16", reason="exports models to ONNX")

from minpy.onnx.exporting.lengths import OpenLengthError  # noqa: E402 - it stands on onnx
from minpy.onnx.exporting.sources import ExportError  # noqa: E402
from minpy.onnx.running import LoadedModel, RuntimeFailure  # noqa: E402


def exported(function: Callable[..., Any], path: Path, *shapes: Any, opens: Any = None, dtype: Any = "float32") -> Any:
    """Export a function of arrays, of which the first length of the first is open, and return the model."""
    names = [f"x{position}" for position in range(len(shapes))]
    symbol = customop("numpy")(function)(*map(mx.sym.var, names), name="node")
    dynamic = opens or [("n", *shapes[0][1:]), *shapes[1:]]
    mx.onnx.export_model(symbol, {}, list(shapes), dtype, str(path), dynamic=True, dynamic_input_shapes=dynamic)
    return LoadedModel(onnx.load(path))


@each({name: (function,) for name, function in {**STEADY, **COMPUTED}.items()})
def test_what_follows_from_lengths_is_right_for_any(function: Callable[[Any], Any]) -> None:
    with TemporaryDirectory() as folder:
        model = exported(function, Path(folder, "open.onnx"), SHAPE)
    for length in LENGTHS:
        x = np.random.RandomState(length).uniform(size=(length, *SHAPE[1:])).astype("float32")
        (result,) = model.run({"x0": x}).values()
        np.testing.assert_allclose(result, function(x), 1e-4, 1e-6, err_msg=str(length))


@each({name: (function,) for name, function in {**CHOOSING, **FROM_TWO_ON}.items()})
def test_what_chooses_by_a_length_is_refused(function: Callable[[Any], Any]) -> None:
    with TemporaryDirectory() as folder:
        with pytest.raises((ExportError, OpenLengthError), match=r"length|differs"):
            exported(function, Path(folder, "refused.onnx"), SHAPE)
        assert not list(Path(folder).iterdir())


def test_fixed_lengths_are_told_from_those_that_are_tried(tmp_path: Path) -> None:
    def chosen(x, *others):
        return x * 2.0 if x.shape[0] > 50 else x

    shapes = [(4, 11), *((length,) for length in (73, 82, 2063, 563, 251))]
    with pytest.raises(ExportError, match=r"it chooses by the length of a dynamic axis"):
        exported(lambda x, a, b, c, d, e: chosen(x), tmp_path / "chosen.onnx", *shapes)
    model = exported(
        lambda x, a, b, c, d, e: x / x.shape[0] * a.shape[0] + b.shape[0] if b.shape[0] > 80 else x,
        tmp_path / "fixed.onnx",
        *shapes,
    )
    arrays = {f"x{position}": np.ones(shape, "float32") for position, shape in enumerate(shapes)}
    arrays["x0"] = np.ones((73, 11), "float32")
    (result,) = model.run(arrays).values()
    np.testing.assert_allclose(result, np.full((73, 11), 83.0))


def test_tables_of_positions_are_as_long_as_they_are(tmp_path: Path) -> None:
    table = np.random.RandomState(0).uniform(size=(512, 3)).astype("float32")
    model = exported(lambda x: (x + table[: x.shape[0]]) / x.shape[0], tmp_path / "table.onnx", SHAPE)
    for length in (1, 2, 100, 512):
        (result,) = model.run({"x0": np.ones((length, 3), "float32")}).values()
        np.testing.assert_allclose(result, (1.0 + table[:length]) / length, 1e-6)
    with pytest.raises(RuntimeFailure):  # as ours does
        model.run({"x0": np.ones((513, 3), "float32")})


def test_bounds_of_built_in_operators_are_exceeded(tmp_path: Path) -> None:
    data = mx.sym.slice(mx.sym.var("data"), begin=(0,), end=(9000,))
    symbol = customop("numpy")(lambda x: x / x.shape[0])(data, name="node")
    path = str(tmp_path / "model.onnx")
    with pytest.raises(OpenLengthError, match=r"follows from lengths in another way"):
        mx.onnx.export_model(symbol, {}, [SHAPE], "float32", path, dynamic=True, dynamic_input_shapes=[("n", 3)])


def test_lengths_that_are_too_long_to_try_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OpenLengthError, match=r"may be bounded by 40000000, and inputs that are longer have too many"):
        exported(lambda x: x[:40_000_000] * 2.0, tmp_path / "model.onnx", SHAPE)
