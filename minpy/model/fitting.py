"""Whether parameters fit a model: everything that does not, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ParametersError, describe, nearest

__all__ = ["require_fit"]

_SHOWN = 40


def require_fit(
    function: str,
    arrays_by_kind: Mapping[str, Mapping[str, Any] | None],
    expected_by_kind: Mapping[str, Mapping[str, Any]],
    allow_missing: bool = False,
    allow_extra: bool = True,
    advice: str | None = None,
) -> None:
    """Refuse parameters that do not fit, all of them at once."""
    rows: list[tuple[str, str, str, str]] = []
    kinds = dict.fromkeys(("missing", "superfluous", "shape"), 0)
    for noun, expected in expected_by_kind.items():
        arrays = arrays_by_kind.get(noun) or {}
        if not isinstance(arrays, Mapping):
            raise ArgumentError(
                f"{function}: the {noun}s are {describe(arrays)}; expected a dict of names to NDArrays."
            )
        for name, target in expected.items():
            if name not in arrays:
                if not allow_missing:
                    kinds["missing"] += 1
                    spare = [spare_name for spare_name in arrays if spare_name not in expected]
                    rows.append((name, "missing", str(target.shape), nearest(name, spare).strip()))
                continue
            array = arrays[name]
            shape = array.shape if isinstance(array, Array) else getattr(array, "shape", None)
            if shape is None:
                raise ArgumentError(f"{function}: {name!r} is {describe(array)}; expected an NDArray.")
            if tuple(shape) != target.shape:
                kinds["shape"] += 1
                rows.append((name, str(tuple(shape)), str(target.shape), ""))
        if not allow_extra:
            for name in arrays:
                if name not in expected:
                    kinds["superfluous"] += 1
                    rows.append((name, str(tuple(arrays[name].shape)), "not there", ""))
    if rows:
        what_to_do = _advice(kinds) if advice is None else advice
        raise ParametersError(f"{function}: {_summary(kinds)}; nothing was changed.\n{_table(rows)}{what_to_do}")


def _summary(kinds: Mapping[str, int]) -> str:
    words = {"missing": "missing", "superfluous": "superfluous", "shape": "of another shape"}
    parts = [f"{kinds[kind]} {word}" for kind, word in words.items() if kinds[kind]]
    return f"parameters do not fit the model: {', '.join(parts)}"


def _table(rows: list[tuple[str, str, str, str]]) -> str:
    shown = [("parameter", "got", "expected", ""), *rows[:_SHOWN]]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    lines = [
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in shown
    ]
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN} more")
    return "\n".join(lines) + "\n"


def _advice(kinds: Mapping[str, int]) -> str:
    advice = []
    if kinds["missing"]:
        advice.append("Pass allow_missing=True to let an initializer make those that are missing.")
    if kinds["superfluous"]:
        advice.append("Pass allow_extra=True to leave out those that the model does not have.")
    if kinds["shape"]:
        advice.append(
            "For other shapes, take these names out of the dict and pass allow_missing=True, or make the layers of the "
            "sizes that the parameters have."
        )
    return " ".join(advice)
