"""`onnx.backend.test`: each case of nodes and models computes what it must, or is refused for a reason in a table.

The table, `refused_backend_cases.json`, holds by parts of the refusals' texts the cases that are refused. It holds both
ways: a case in it that is imported, and one outside of it that is refused, fail.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx_backend_cases import KINDS, BackendCase, backend_cases, with_constants

import minpy as mx
from minpy.onnx import import_model

onnx = pytest.importorskip("onnx", minversion="1.16", reason="runs the cases of onnx.backend.test")
if not onnx.__version__.startswith("1.23."):
    pytest.skip("the table is of the cases of onnx 1.23", allow_module_level=True)

from minpy.onnx.comparing import difference  # noqa: E402
from minpy.onnx.importing.verifying import run_symbol  # noqa: E402

REFUSED: dict[str, list[str]] = json.loads((Path(__file__).parent / "refused_backend_cases.json").read_text())
# float16 is rounded in other places than in the definitions that ONNX's own results are of.
LEAST = {"float16": (2e-3, 1e-3)}
# Cases are drawn by their number, so that each part has some of all operators.
PARTS = 16


@cache
def reasons() -> dict[str, str]:
    return {name: reason for reason, names in REFUSED.items() for name in names}


def imported(case: BackendCase):
    """Return what the model becomes, and the case whose inputs it takes: constants for what has to be known."""
    try:
        return import_model(case.model), case
    except mx.base.MXNetError:
        constant = with_constants(case)
        if constant is None:
            raise
        return import_model(constant.model), constant


def problem(case: BackendCase) -> str | None:
    """Return what is wrong with a case."""
    reason = reasons().get(case.name)
    try:
        (symbol, arguments, states), case = imported(case)
    except mx.base.MXNetError as error:
        if reason is None:
            return f"it is refused, and the table does not have it: {error}"
        return None if reason in str(error) else f"it is refused for another reason than {reason!r}: {error}"
    if reason is not None:
        return f"it is imported, and the table has it as refused: {reason}"
    parameters = {name: array.asnumpy() for name, array in {**arguments, **states}.items()}
    fixed = {tensor.name for tensor in case.model.graph.initializer}
    names = [value.name for value in case.model.graph.input if value.name not in fixed]
    for inputs, expected in case.examples:
        results = run_symbol(symbol, dict(zip(names, inputs, strict=True)) | parameters)
        for wanted, result in zip(expected, results, strict=True):
            rtol, atol = LEAST.get(wanted.dtype.name, (case.rtol, 1e-6))
            apart = difference(wanted, result, max(rtol, case.rtol), max(atol, case.atol))
            if not apart.is_close:
                return str(apart)
    return None


@pytest.mark.parametrize("part", range(PARTS))
def test_cases_compute_what_they_must_or_are_refused_for_a_reason(part):
    problems = defaultdict(list)
    count = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in KINDS:
            for case in backend_cases(kind)[part::PARTS]:
                text = problem(case)
                count += 1
                if text is not None:
                    problems[kind].append(f"{case.name}: {text}")
    assert not problems, "\n".join(line for lines in problems.values() for line in lines)
    assert count > 50


def test_the_table_names_cases_that_there_are_each_once():
    names = [name for listed in REFUSED.values() for name in listed]
    assert len(names) == len(set(names))
    there = {case.name for kind in KINDS for case in backend_cases(kind)}
    assert set(names) <= there, set(names) - there
