"""The examples, run as a user runs them. They need packages of the extra `examples`, without which these tests skip."""

from __future__ import annotations

import functools
import gzip
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native.examples import compile_for_tests, needs_compiler
from places import ROOT

import minpy as mx

EXAMPLES = ROOT / "examples"
MISSING = [name for name in ("graphviz", "matplotlib", "sklearn", "threadpoolctl", "tqdm") if find_spec(name) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"the examples need {', '.join(MISSING)}")


def run(example: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / example, *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # several threads wait for each other on busy machines
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


def test_compiled_layer(tmp_path: Path) -> None:
    result = run("compiled_layer.py", "--quick", "--output", tmp_path / "layer.gv")
    assert result.returncode == 0, result.stderr
    assert re.search(r"3[2-6]\d of 360 digits that it has not seen read correctly", result.stdout)
    assert "compiled                        ok" in result.stdout or "not compiled" in result.stdout
    if find_spec("llvmlite") is None:
        assert "not compiled: llvmlite is not installed" in result.stdout
        return
    assert re.search(r"128x512: .*sum along 1.*exp", result.stdout)
    assert "a step of training of the network" in result.stdout
    assert "cluster_backward" in (tmp_path / "layer.gv").read_text()


def test_digits(tmp_path: Path) -> None:
    result = run("digits.py", "--quick", "--output", tmp_path / "digits.png")
    assert result.returncode == 0, result.stderr
    assert "test digits read correctly" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["digits.png"]


def run_here(example: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run an example in this process, which has imported what it needs: most of the time of a short run is that."""
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.setattr(sys, "argv", [example, *map(str, arguments)])
        try:
            status = loaded(example).main()
        except SystemExit as stop:
            status = stop.code
    return subprocess.CompletedProcess(sys.argv, status, out.getvalue(), errors.getvalue())


@functools.cache
def loaded(example: str) -> Any:
    """Return an example as a module."""
    name = f"example_{Path(example).stem}"
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / example)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def losses_of(stdout: str) -> list[float]:
    """Return the losses in the table of epochs that `digits.py` prints."""
    return [float(row[1]) for row in (line.split() for line in stdout.splitlines()) if len(row) == 5 and "%" in row[2]]


@pytest.fixture(scope="module")
def builtin_losses(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of two epochs of `digits.py` with MXNet's own operators."""
    output = tmp_path_factory.mktemp("digits") / "digits.png"
    result = run_here("digits.py", "--quick", "--epochs", "2", "--output", output, "--op", "builtin")
    assert "test digits read correctly" in result.stdout, result.stderr
    losses = losses_of(result.stdout)
    assert len(losses) == 2
    assert losses[1] < losses[0] < 1.2
    return losses


@pytest.mark.parametrize(
    "arguments",
    [(way, *hybridize) for way in ("builtin", "customop", "mxnet", "prop") for hybridize in ((), ("--hybridize",))][1:]
    + [("function",)],
    ids=" ".join,
)
def test_digits_learns_the_same_in_each_way(
    arguments: tuple[str, ...], builtin_losses: list[float], tmp_path: Path
) -> None:
    result = run_here("digits.py", "--quick", "--epochs", "2", "--output", tmp_path / "digits.png", "--op", *arguments)
    np.testing.assert_allclose(losses_of(result.stdout), builtin_losses, atol=1e-5, rtol=0, err_msg=result.stderr)


@pytest.fixture
def _cache(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_for_tests(monkeypatch)


@needs_compiler
@pytest.mark.parametrize("arguments", [(), ("--hybridize",)], ids=" ".join)
@pytest.mark.usefixtures("_cache")
def test_digits_learns_the_same_in_c(arguments: tuple[str, ...], builtin_losses: list[float], tmp_path: Path) -> None:
    options = ("--quick", "--epochs", "2", "--output", tmp_path / "digits.png", "--op", "native", *arguments)
    result = run_here("digits.py", *options)
    np.testing.assert_allclose(losses_of(result.stdout), builtin_losses, atol=1e-5, rtol=0, err_msg=result.stderr)


NATIVE = {
    "native/gemm.py": ("Op[1] state_gemm", r"a bound graph counts \[1, 2, 3\], and single calls count \[1, 1, 1\]"),
    "native/batch_norm.py": ("Op[0] my_batch_norm", r"scores, saved and loaded: +largest difference 0.0e\+00"),
    "native/subgraph.py": ("isSubgraphOp", r"'min_size': 2}: _exp_log\[exp, exp, log\], _plus_scalar, log, _exp_log"),
    "native/graph_pass.py": ("Graph Pass [1] fold_batch_norm", r"before: 13 operators[^\n]*\nafter:  10 operators"),
}


@needs_compiler
@pytest.mark.parametrize("example", NATIVE)
@pytest.mark.usefixtures("_cache")
def test_native(example: str) -> None:
    found, text = NATIVE[example]
    result = run_here(example, "--quick")
    assert result.returncode == 0, result.stderr
    assert found in result.stderr
    assert re.search(text, result.stdout)


# The steps of MXNet's tutorial of custom operators: make a library, load it, call it on arrays and in a graph.
TUTORIAL = """
import os
import minpy as mx

mx.library.load(os.path.abspath('libgemm.so'))
a = mx.nd.array([[1, 2, 3], [4, 5, 6]])
b = mx.nd.array([[7], [8], [9]])
print(mx.nd.my_gemm(a, b))
print(mx.nd.state_gemm(a, b, test_kw=200))

s, t = mx.sym.Variable('s'), mx.sym.Variable('t')
for c in (mx.sym.my_gemm(s, t), mx.sym.state_gemm(s, t, test_kw=200)):
    in_grad = [mx.nd.empty((2, 3)), mx.nd.empty((3, 1))]
    exe = c.bind(ctx=mx.cpu(), args={'s': a, 't': b}, args_grad=in_grad)
    out = exe.forward()
    print(out)
    exe.backward(mx.nd.ones((2, 1)))
    print(in_grad)
"""


@needs_compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_native_by_hand(tmp_path: Path) -> None:
    for name in ("Makefile", "gemm.cc"):
        shutil.copy(EXAMPLES / "native" / name, tmp_path)
    make = ["make", "gemm_lib", f"PYTHON={sys.executable}"]  # optimized, as others are not
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 300, "cwd": tmp_path}
    made = subprocess.run(make, env=environment, **options)
    assert made.returncode == 0, made.stderr
    assert "warning" not in made.stderr
    (tmp_path / "test_gemm.py").write_text(TUTORIAL)
    result = subprocess.run([sys.executable, "test_gemm.py"], env=environment, **options)
    assert result.returncode == 0, result.stderr
    assert "Found 2 operators in library" in result.stderr
    product, gradients = "[[ 50.]\n [122.]]\n<NDArray 2x1 @cpu(0)>", "[[7. 8. 9.]\n [7. 8. 9.]]\n<NDArray 2x3 @cpu(0)>"
    assert result.stdout.count(product) == 4
    assert result.stdout.count(gradients) == 2
    assert result.stdout.count("[[5.]\n [7.]\n [9.]]\n<NDArray 3x1 @cpu(0)>") == 2
    again = run("native/gemm.py", "--quick", "--library", tmp_path / "libgemm.so")
    assert again.returncode == 0, again.stderr
    assert "states: a bound graph counts [1, 2, 3]" in again.stdout


def test_digits_refuses_to_hybridize_functions(tmp_path: Path) -> None:
    result = run_here("digits.py", "--op", "function", "--hybridize", "--output", tmp_path / "digits.png")
    assert result.returncode == 2
    assert "an autograd.Function runs on arrays, and a hybridized network is a graph" in result.stderr


def test_custom_layer(tmp_path: Path) -> None:
    result = run("custom_layer.py", "--quick", "--output", tmp_path / "layer.png")
    assert result.returncode == 0, result.stderr
    assert "Normalization of 1, 2, 3: [0.  0.5 1. ]" in result.stdout
    assert re.search(r"_weights: changed by up to 0\.[1-9]", result.stdout)
    assert "_scales: as it was" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["layer.png"]


def test_lenet(tmp_path: Path) -> None:
    result = run("lenet.py", "--quick", "--output", tmp_path / "lenet.png")
    assert result.returncode == 0, result.stderr
    assert "of 360 test digits read correctly" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["lenet.png"]


def test_module_digits(tmp_path: Path) -> None:
    result = run("module_digits.py", "--quick", "--output", tmp_path / "digits.png")
    assert result.returncode == 0, result.stderr
    assert (
        "stopped after 1 epoch(s); the files of a checkpoint: digits-0001.params, digits-0001.states" in result.stdout
    )
    assert "of 360 test digits read correctly" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["digits.png"]


def test_finetune(tmp_path: Path) -> None:
    result = run_here("finetune.py", "--quick", "--output", tmp_path / "finetune.png")
    assert result.returncode == 0, result.stderr
    assert "288 images to learn from, 120 to be tested on: china, flower" in result.stdout
    assert "of 120 test images recognized" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["finetune.png"]


def test_finetune_with_a_folder_and_weights(tmp_path: Path) -> None:
    from minpy.gluon.model_zoo import vision

    generator = np.random.default_rng(0)
    for label, name in enumerate(("dark", "light")):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(10):
            image = generator.integers(0, 100, (40, 50, 3)) + 150 * label
            data = mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, 0, 0), image.astype(np.uint8))
            (tmp_path / "images" / name / f"{number}.jpg").write_bytes(mx.recordio.unpack(data)[1])
    options = ("--quick", "--folder", tmp_path / "images", "--side", "32", "--output", tmp_path / "picture.png")
    result = run_here("finetune.py", *options, "--weights", tmp_path)
    assert result.returncode == 2
    assert "There are no weights of 'mobilenet0.25': neither mobilenet0.25-9f83e440.params nor mobile" in (
        result.stderr
    )
    net = vision.mobilenet0_25()
    net.initialize()
    net(mx.nd.zeros((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "mobilenet0.25.params"))
    result = run_here("finetune.py", *options, "--weights", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "16 images to learn from, 4 to be tested on: dark, light" in result.stdout
    assert "digits" not in result.stdout


def idx(array: np.ndarray) -> bytes:
    """Return bytes in the format of MNIST's files."""
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.astype(np.uint8).tobytes()


def test_lenet_reads_files_of_mnist(tmp_path: Path) -> None:
    for part, count in (("train", 64), ("t10k", 10)):
        labels = np.arange(count) % 10
        images = np.broadcast_to(labels[:, None, None] * 25, (count, 28, 28))
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    result = run_here("lenet.py", "--epochs", "1", "--mnist", tmp_path, "--output", tmp_path / "lenet.png")
    assert "of 10 test digits read correctly" in result.stdout, result.stderr
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.arange(10))[:-1])
    result = run_here("lenet.py", "--mnist", tmp_path)
    assert result.returncode == 2
    assert "t10k-labels-idx1-ubyte is cut off: it should hold 10 numbers, and holds 9" in result.stderr


