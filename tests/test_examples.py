"""The examples, run as a user runs them. They need packages of the extra `examples`, without which these tests skip."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import minpy as mx

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MISSING = [name for name in ("graphviz", "matplotlib", "sklearn", "threadpoolctl", "tqdm") if find_spec(name) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"the examples need {', '.join(MISSING)}")


def run(example: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / example, *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # several threads wait for each other on busy machines
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


def test_digits(tmp_path: Path) -> None:
    result = run("digits.py", "--quick", "--output", tmp_path / "digits.png")
    assert result.returncode == 0, result.stderr
    assert "test digits read correctly" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["digits.png"]


def test_symbolic_digits(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    result = run("symbolic_digits.py", "--quick", "--output", folder)
    assert result.returncode == 0, result.stderr
    assert "swish1" in result.stdout
    assert "saved and loaded again, the network predicts exactly the same" in result.stdout
    files = {path.name for path in folder.iterdir()} - {"digits.svg"}  # which needs Graphviz's own programs
    assert files == {"digits-symbol.json", "digits.params", "digits.gv", "digits.png", "predictions.npz"}
    assert (folder / "digits.gv").read_text().startswith("digraph digits {")
    names = {name for name in mx.nd.load(folder / "digits.params") if name.startswith("aux:")}
    assert names == {f"aux:norm{layer}_moving_{what}" for layer in (1, 2) for what in ("mean", "var")}
    with np.load(folder / "predictions.npz") as archive:
        right = archive["probabilities"].argmax(axis=1) == archive["labels"]
    assert f"{right.sum()} of 360 test digits read correctly" in result.stdout


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--seed", "-1"], ["--output", "/dev/null/folder"]])
def test_symbolic_digits_refuses_before_training(arguments: list[str], tmp_path: Path) -> None:
    result = run("symbolic_digits.py", "--output", tmp_path, *arguments)
    assert result.returncode == 2
    assert f"{arguments[0]}" in result.stderr
    assert not result.stdout
    assert not [*tmp_path.iterdir()]
