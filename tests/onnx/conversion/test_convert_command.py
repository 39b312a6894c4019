"""`python -m minpy convert`: what it takes, assumes, refuses and writes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import minpy as mx
from minpy.onnx.conversion.command_line import main

onnx = pytest.importorskip("onnx", minversion="1.16", reason="converts models to ONNX and back")

from minpy.onnx.exporting.tables import OPERATORS  # noqa: E402 - it stands on onnx
from minpy.onnx.running import run_model  # noqa: E402

DATA = ROOT / "examples" / "data"
MODEL = """
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[N, 3] x) => (float[N, 2] y)
    <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -0.5}>
    { h = MatMul(x, w)  s = Add(h, b)  y = Relu(s) }"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("digits-symbol.json", "digits-0012.params"):
        shutil.copy(DATA / name, tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), str(tmp_path / "net.onnx"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_onnx_becomes_a_pair(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["net.onnx", "net", "--check", "--layers"]) == 0
    out = capsys.readouterr().out
    assert "net-symbol.json: " in out
    assert "net-0000.params: " in out
    row = [line.split() for line in out.splitlines() if line.split()[:1] == ["y"]][-1]
    assert row[1:4] == ["(3,", "2)", "float32"]
    assert float(row[4]) < 1e-6
    assert row[-1] == "2"
    symbol, arguments, states = mx.model.load_checkpoint("net", 0)
    data = mx.nd.array([[1, 2, 3]])
    (output,) = symbol.bind(mx.cpu(), {**arguments, "x": data}, aux_states=states).forward()
    assert output.asnumpy().tolist() == [[22.5, 27.5]]


@pytest.mark.parametrize("target", ["out", "out-symbol.json", "out-0007.params"])
def test_either_file_of_the_pair_names_both(target: str, folder: Path) -> None:
    params = "out-0007.params" if target.endswith(".params") else "out-0000.params"
    (folder / params).write_bytes(b"mine")
    assert main(["net.onnx", target]) == 2
    assert not (folder / "out-symbol.json").exists()
    assert (folder / params).read_bytes() == b"mine"
    assert main(["net.onnx", target, "--force"]) == 0
    assert (folder / "out-symbol.json").exists()
    assert len(mx.nd.load(params)) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["digits.onnx", "digits"], "cannot read 'digits.onnx': No such file or directory."),
        (["nothing", "a.onnx"], "there is no symbol for 'nothing'"),
        (["net.onnx", "b.onnx"], "'net.onnx' cannot become 'b.onnx'. A network becomes .onnx"),
        (["digits", "digits.npz"], "'digits' cannot become 'digits.npz'. A network becomes .onnx"),
        (["net.onnx", "a.safetensors"], "'net.onnx' cannot become 'a.safetensors'"),
        (["a.npz", "a.onnx"], "'a.npz' holds parameters alone. Give the network, and --params a.npz."),
        (["net.onnx", "out", "--opset", "13"], "--opset says nothing for this conversion. Leave it out."),
        (["net.onnx", "out", "--shape", "data=1,3"], "--shape names 'data'; the inputs are 'x'."),
        (["digits-0012.params", "a.npz", "--check"], "--check says nothing for parameters. Leave it out."),
        (
            ["digits", "a.onnx", "--shape", "dat=1,1,8,8"],
            "--shape names 'dat'; the inputs are 'data'. Did you mean 'data'?",
        ),
        (
            ["digits", "a.onnx", "--dynamic", "data:4"],
            "the input 'data' is (1, 1, 8, 8), and has no axis 4.",
        ),
        (["digits", "a.onnx", "--dtype", "x=int8"], "--dtype names 'x'; the inputs are 'data'."),
        (["digits", "a.onnx", "--epoch", "3"], "no digits-0003.params beside 'digits-symbol.json'; there is epoch 12."),
        (
            ["digits", "a.onnx", "--import", "no_such_module"],
            "No module named 'no_such_module'.",
        ),
        (["digits", "no/a.onnx", "--params", "net.onnx"], "byte 0: this is no file of NDArrays"),
        (["digits", "a.onnx", "--shape", "x"], "argument --shape: 'x' is no shape; expected data=1,3,224,224"),
        (["digits", "a.onnx", "--dtype", "data=string"], "argument --dtype: 'string' is no dtype of numbers"),
        (["digits"], "the following arguments are required: OUT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused(arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.iterdir())
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "python -m minpy model:" not in captured.err
    assert not captured.out
    assert sorted(folder.iterdir()) == before


def test_a_model_that_is_damaged_ends_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = (folder / "net.onnx").read_bytes()
    generator = random.Random(0)
    damaged = [content[:end] for end in range(0, len(content), 3)]
    for _ in range(60):
        changed = bytearray(content)
        changed[generator.randrange(len(changed))] = generator.randrange(256)
        damaged.append(bytes(changed))
    refused = 0
    for variant in damaged:
        (folder / "bad.onnx").write_bytes(variant)
        status = main(["bad.onnx", "out", "--force"])
        captured = capsys.readouterr()
        assert status in (0, 1, 2)
        assert "Traceback" not in captured.err
        if status:
            refused += 1
            assert captured.err.startswith("python -m minpy convert: ")
            assert not (folder / "out-symbol.json").exists()
        for path in folder.glob("out*"):
            path.unlink()
    assert refused > len(damaged) // 2


def test_weights_outside_of_the_folder_are_not_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "secret").write_bytes(np.arange(6, dtype="f4").tobytes())
    (folder / "inner").mkdir()
    model = onnx.parser.parse_model(MODEL)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    (folder / "inner" / "net.onnx").write_bytes(model.SerializeToString())
    assert main(["inner/net.onnx", "out"]) == 2
    error = capsys.readouterr().err
    assert "'../secret', outside of the model's folder, which is not read." in error
    assert not list(folder.glob("out*"))


