"""Compares minpy with MXNet 1.9.1 on the snippets of `tests/golden`: the same kinds, shapes, dtypes and numbers.

Where minpy differs on purpose, `golden/differences.py` says why, and our answer is asserted instead.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from golden_answers import difference_between
from many import each
from places import GOLDEN, ROOT

import minpy as mx

DOCUMENT = ROOT / "docs" / "differences.md"

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
