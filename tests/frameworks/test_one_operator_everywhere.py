"""The example that takes one operator to all frameworks, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from places import ROOT


@pytest.mark.parametrize("options", [["--quick"]], ids=" ".join)
def test_the_three_agree(options: list[str]) -> None:
    for module, name in (("torch", "PyTorch"), ("jax", "JAX"), ("pytensor", "PyTensor")):
        pytest.importorskip(module, reason=f"{name} is not installed")
    command = [sys.executable, str(ROOT / "examples" / "one_operator_everywhere.py"), *options]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the three agree" in result.stdout
