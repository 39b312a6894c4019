"""`op.check(frameworks=True)`: an operator in all frameworks, as rows of its table."""

import sys

import numpy as np
import pytest
from framework_operators import ROWS_BY_NAME

import minpy as mx
from minpy.core.errors import CheckError
from minpy.frameworks import checking

FRAMEWORKS = {"PyTorch": "torch", "JAX": "jax", "PyTensor": "pytensor"}


def rows_of(report, framework):
    return {row.what: row for row in report.rows if row.what.startswith(framework)}


def check(name):
    row = ROWS_BY_NAME[name]
    return row.operator.check(*row.inputs(), frameworks=True, **row.attributes)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", ["softplus", "to_polar", "pick"])
def test_every_framework_has_its_rows(framework, name, monkeypatch):
    pytest.importorskip(FRAMEWORKS[framework], reason=f"{framework} is not installed")
    only = [each for each in checking._FRAMEWORKS if each.name == framework]
    monkeypatch.setattr(checking, "_FRAMEWORKS", only)
    rows = rows_of(check(name), framework)
    assert {row.result for row in rows.values()} == {"ok"}
    assert f"{framework}, second order" in rows
    assert len(rows) == {"PyTorch": 5, "JAX": 4, "PyTensor": 3}[framework]
    assert rows[framework].note.startswith(("by NumPy", "as a graph"))


def test_what_has_first_order_only_is_skipped():
    pytest.importorskip("jax", reason="JAX is not installed")
    report = check("square_of_frameworks")
    assert report["JAX"].result == "ok"
    assert report["JAX, second order"].result == "skipped"


def test_a_framework_that_is_not_installed_is_a_row(monkeypatch):
    for module in FRAMEWORKS.values():
        monkeypatch.setitem(sys.modules, module, None)
    report = check("softplus")
    for framework, module in FRAMEWORKS.items():
        [row] = rows_of(report, framework).values()
        assert row.result == "skipped"
        assert f"python -m pip install '{module}>=" in row.note


def test_what_draws_numbers_is_skipped():
    pytest.importorskip("jax", reason="JAX is not installed")
    noisy = mx.customop("numpy")(lambda x: (x * np.random.uniform(size=x.shape)).astype(x.dtype))
    report = noisy.check(np.ones(3), frameworks=True)
    assert report["JAX"].note == "it draws random numbers"


def test_other_numbers_in_a_framework_fail(monkeypatch):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    other = ROWS_BY_NAME["sigmoid"].operator
    to_jax = checking.to_jax
    monkeypatch.setattr(checking, "to_jax", lambda operator: to_jax(other if operator is softplus else operator))
    softplus = mx.customop("numpy")(lambda x: np.logaddexp(0, x))
    softplus.def_grad(lambda ans, x: lambda g: g / (1 + np.exp(-x)))
    with pytest.raises(CheckError, match=r"JAX: output 0, element 0: got 0\.5, NumPy arrays give 0\.693147"):
        softplus.check(np.zeros(2), frameworks=True)
    assert jax.config.jax_enable_x64 is False


def test_without_it_no_framework_is_asked(monkeypatch):
    monkeypatch.setattr(checking, "_FRAMEWORKS", None)
    row = ROWS_BY_NAME["softplus"]
    report = row.operator.check(*row.inputs())
    assert not any(rows_of(report, framework) for framework in FRAMEWORKS)
