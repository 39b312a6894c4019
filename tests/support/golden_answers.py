"""Answers of minpy beside those of MXNet 1.9.1 that `tests/golden` holds."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import minpy as mx

__all__ = ["difference_between"]

TOLERANCES = {"float16": 2e-3}


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
