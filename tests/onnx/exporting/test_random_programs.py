"""Random programs as exported operators with two open lengths: proved or refused, and never wrong for other lengths."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from random_programs import program, samples

import minpy as mx

pytest.importorskip("onnx", minversion="1.16", reason="needs onnx")

from minpy.onnx.comparing import difference, tolerances
from minpy.onnx.exporting.lengths import OpenLengthError
from minpy.onnx.exporting.proof import prove
from minpy.onnx.exporting.requests import chosen_opset
from minpy.onnx.exporting.sources import ExportError, ExportInput, SymbolSource
from minpy.onnx.exporting.writing import WrittenModel, written
from minpy.onnx.running import RuntimeFailure, run_model

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of means of nothing, where axes are short

SIZES = ((1, 1), (2, 9), (6, 2), (4, 4), (3, 1), (1, 4), (9, 5), (16, 20))


def exported(seed: int) -> tuple[str, WrittenModel | None, object]:
    """Return (the source of a program, its model; None if it is refused, its function)."""
    source, function = program(seed)
    symbol = mx.customop("numpy")(function)(mx.sym.var("x"), mx.sym.var("y"), name="call")
    inputs = [ExportInput(name, (5, 3), np.dtype("float64"), {0: "n", 1: "k"}) for name in "xy"]
    try:
        model = written(SymbolSource(symbol, inputs, {}), chosen_opset(None))
        prove(model, model.model)
    except (ExportError, OpenLengthError):
        return source, None, function
    return source, model, function


def require_right(seeds: range) -> Counter[str]:
    """Require that what was proved is right for other lengths; count what programs came to."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        source, model, function = exported(seed)
        counts["proved" if model is not None else "refused"] += 1
        if model is None:
            continue
        for n, k in SIZES:
            arrays = dict(zip("xy", samples(n, k, seed), strict=True))
            try:
                with np.errstate(all="ignore"):
                    expected = np.asarray(function(*(array.copy() for array in arrays.values())))  # type: ignore[operator]
            except (ArithmeticError, IndexError, ValueError):
                continue
            try:
                actual = run_model(model.model, arrays)[model.output_names[0]]
            except RuntimeFailure:  # too short for it: an error, and no wrong number
                counts["raised"] += 1
                continue
            relative, absolute = tolerances(expected.dtype)
            distance = difference(expected, actual, relative * 10, absolute * 100)
            assert distance.is_close, f"program({seed}) of {(n, k)}: {distance}\n{source}"
            counts["right"] += 1
    return counts


def test_random_programs_are_right_for_other_lengths_or_refused() -> None:
    counts = require_right(range(24))
    assert counts["proved"] > 18
    assert counts["right"] > 100
    assert counts["raised"] < 20


@pytest.mark.drawn_out
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:.*model does not run on")
def test_many_random_programs_are_right_for_other_lengths_or_refused() -> None:
    counts = require_right(range(24, 1200))
    assert counts["proved"] > 850
    assert counts["raised"] < counts["right"] // 20
