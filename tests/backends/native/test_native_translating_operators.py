"""Every row of the operator table translated: it computes the same, and what is native stays native."""

from __future__ import annotations

import pytest
from operator_table import ALL_ROWS
from operator_table.row import Row
from places import GOLDEN
from translated import check

from minpy.backends.native.language import Assembly, Call, View
from minpy.backends.native.translating import Translation
from minpy.backends.native.translating.translator import FAILED
from minpy.core import Operator
from minpy.ops.registry import OPERATORS

LIST = GOLDEN / "translated_operators.txt"
# The shape of their answers depends on values: they are in no program.
OUTSIDE = ("_contrib_boolean_mask", "_contrib_boolean_mask-axis")
ROWS = [row for row in ALL_ROWS if row.id not in OUTSIDE]


def operator_of(row: Row) -> Operator:
    return row.operator if row.operator is not None else OPERATORS[row.name]


def translation(row: Row) -> Translation:
    """Return the translation of a row, forward and gradients, held against its program."""
    dtype, tolerance = ("float32", 2e-4) if "float32" in row.dtypes else ("float64", 1e-7)
    differentiable = row.differentiable if row.order else ()
    return check(operator_of(row), row.draw(dtype), row.attributes, differentiable, row.training, tolerance)


def described(row: Row, found: Translation) -> str:
    """Return a line that says how much of a row is native: all steps, none, or some; and why not all."""
    parts = []
    reasons: dict[str, None] = {}
    for part in found.routine.parts:
        calls = [step for step in part.steps if isinstance(step, Call) and step.form is None]
        others = [step for step in part.steps if step not in calls and not isinstance(step, (View, Assembly))]
        parts.append(f"{part.name} {'native' if not calls else 'partly' if others else 'called'}")
        reasons.update(dict.fromkeys(step.reason for step in calls))
    return f"{row.id}: {', '.join(parts)}" + "".join(f" # {reason}" for reason in reasons)


def golden() -> dict[str, str]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


EXPECTED: dict[str, str] = golden() if LIST.exists() else {}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_rows_compute_the_same_and_stay_native(row: Row) -> None:
    found = translation(row)
    assert not [one for one in found.report if one.reason.startswith(FAILED)]
    line = described(row, found)
    # Run tests/golden/make_translated.py where it has become better.
    assert line.split(": ", 1)[1].split(" # ")[0] == EXPECTED[row.id].split(" # ")[0]


def test_the_list_names_every_row_and_says_why_something_is_called() -> None:
    assert list(EXPECTED) == sorted(row.id for row in ROWS)
    for name, line in EXPECTED.items():
        assert (" # " in line) == ("partly" in line or "called" in line), name


def test_most_is_native() -> None:
    whole: dict[str, bool] = {}
    for row in ROWS:
        status = EXPECTED[row.id].split(" # ")[0]
        name = operator_of(row).__name__
        whole[name] = whole.get(name, True) and not any(word in status for word in ("partly", "called"))
    assert len(whole) > 350
    assert sum(whole.values()) >= 215


NATIVE = (
    "Activation BatchNorm FullyConnected GroupNorm InstanceNorm L2Normalization LayerNorm LinearRegressionOutput "
    "LogisticRegressionOutput SoftmaxOutput adam_update batch_dot concat dot log_softmax mean multi_sgd_mom_update "
    "nag_mom_update norm one_hot pad pick rmsprop_update sgd_mom_update sgd_update sigmoid smooth_l1 softmax "
    "SliceChannel slice split_v2 stack sum swapaxes tile transpose where"
)


@pytest.mark.parametrize("name", NATIVE.split())
def test_what_networks_are_made_of_is_native(name: str) -> None:
    lines = [EXPECTED[row.id].split(" # ")[0] for row in ROWS if operator_of(row) is OPERATORS[name]]
    assert lines
    assert not any(word in line for line in lines for word in ("partly", "called"))


def write() -> None:
    """Write the list anew."""
    lines = sorted((described(row, translation(row)) for row in ROWS), key=lambda line: line.split(": ", 1)[0])
    temporary = LIST.with_suffix(".new")
    temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    temporary.replace(LIST)