def test_lstm(tmp_path: Path) -> None:
    result = run("lstm.py", "--quick", "--output", tmp_path / "lstm.png")
    assert result.returncode == 0, result.stderr
    first, second = map(float, re.findall(r"epoch +\d+: perplexity +([\d.]+)", result.stdout))
    assert second < first < 60
    assert [path.name for path in tmp_path.iterdir()] == ["lstm.png"]


def test_old_model(tmp_path: Path) -> None:
    result = run("old_model.py", "--quick", "--output", tmp_path / "old.png")
    assert result.returncode == 0, result.stderr
    assert re.search(r"as a module: .* 360 digits read, in \d+ ms: 99\.44%", result.stdout)
    assert re.search(
        r"as a block: .*: 99\.44%\nlargest difference between their probabilities: (\d\.\de-0[6-9]|0\.0e)",
        result.stdout,
    )
    assert "from the new scanner: 23.89% of 360" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]


def test_old_model_says_what_is_missing(tmp_path: Path) -> None:
    result = run_here("old_model.py", "--model", tmp_path / "digit", "--output", tmp_path / "old.png")
    assert result.returncode == 2
    assert "digit-symbol.json': No such file or directory" in result.stderr


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
    result = run_here("symbolic_digits.py", "--output", tmp_path, *arguments)
    assert result.returncode == 2
    assert f"{arguments[0]}" in result.stderr
    assert not result.stdout
    assert not [*tmp_path.iterdir()]