def initializers(path: Path) -> dict[str, np.ndarray]:
    """Return the parameters in an ONNX file."""
    return {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(str(path)).graph.initializer}


def lengths_of_input(path: Path) -> list[object]:
    """Return the shape of the first input of an ONNX file."""
    dims = onnx.load(str(path)).graph.input[0].type.tensor_type.shape.dim
    return [dim.dim_param or dim.dim_value for dim in dims]


def test_a_pair_becomes_onnx(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["digits", "a.onnx", "--shape", "data=4,1,8,8", "--dynamic", "--opset", "15", "--check"]) == 0
    assert onnx.load("a.onnx").opset_import[0].version == 15
    assert lengths_of_input(folder / "a.onnx") == ["batch", 1, 8, 8]
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "assumed: the parameters are 'digits-0012.params', beside the symbol; --params names others",
        "assumed: the input 'data' is float32; --dtype says otherwise",
    ]
    assert "softmax   (5, 10)  float32" in "\n".join(lines)
    assert lines[-1].startswith("a.onnx: ")
    assert main(["digits-0012.params", "b.onnx", "--dynamic"]) == 0
    assert "assumed: the input 'data' is (1, 1, 8, 8) (" in capsys.readouterr().out


def test_digits_are_read_as_before(folder: Path) -> None:
    assert main(["digits", "a.onnx"]) == 0
    symbol, arguments, states = mx.model.load_checkpoint("digits", 12)
    images = np.random.RandomState(0).uniform(0, 16, (1, 1, 8, 8)).astype("float32")
    arguments = {**arguments, "data": mx.nd.array(images), "softmax_label": mx.nd.zeros((1,))}
    ours = symbol.bind(mx.cpu(), arguments, aux_states=states).forward()[0].asnumpy()
    (theirs,) = run_model("a.onnx", {"data": images}).values()
    np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6)


def test_parameters_of_other_files(folder: Path) -> None:
    assert main(["digits", "pair.onnx"]) == 0
    expected = initializers(folder / "pair.onnx")
    for ending in ("safetensors", "npz"):
        assert main(["digits-0012.params", f"w.{ending}"]) == 0
        assert main(["digits", f"{ending}.onnx", "--params", f"w.{ending}"]) == 0
        for name, array in initializers(folder / f"{ending}.onnx").items():
            np.testing.assert_array_equal(array, expected[name])


def test_a_model_that_cannot_be_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mx.sym.linalg.potrf(mx.sym.var("data"), name="special").save("root-symbol.json")
    mx.nd.save("root-0000.params", {})
    assert main(["root", "a.onnx", "--shape", "data=3,3"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("python -m minpy convert: export_model: 1 node has no equal in ONNX; nothing was written:")
    assert "'special' (_linalg_potrf)" in error
    assert not (folder / "a.onnx").exists()


def test_a_file_that_computes_something_else_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(OPERATORS, "flatten", lambda call, data: call.node("Flatten", call.node("Neg", data), axis=1))
    (folder / "a.onnx").write_bytes(b"mine")
    before = sorted(folder.iterdir())
    assert main(["digits", "a.onnx", "--check", "--force"]) == 1
    assert "differs: expected " in capsys.readouterr().err
    assert (folder / "a.onnx").read_bytes() == b"mine"
    assert sorted(folder.iterdir()) == before


def test_help_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for word in ("--shape", "--dynamic", "--dtype", "--opset", "--check", "--layers", "--force", "--params", "--epoch",
                 "--import", "--plain-names", ".safetensors", ".npz", ".onnx", "exit status"):  # fmt: skip
        assert word in text


def test_the_command_line_of_the_package_knows_it(folder: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "minpy", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert "python -m minpy convert IN OUT" in run("--help").stdout
    done = run("convert", "digits-0012.params", "digits.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "digits.npz: 16 arrays, 24.4 KiB\n"
    refused = run("convert", "digits-0012.params", "digits.npz")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
