"""A report as text: tables in columns, numbers and sizes for reading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from minpy.inspection.findings import Findings, Fit, Layer

__all__ = ["WIDTH", "amount", "shape_text", "size_text", "table", "text", "wrapped"]

WIDTH = 100


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), indent: int = 2) -> list[str]:
    """Return the lines of a table, at most `WIDTH` wide: the first column is shortened.

    Examples
    --------
    >>> print(*table(['name', 'count'], [['one', '1'], ['eleven', '11']], right=[1], indent=0), sep=chr(10))
    name    count
    one         1
    eleven     11
    """
    all_rows = [list(heads), *map(list, rows)]
    widths = [max(len(row[column]) for row in all_rows) for column in range(len(heads))]
    available = WIDTH - indent - 2 * (len(heads) - 1) - sum(widths[1:])
    widths[0] = max(min(widths[0], available), 8)
    lines = []
    for row in all_rows:
        cells = [shortened(text, width) for text, width in zip(row, widths, strict=True)]
        cells = [
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return lines


def shortened(text: str, width: int) -> str:
    """Return a text of at most this width: the middle of a longer one is left out.

    Examples
    --------
    >>> shortened('resnetv10_stage1_batchnorm0_fwd', 20)
    'resnetv1…chnorm0_fwd'
    """
    if len(text) <= width:
        return text
    tail_length = (width - 1) * 3 // 5
    return f"{text[: width - 1 - tail_length]}…{text[len(text) - tail_length :]}"


def wrapped(text: str, first: str = "", indent: str | None = None) -> list[str]:
    """Return a text in lines of at most `WIDTH`, the first beginning with `first`, the others with `indent`."""
    import textwrap

    after = " " * len(first) if indent is None else indent
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    )


def amount(number: int | None) -> str:
    """Return a number with three or four digits and a unit.

    Examples
    --------
    >>> amount(0), amount(999), amount(118013952), amount(3866000000), amount(None)
    ('0', '999', '118.0 M', '3.866 G', '?')
    """
    if number is None:
        return "?"
    if number < 1000:
        return str(number)
    value, units = number / 1000, ["k", "M", "G", "T", "P"]
    while value >= 999.95 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.{max(0, 4 - len(str(int(value))))}f} {units[0]}"


def size_text(count: int | None) -> str:
    """Return a number of bytes, in KiB, MiB, GiB or TiB.

    Examples
    --------
    >>> size_text(512), size_text(3 * 1024 * 1024 // 2), size_text(None)
    ('512 B', '1.5 MiB', '?')
    """
    if count is None:
        return "?"
    if count < 1024:
        return f"{count} B"
    value, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while value >= 999.95 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f} {units[0]}"


def shape_text(shape: Any) -> str:
    """Return a shape as Python writes it, with `?` for what is not known.

    Examples
    --------
    >>> shape_text((1, -1, 3)), shape_text(None)
    ('(1, ?, 3)', '?')
    """
    if shape is None:
        return "?"
    lengths = ["?" if length < 0 else str(length) for length in shape]
    return f"({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"


_MOST_ROWS = 40  # of parameters that do not fit


def text(report: Findings) -> str:
    """Return a report as text, 100 columns wide."""
    parts = [_head(report), _inputs(report)]
    if report.unknown:
        parts.append(_unknown(report))
    else:
        parts += [_layers(report.layers), _totals(report), _outputs(report)]
    if report.fit is not None:
        parts.append(_fit(report.fit))
    if report.notes:
        parts.append([line for note in report.notes for line in wrapped(note, "note: ")])
    if report.problem and not report.unknown:
        parts.append(wrapped(report.problem))
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(report: Findings) -> list[str]:
    wrote = f"written by MXNet {report.version}" if report.version else ""
    rows = [("model", report.source), ("parameters", report.params_name or "none: no .params file beside it")]
    if report.source.startswith("<Symbol") and not report.params_name:
        rows[1] = ("parameters", "none are given")
    rows += [("", wrote)] if wrote else []
    shown_facts = ("num_classes", "image_shape", "base_network", "network", "num_layers")
    facts = [f"{name} {report.facts[name]}" for name in shown_facts if name in report.facts]
    rows += [("trained with", ", ".join(facts))] if facts else []
    width = max(len(name) for name, _ in rows) + 2
    return [line for name, value in rows for line in wrapped(value, name.ljust(width))]


def _inputs(report: Findings) -> list[str]:
    rows = []
    for entry in report.inputs:
        text = f"label, for training only; {entry.origin}" if entry.is_label and entry.origin else entry.origin
        rows.append(
            [entry.name, shape_text(entry.shape), entry.dtype, text or ("label" if entry.is_label else "not known")]
        )
    return table(("input", "shape", "dtype", "where from"), rows, indent=0) if rows else []


def _outputs(report: Findings) -> list[str]:
    rows = []
    for entry in report.outputs:
        text = f"{entry.operator}, a loss: gradients start here" if entry.is_loss else entry.operator
        rows.append([entry.name, shape_text(entry.shape), entry.dtype, text])
    return table(("output", "shape", "dtype", "of"), rows, indent=0)


def _prefix(names: list[str]) -> str:
    """Return the common prefix of names, up to an underscore; empty if a name would be left empty."""
    first, last = min(names, default=""), max(names, default="")
    length = next((place for place, (entry, end) in enumerate(zip(first, last, strict=False)) if entry != end), 0)
    common = first[: first.rfind("_", 0, length) + 1]
    return common if len(names) > 1 and len(common) > 3 and all(len(name) > len(common) for name in names) else ""


def _layers(layers: list[Layer]) -> list[str]:
    rows = []
    prefix = _prefix([layer.name for layer in layers])
    for layer in layers:
        detail = re.sub(r"(?<=/)(\d+)(x\1)+\b", r"\1", layer.detail)
        kind = f"{layer.operator} {detail}" if detail and len(detail) <= 20 else layer.operator
        more = f" +{len(layer.shapes) - 1}" if len(layer.shapes) > 1 else ""
        rows.append(
            [
                layer.name[len(prefix) :],
                kind if len(kind) <= 32 else f"{kind[:31]}…",
                shape_text(layer.shapes[0] if layer.shapes else None) + more,
                "?" if layer.parameters is None else f"{layer.parameters:,}" if layer.parameters else "",
                amount(layer.multiply_adds) if layer.multiply_adds != 0 else "",
                size_text(layer.memory),
            ]
        )
    return table(
        (f"layer {prefix}…" if prefix else "layer", "operator", "output", "parameters", "mult-adds", "memory"),
        rows,
        (3, 4, 5),
        0,
    )


def _totals(report: Findings) -> list[str]:
    uncounted = Counter(layer.operator for layer in report.layers if layer.multiply_adds is None)
    lines = []
    count = "?" if report.parameters is None else f"{report.parameters:,}"
    states = f", and {report.states:,} of statistics" if report.states else ""
    kinds = f" of {', '.join(report.dtypes)}" if report.dtypes else ""
    lines += wrapped(f"{count} learned{states}; {size_text(report.parameter_bytes)}{kinds}", "parameters   ")
    if report.multiply_adds is not None:
        prefix = "at least " if uncounted else ""
        by_kind: Counter[str] = Counter()
        for layer in report.layers:
            by_kind[layer.operator] += layer.multiply_adds or 0
        most = [
            f"{kind} {share:.1%}"
            for kind, number in by_kind.most_common(3)
            if report.multiply_adds and (share := number / report.multiply_adds) >= 0.01
        ]
        lines += wrapped(
            f"{prefix}{amount(report.multiply_adds)} (FLOPs: twice as many)" + (f"; {', '.join(most)}" if most else ""),
            "mult-adds    ",
        )
    if uncounted and report.multiply_adds is not None:
        shown = ", ".join(f"{kind} ({number})" if number > 1 else kind for kind, number in uncounted.most_common(8))
        lines += wrapped(f"not counted, as it depends on values or on code of yours: {shown}", "             ")
    if report.activation_bytes is not None:
        lines += wrapped(
            f"{size_text(report.activation_bytes)} of all layers; {size_text(report.peak_bytes)} at the same time in "
            "prediction",
            "activations  ",
        )
    return lines


def _unknown(report: Findings) -> list[str]:
    count = sum(len(entry.nodes) for entry in report.unknown)
    total = sum(report.operators.values())
    lines = [f"{len(report.unknown)} operator(s) are not here, in {count} of {total} nodes:", ""]
    lines += table(
        ("operator", "nodes", "the first"),
        [[entry.name, str(len(entry.nodes)), entry.nodes[0]] for entry in report.unknown],
        right=[1],
    )
    advice: dict[str, list[str]] = {}
    for entry in report.unknown:
        advice.setdefault(entry.advice, []).append(entry.name)
    for text, names in advice.items():
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        lines += ["", *wrapped(f"{shown}: {text}")]
    here = [f"{kind} ({number})" for kind, number in report.operators.items()]
    missing = {entry.name for entry in report.unknown}
    here = [entry for entry in here if entry.rpartition(" ")[0] not in missing and not entry.startswith("Custom ")]
    lines += ["", *wrapped(f"{', '.join(here) or 'none'}", "operators that are here: ", "  ")]
    return lines


def _fit(fit: Fit) -> list[str]:
    if fit.fits and not fit.superfluous and not fit.other_kind:
        return [f"all {fit.fitting} parameters and statistics fit"]
    total = fit.fitting + len(fit.missing) + len(fit.other_shape)
    lines = [f"{fit.fitting} of {total} parameters and statistics fit"]
    lines += wrapped(fit.note) if fit.note else []
    groups = (
        (
            "missing",
            "the file lacks them, and the network cannot be run",
            ("name", "expected"),
            [[name, shape_text(shape)] for name, shape in fit.missing],
        ),
        (
            "of another shape",
            "the file belongs to another network, or its data are of another size: give --data",
            ("name", "got", "expected"),
            [[name, shape_text(got), shape_text(expected)] for name, got, expected in fit.other_shape],
        ),
        (
            "superfluous",
            "the network does not read them, which does no harm",
            ("name", "got"),
            [[name, shape_text(got)] for name, got in fit.superfluous],
        ),
        (
            "of another kind",
            "bind takes them by name all the same",
            ("name", "filed as", "is"),
            [[name, got, expected] for name, got, expected in fit.other_kind],
        ),
    )
    for problem, why, heads, rows in groups:
        if rows:
            lines += ["", f"{len(rows)} {problem}: {why}", *table(heads, rows[:_MOST_ROWS])]
            lines += [f"  and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
    return lines
