"""The types that users see: the generated stubs are current, and mypy understands programs with them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT


def mypy(*arguments: str | Path) -> str:
    pytest.importorskip("mypy")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--follow-imports=silent",
        *map(str, arguments),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_the_stubs_are_current():
    """In a process of its own: tests may have loaded native libraries, whose operators are names like any other."""
    code = "import runpy; print(*runpy.run_path('tools/make_stubs.py')['outdated'](), sep=', ')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.strip(), f"run python tools/make_stubs.py: {done.stdout}"


def test_the_typed_program_runs():
    importlib.import_module("typed_program").main()


def test_the_typed_program_passes_mypy():
    assert "error:" not in (found := mypy(ROOT / "tests" / "support" / "typed_program.py")), found


MISTAKES = """
from minpy import customop, nd
x = nd.ones((2, 2))
x.summ()
nd.expp(x)
nd.Activation(x)
nd.Activation(x, act_type=3)
nd.zeros(shape="2")
nd.exp.chek()
(x + 1).asnumpi()
customop(3)
"""


def test_mypy_finds_mistakes(tmp_path):
    path = tmp_path / "mistakes.py"
    path.write_text(MISTAKES)
    found = mypy(path)
    lines = {int(line) for line in re.findall(r"mistakes\.py:(\d+): error:", found)}
    assert lines == set(range(4, 12)), found


# Each with the type that mypy finds of it.
REVEALED = {
    "nd.softmax(x)": "NDArray",
    "nd.softmax(numpy.ones(2))": "Any",
    "nd.FullyConnected(x, x, num_hidden=2, no_bias=True)": "NDArray",
    "nd.concat(x, x, dim=1)": "NDArray",
    "nd.random_uniform()": "NDArray",
    "nd.linalg.gemm2(x, x)": "NDArray",
    "nd.contrib.div_sqrt_dim(x)": "NDArray",
    "nd.split(x, num_outputs=2)": "Any",
    "nd.exp.check([1.0])": "Report",
    "x.softmax()": "NDArray",
    "gluon.loss.L2Loss()(x, x)": "NDArray",
    "gluon.loss.SoftmaxCrossEntropyLoss()(x, label=x)": "NDArray",
    "gluon.nn.HybridSequential()(x)": "NDArray",
    "gluon.nn.Dense(2)(sym.var('x'))": "Symbol",
    "gluon.rnn.LSTM(2)(x)": "Any",
}


def test_mypy_knows_what_operators_losses_and_layers_return(tmp_path):
    path = tmp_path / "revealed.py"
    lines = ["import numpy", "from minpy import gluon, nd, sym", "x = nd.ones((2, 2))"]
    path.write_text("\n".join([*lines, *(f"reveal_type({call})" for call in REVEALED)]))
    revealed = re.findall(r'revealed\.py:(\d+): note: Revealed type is "([^"]*)"', found := mypy(path))
    types = {int(line) - len(lines) - 1: text.rpartition(".")[2] for line, text in revealed}
    assert [types.get(index) for index in range(len(REVEALED))] == [*REVEALED.values()], found
