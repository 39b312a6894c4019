"""Turns the rows of a case into a table: plain, or Markdown."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.case import Case
    from harness.measure import Row

HEADINGS = ("implementation", "measured", "spread", "minpy / it", "target", "")
NOTHING = "-"
NOISY = 0.1


UNITS = {
    "s": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "B": (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)),
}


def format_amount(amount: float | None, unit: str) -> str:
    """Three significant digits in the multiple of the unit that suits."""
    if amount is None:
        return NOTHING
    units = UNITS[unit]
    unit, size = next(((unit, size) for unit, size in units if amount >= size), units[-1])
    value = amount / size
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{decimals}f} {unit}"


def ratio(minpy: Row | None, other: Row) -> float | None:
    """The median over the rounds of minpy's time by the other's in the same round."""
    if minpy is None or not minpy.rounds or not other.rounds:
        return None
    return statistics.median(mine / theirs for mine, theirs in zip(minpy.rounds, other.rounds, strict=True))


def group_lines(measured: Sequence[tuple[Case, dict[str, Row]]]) -> list[str]:
    """One line for each group and implementation: the geometric mean of minpy's ratios to it."""
    ratios: dict[tuple[str, str], list[float]] = {}
    targets: dict[tuple[str, str], float | None] = {}
    for case, rows in measured:
        for row in rows.values() if case.group is not None else ():
            value = ratio(rows.get("minpy"), row)
            if row.name != "minpy" and value is not None:
                key = case.group.title, row.name
                ratios.setdefault(key, []).append(value)
                targets[key] = case.group.targets.get(row.name)
    lines = []
    for (title, name), values in ratios.items():
        mean, target = statistics.geometric_mean(values), targets[title, name]
        bound = "" if target is None else f", at most {target:g}: {_verdict(mean, target)}"
        lines.append(f"{title}, {len(values)} cases: geometric mean of minpy / {name} {mean:.3f}{bound}")
    return lines


def _verdict(value: float | None, target: float | None) -> str:
    if value is None or target is None:
        return ""
    return "ok" if value <= target else "MISSED"


def _cells(case: Case, rows: dict[str, Row]) -> list[tuple[str, ...]]:
    minpy = rows.get("minpy")
    table: list[tuple[str, ...]] = []
    for name, row in sorted(rows.items(), key=lambda item: item[0] != "minpy"):
        spread = NOTHING if row.spread is None else f"±{row.spread:.0%}"
        if name == "minpy":
            value, target = row.median, case.limit
            shown, bound = "", "" if target is None else f"<= {format_amount(target, case.unit)}"
        else:
            value, target = ratio(minpy, row), case.targets.get(name)
            shown = NOTHING if value is None else f"{value:.3f}"
            bound = "" if target is None else f"<= {target:g}"
        verdict = "FAILED" if row.failed else _verdict(value, target)
        table.append((name, format_amount(row.median, case.unit), spread, shown, bound, verdict))
    return table


def _notes(rows: dict[str, Row]) -> list[str]:
    """Why an implementation is not there, and whether the numbers were too restless to trust."""
    absent = [f"{row.name}: {row.problem.strip().splitlines()[-1]}" for row in rows.values() if _is_absent(row)]
    noisy = [row.name for row in rows.values() if (row.spread or 0.0) > NOISY]
    return absent + ([f"noisy: {', '.join(noisy)}; measure again on an idle machine"] if noisy else [])


def _is_absent(row: Row) -> bool:
    return bool(row.problem.strip()) and not row.failed


def table(name: str, case: Case, rows: dict[str, Row], markdown: bool) -> str:
    """The table of one case."""
    lines = [HEADINGS, *_cells(case, rows)]
    if markdown:
        rule = ("---", *["---:"] * 4, "---")
        body = ["| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:])]
        return "\n".join([f"### `{name}`", "", case.title, "", *body, *(f"\n- {note}" for note in _notes(rows)), ""])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ["  " + _aligned(line, widths) for line in lines]
    return "\n".join([f"{name}: {case.title}", *body, *(f"  ({note})" for note in _notes(rows)), ""])


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    """The cells of one line: the first and the last to the left, numbers to the right."""
    name, *numbers, verdict = (
        cell.ljust(width) if position in (0, len(line) - 1) else cell.rjust(width)
        for position, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join([name, *numbers, verdict]).rstrip()
