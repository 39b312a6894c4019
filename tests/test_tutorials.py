"""The code of MXNet's tutorials on custom operators, as printed there, with only its imports replaced.

The printed output is that of MXNet 1.9.1.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minpy import autograd, nd
from minpy.core.errors import ShapeError
from minpy.custom.lending import method_of

TUTORIAL = Path(__file__).resolve().parent / "tutorials" / "custom_operators.txt"
IMPORTS = {
    "import mxnet as mx\n": "import minpy as mx\n",
    "from mxnet import gluon, autograd\n": "from minpy import autograd\n",
}
PRINTED = """
[0.5        0.7310586  0.880797   0.95257413]
<NDArray 4 @cpu(0)>

[0.25       0.19661193 0.10499363 0.04517666]
<NDArray 4 @cpu(0)>
"""
DENSE = """
[[ -15.9   -6.9    2.1   11.1   20.1]
 [ -69.9  -33.9    2.1   38.1   74.1]
 [-123.9  -60.9    2.1   65.1  128.1]
 [-177.9  -87.9    2.1   92.1  182.1]]
<NDArray 4x5 @cpu(0)>"""


@pytest.fixture
def tutorial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Runs the tutorial, and returns its variables, with what it printed as `printed`."""
    source = TUTORIAL.read_text()
    for line, replacement in IMPORTS.items():
        assert source.count(line) == 1
        source = source.replace(line, replacement)
    assert "mxnet" not in source.replace("so that mxnet can", "")
    script = tmp_path / "tutorial.py"
    script.write_text(source)
    scope: dict[str, Any] = {"__name__": "tutorial"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "custom operator '(sigmoid|dense)' is registered twice")
        exec(compile(source, str(script), "exec"), scope)
    scope["printed"] = capsys.readouterr().out
    return scope


def test_the_sigmoid(tutorial: dict[str, Any]) -> None:
    assert tutorial["printed"] == PRINTED


def test_the_sigmoid_needs_no_copies(tutorial: dict[str, Any]) -> None:
    op = tutorial["Sigmoid"]()
    assert method_of(op, "forward")[1] is tutorial["Sigmoid"].forward.__code__
    assert method_of(op, "backward")[1] is tutorial["Sigmoid"].backward.__code__


def test_the_dense_operator(tutorial: dict[str, Any]) -> None:
    x, weight = nd.array(np.arange(12).reshape(4, 3)), nd.array(np.arange(15).reshape(5, 3) - 7)
    y = nd.Custom(x, weight, bias=0.1, op_type="dense")
    assert repr(y) == DENSE


def test_the_dense_operators_own_mistake(tutorial: dict[str, Any]) -> None:
    x, weight = nd.ones((4, 3)), nd.ones((5, 3))
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, weight, bias=0.1, op_type="dense")
    text = (
        r"Dense\.backward assigns float32 \(5, 3\) to the gradient of 'data', which has shape \(4, 3\); they must be "
        r"equal\. Compute the gradient of 'data' in the shape \(4, 3\), that of the input itself"
    )
    with pytest.raises(ShapeError, match=text):
        y.backward()
    assert x.grad.asnumpy().tolist() == np.zeros((4, 3)).tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_needs_no_waiting(tutorial: dict[str, Any]) -> None:
    x = tutorial["x"]
    with autograd.record():
        y = nd.Custom(x, op_type="sigmoid")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            y.backward()
            status = int(repr(x.grad) not in PRINTED)
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    y.backward()
    assert repr(x.grad) in PRINTED
