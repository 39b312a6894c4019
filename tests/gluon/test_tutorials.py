"""The code of tutorials, as printed there: block after block in the library's own name, and unchanged as a script.

Those of MXNet on custom operators and on custom layers, and MinPy's customized operator. What they print, and what they
compute where it is not random, is what MXNet 1.9.1 does; see also `golden/tutorials_cases.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from borrowing_operators import lent
from places import ROOT, TESTS

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import ShapeError

TUTORIALS = TESTS / "tutorials"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
# What is printed of parameters, before and after the step.
PARAMETERS = re.compile(
    r"=+ Parameters after (?:forward|backward) pass =+\n\n"
    r"(\w+weights) = \n(\[\[.*?\]\])\n<NDArray 5x5 @cpu\(0\)>\n\n(\w+scales) = \n(\[.*?\])\n<NDArray 1 @cpu\(0\)>\n\n",
    re.DOTALL,
)


def blocks_of(name: str) -> list[str]:
    """Return the blocks of code of a tutorial."""
    return BLOCK.findall((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))


def renamed(block: str) -> str:
    """Return a block whose lines of imports name this library."""
    return re.sub(r"^(import|from) mxnet\b", r"\1 minpy", block, flags=re.MULTILINE)


def run_blocks(name: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Run the blocks of a tutorial one after the other; return their variables, and what each printed.

    Each has a file of its own, as cells of notebooks do: the library looks at the source of methods there.
    """
    scope: dict[str, Any] = {"__name__": "tutorial"}
    printed = []
    for index, block in enumerate(blocks_of(name)):
        source = renamed(block)
        changed = [line for line, other in zip(block.splitlines(), source.splitlines(), strict=True) if line != other]
        assert all(line.startswith(("import ", "from ")) for line in changed)
        script = folder / f"{name}_{index}.py"
        script.write_text(source, encoding="utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "custom operator '(sigmoid|dense)' is registered twice")
            exec(compile(source, str(script), "exec", dont_inherit=True), scope)
        printed.append(output.getvalue())
    return scope, printed


def run_unchanged(name: str, folder: Path) -> str:
    """Run a tutorial as a script, which imports MXNet, and return what it prints."""
    script = folder / f"{name}.py"
    script.write_text("\n".join(blocks_of(name)), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "minpy", str(script)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


# -- custom operators --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    """Runs the tutorial on custom operators; its variables, and what it printed."""
    return run_blocks("custom_operators", tmp_path_factory.mktemp("tutorial"))


@pytest.fixture
def tutorial(operators: tuple[dict[str, Any], list[str]]) -> dict[str, Any]:
    """The variables of the tutorial on custom operators."""
    return operators[0]


def test_the_sigmoid(operators: tuple[dict[str, Any], list[str]]) -> None:
    printed = operators[1]
    assert "".join(printed[:-1]) == PRINTED
    assert printed[-1].endswith("<NDArray 4x5 @cpu(0)>\n")


def test_the_sigmoid_needs_no_copies(tutorial: dict[str, Any]) -> None:
    op = tutorial["Sigmoid"]()
    assert lent(op)
    assert lent(op, "backward")


def test_the_dense_operator(tutorial: dict[str, Any]) -> None:
    x, weight = nd.array(np.arange(12).reshape(4, 3)), nd.array(np.arange(15).reshape(5, 3) - 7)
    y = nd.Custom(x, weight, bias=0.1, op_type="dense")
    assert repr(y) == DENSE


def test_the_dense_block(tutorial: dict[str, Any]) -> None:
    dense = tutorial["dense"]
    assert dense.weight.shape == (5, 3)
    assert list(dense.collect_params()) == [f"{dense.prefix}weight"]
    x, weight = tutorial["x"].asnumpy(), dense.weight.data().asnumpy()
    np.testing.assert_allclose(tutorial["y"].asnumpy(), x @ weight.T + 0.1, rtol=1e-6)
    dense.weight.set_data(nd.array(np.arange(15).reshape(5, 3) - 7))
    assert repr(dense(nd.array(np.arange(12).reshape(4, 3)))) == DENSE


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


def test_custom_operators_unchanged(tmp_path: Path) -> None:
    printed = run_unchanged("custom_operators", tmp_path)
    assert printed.startswith(PRINTED)
    assert printed.endswith("<NDArray 4x5 @cpu(0)>\n")


# -- custom layers -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[str]]:
    """Runs the tutorial on custom layers; its variables, and what it printed."""
    return run_blocks("custom_layers", tmp_path_factory.mktemp("tutorial"))


def check_parameters_printed(printed: str) -> None:
    """See that training changed the weights, and left the scales alone."""
    before, after = (match.groups() for match in PARAMETERS.finditer(printed))
    assert [before[0], before[2]] == [after[0], after[2]]
    assert re.fullmatch(r"hybridsequential\d+_normalizationhybridlayer0_weights", before[0])
    assert before[0].removesuffix("weights") == before[2].removesuffix("scales")
    weights = [np.array(re.findall(r"[-\d.e]+", text), float) for text in (before[1], after[1])]
    assert weights[0].shape == weights[1].shape == (25,)
    assert (weights[0] != weights[1]).all()
    assert before[3] == after[3] == "[2.]"


def test_the_layers(layers: tuple[dict[str, Any], list[str]]) -> None:
    scope, printed = layers
    assert not any(printed[:-1])
    check_parameters_printed(printed[-1])
    first = scope["layer"](nd.array([1, 2, 3], ctx=mx.cpu()))
    assert first.asnumpy().tolist() == [0, 0.5, 1]


def test_the_step_of_training(layers: tuple[dict[str, Any], list[str]]) -> None:
    scope, printed = layers
    printed_before, printed_after = (
        np.array(re.findall(r"[-\d.e]+", match.group(2)), float).reshape(5, 5)
        for match in PARAMETERS.finditer(printed[-1])
    )
    parameters = scope["net"].collect_params()
    weights = next(parameter for name, parameter in parameters.items() if name.endswith("weights"))
    scales = next(parameter for name, parameter in parameters.items() if name.endswith("scales"))
    assert scales.grad_req == "null"
    np.testing.assert_allclose(weights.data().asnumpy(), printed_after, rtol=1e-5, atol=1e-7)
    step = -0.1 * weights.grad().asnumpy() / 5  # the learning rate, and the batch
    np.testing.assert_allclose(printed_after - printed_before, step, rtol=1e-3, atol=1e-6)


def test_the_network_hybridized_is_eager(layers: tuple[dict[str, Any], list[str]]) -> None:
    scope, _ = layers
    net, x = scope["net"], scope["input"]
    hybridized = net(x).asnumpy()
    net.hybridize(False)
    np.testing.assert_allclose(net(x).asnumpy(), hybridized, rtol=1e-5, atol=1e-6)
    net.hybridize()


def test_custom_layers_unchanged(tmp_path: Path) -> None:
    check_parameters_printed(run_unchanged("custom_layers", tmp_path))


# -- MinPy's operator --------------------------------------------------------------------------------------------------


def test_the_customized_operator(tmp_path: Path) -> None:
    scope, printed = run_blocks("customized_operator", tmp_path)
    assert not any(printed)
    softmax: Callable[..., Any] = scope["my_softmax"]
    x, y = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.6]]), np.array([2, 0])
    shares = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax(x, y), -np.log(shares[[0, 1], y]).mean(), rtol=1e-12)
    expected = (shares - np.eye(3)[y]) / 2
    np.testing.assert_allclose(mx.grad(softmax)(x, y), expected, rtol=1e-12)
    scores = nd.array(x)
    scores.attach_grad()
    with autograd.record():
        loss = softmax(scores, nd.array(y, dtype="int32"))
    loss.backward()
    np.testing.assert_allclose(scores.grad.asnumpy(), expected, rtol=1e-6)


# -- processes ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_needs_no_waiting(tutorial: dict[str, Any]) -> None:
    assert tutorial["SigmoidProp"]
    x = nd.array([0, 1, 2, 3])
    x.attach_grad()
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
