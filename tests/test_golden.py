"""Compares minpy with MXNet 1.9.1 on the snippets of `tests/golden`: the same kinds, shapes, dtypes and numbers.

Where minpy differs on purpose, `golden/differences.py` says why, and our answer is asserted instead.
"""

from __future__ import annotations

import builtins
import importlib
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from many import each

import minpy as mx

GOLDEN = Path(__file__).resolve().parent / "golden"
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "differences.md"

sys.path.insert(0, str(GOLDEN))
try:
    run_case = importlib.import_module("case_runner").run_case
    differences = importlib.import_module("differences")
    TABLES = {group: dict(importlib.import_module(f"{group}_cases").CASES) for group in differences.GROUPS}
finally:
    sys.path.remove(str(GOLDEN))

ANSWERS = {group: json.loads((GOLDEN / f"{group}.json").read_text()) for group in differences.GROUPS}
INTENDED = json.loads((GOLDEN / "intended.json").read_text())
CASES = {
    f"{group}-{name}": (snippet, ANSWERS[group][name], name)
    for group, table in TABLES.items()
    for name, snippet in table.items()
}
# Whole networks: a test each, for workers to share.
LARGE = {name: case for name, case in CASES.items() if name.startswith("zoo-")}
TOLERANCES = {"float16": 2e-3}


@each({name: case for name, case in CASES.items() if name not in LARGE})
def test_case(snippet: str, answer: dict[str, Any], name: str) -> None:
    require_as_recorded(snippet, answer, name)


@pytest.mark.parametrize(("snippet", "answer", "name"), LARGE.values(), ids=LARGE)
def test_network(snippet: str, answer: dict[str, Any], name: str) -> None:
    require_as_recorded(snippet, answer, name)


def require_as_recorded(snippet: str, answer: dict[str, Any], name: str) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():  # NumPy warns of divisions by zero, MXNet does not
        warnings.filterwarnings("ignore", "backward passes through an array")  # nor does it of changed arrays
        warnings.filterwarnings("ignore", ".* ignores .*=")  # nor of what it ignores
        warnings.filterwarnings("ignore", ".* left the gradient of .* unwritten")
        got = run_case(mx, snippet)
    if name in differences.MISSING:
        assert got == {"kind": "error", "error": "AttributeError"}, f"{name} works now: take it out of MISSING"
        return
    if name in differences.INTENDED:
        assert difference_between(got, answer), f"{name} is as in MXNet: take it out of DIFFERENCES"
        if got["kind"] == "error":
            assert got == INTENDED[name]
        answer = INTENDED[name]
    assert not difference_between(got, answer)


def difference_between(got: dict[str, Any], expected: dict[str, Any], path: str = "result") -> str:
    """Return where and how two descriptions differ; an empty text if they do not."""
    if got["kind"] != expected["kind"]:
        return f"{path} is {describe(got)}, expected {describe(expected)}"
    if got["kind"] in ("list", "tuple"):
        items, others = got["items"], expected["items"]
        if len(items) != len(others):
            return f"{path} has {len(items)} items, expected {len(others)}"
        parts = (difference_between(*pair, f"{path}[{i}]") for i, pair in enumerate(zip(items, others, strict=True)))
        return next(filter(None, parts), "")
    if got["kind"] == "error":
        return "" if is_a(got["error"], expected["error"]) else f"{path} is {got['error']}, not {expected['error']}"
    for what in ("shape", "dtype", "type"):
        if got.get(what) != expected.get(what):
            return f"{path} has {what} {got.get(what)}, expected {expected.get(what)}"
    values, others = got.get("values"), expected.get("values")
    if got["kind"] in ("array", "numpy", "number"):
        tolerance = TOLERANCES.get(got.get("dtype", ""), 1e-5)
        same = np.allclose(values, others, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        same = values == others
    return "" if same else f"{path} is {values}, expected {others}"


def is_a(error: str, kind: str) -> bool:
    """Tell whether an error of ours may stand for MXNet's: any MXNetError, one of the same kind, or an IndexError."""
    ours = getattr(mx.core.errors, error, None) or getattr(builtins, error, Exception)
    theirs = getattr(builtins, kind, Exception)
    return issubclass(ours, (mx.MXNetError, theirs, IndexError))


def describe(description: dict[str, Any]) -> str:
    """Return a description in one line."""
    return ", ".join(str(description[key]) for key in ("kind", "error", "shape", "values") if key in description)


def test_every_difference_is_a_case() -> None:
    names = Counter(name for table in TABLES.values() for name in table)
    assert all(names[name] == 1 for name in (*differences.INTENDED, *differences.MISSING))
    assert set(INTENDED) == set(differences.INTENDED)
    assert not set(differences.INTENDED) & set(differences.MISSING)


@each({f"{number} {one.row()[2:40]}": (one.row(),) for number, one in enumerate(differences.DIFFERENCES)}, at_once=100)
def test_differences_are_documented(row: str) -> None:
    assert row in DOCUMENT.read_text().splitlines()


def test_the_comparison_sees_differences() -> None:
    two = {"kind": "array", "shape": [1], "dtype": "float32", "values": [2.0]}
    assert not difference_between(two, dict(two))
    assert "shape" in difference_between(two, {**two, "shape": [1, 1]})
    assert "dtype" in difference_between(two, {**two, "dtype": "float64"})
    assert "expected [2.1]" in difference_between(two, {**two, "values": [2.1]})
    assert difference_between({"kind": "list", "items": [two]}, {"kind": "list", "items": [two, two]})
    assert difference_between({"kind": "error", "error": "KeyError"}, {"kind": "error", "error": "TypeError"})
    assert not difference_between({"kind": "error", "error": "ShapeError"}, {"kind": "error", "error": "TypeError"})
