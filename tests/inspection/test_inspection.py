"""`python -m minpy model`: what it says of models, whole and damaged; what it counts; archives that mean harm."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import GOLDEN

import minpy as mx
from minpy.core.errors import ArgumentError, FileFormatError, FileMissingError, MXNetError, ShapeError
from minpy.graph.ir import Value
from minpy.inspection import report
from minpy.inspection.artifacts import find
from minpy.inspection.command_line import main
from minpy.inspection.multiply_adds import multiply_adds
from minpy.inspection.report_text import WIDTH, amount, size_text
from minpy.ndarray.array_files import heads

SYMBOLS = GOLDEN / "symbols"
EXPORTS = GOLDEN / "exports"
var = mx.sym.var


def convolutional(classes: int = 10) -> mx.sym.Symbol:
    net = mx.sym.Convolution(var("data"), kernel=(5, 5), num_filter=4, name="conv1")
    net = mx.sym.Pooling(
        mx.sym.Activation(net, act_type="relu", name="relu1"), kernel=(2, 2), stride=(2, 2), name="pool1"
    )
    net = mx.sym.BatchNorm(net, name="bn1")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=classes, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def parameters_of(net: mx.sym.Symbol, **shapes: tuple[int, ...]) -> dict[str, mx.nd.NDArray]:
    arguments, _, states = net.infer_shape(**shapes)
    generator = np.random.default_rng(0)
    made = {
        f"arg:{name}": mx.nd.array(generator.normal(0, 0.1, shape))
        for name, shape in zip(net.list_arguments(), arguments, strict=True)
        if name not in shapes and not name.endswith("label")
    }
    made |= {f"aux:{name}": mx.nd.ones(shape) for name, shape in zip(net.list_auxiliary_states(), states, strict=True)}
    return made


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of 1 x 28 x 28 pictures, in two epochs."""
    net = convolutional()
    net.save(str(tmp_path / "net-symbol.json"))
    made = parameters_of(net, data=(1, 1, 28, 28))
    mx.nd.save(str(tmp_path / "net-0003.params"), made)
    mx.nd.save(str(tmp_path / "net-0012.params"), made)
    return tmp_path / "net-symbol.json"


def printed(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


# -- what it says ------------------------------------------------------------------------------------------------------

TEXT = """\
model       net-symbol.json
parameters  net-0012.params
            written by MXNet 1.9.1

input          shape           dtype    where from
data           (1, 1, 28, 28)  float32  its size is assumed: others fit as well
softmax_label  (1,)            float32  label, for training only; follows from the others

layer     operator              output          parameters  mult-adds   memory
conv1     Convolution 5x5/1, 4  (1, 4, 24, 24)         104    57.60 k  9.0 KiB
relu1     Activation relu       (1, 4, 24, 24)                2.304 k  9.0 KiB
pool1     Pooling max, 2x2/2    (1, 4, 12, 12)                2.304 k  2.2 KiB
bn1       BatchNorm             (1, 4, 12, 12)          16        576  2.2 KiB
flat      Flatten               (1, 576)                               2.2 KiB
fc1       FullyConnected 10     (1, 10)              5,770    5.760 k     40 B
softmax   SoftmaxOutput         (1, 10)                            10     40 B

parameters   5,882 learned, and 8 of statistics; 23.0 KiB of float32
mult-adds    68.55 k (FLOPs: twice as many); Convolution 84.0%, FullyConnected 8.4%, Activation 3.4%
activations  24.8 KiB of all layers; 18.0 KiB at the same time in prediction

output          shape    dtype    of
softmax_output  (1, 10)  float32  SoftmaxOutput, a loss: gradients start here

all 8 parameters and statistics fit

note: net-0012.params is the last of 2 epochs; --epoch N takes another
"""


def test_the_whole_text(model: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(model.parent)
    assert printed(capsys, "net-symbol.json") == (0, TEXT, "")


@pytest.mark.parametrize("name", ["net", "net-", ".", "net-0003.params", "net-symbol.json"])
def test_models_are_found_by_any_of_their_names(model: Path, name: str) -> None:
    found = find(model.parent / name if name != "net-" else f"{model.parent / 'net-'}")
    assert os.path.basename(found.symbol_name) == "net-symbol.json"
    wanted = "net-0003.params" if name.endswith(".params") else "net-0012.params"
    assert os.path.basename(found.params_name) == wanted


def test_another_epoch(model: Path) -> None:
    assert find(model, epoch=3).params_name.endswith("net-0003.params")
    with pytest.raises(FileMissingError, match=r"no net-0004\.params beside .*; there are the epochs 3, 12\."):
        find(model, epoch=4)


@pytest.mark.parametrize(
    "path", sorted([*SYMBOLS.glob("*-symbol.json"), *EXPORTS.glob("*-symbol.json")]), ids=lambda p: p.stem
)
def test_golden_networks_are_told_within_the_width(path: Path, capsys) -> None:
    status, out, err = printed(capsys, path)
    assert max(map(len, out.splitlines())) <= WIDTH
    assert not err
    there = "golden_softmax" in mx.operator.get_all_registered_operators()  # by another test in this process
    ends = {
        "custom-symbol": (0, "parameters and statistics fit") if there else (1, "are not here"),
        "held-symbol": (1, "does not follow from the files"),
    }
    wanted, said = ends.get(path.stem, (0, "parameters and statistics fit"))
    assert status == wanted, out
    assert said in out


def test_the_report_is_json_too(model: Path, capsys) -> None:
    status, out, _ = printed(capsys, model, "--json")
    said = json.loads(out)
    assert status == 0
    assert said["runs"]
    assert said["parameters"] == 5882
    assert said["version"] == "1.9.1"
    assert said["layers"][0]["shapes"] == [[1, 4, 24, 24]]


def test_the_report_of_a_symbol_and_of_its_shapes() -> None:
    net = convolutional()
    without = report(net, shapes=(2, 1, 28, 28))
    assert without.fit is None
    assert without.layers[-1].shapes == [(2, 10)]
    assert without.runs
    with pytest.raises(ArgumentError, match=r"no input 'dada'; it has data, softmax_label\. Did you mean 'data'\?"):
        report(net, shapes={"dada": (1, 1, 28, 28)})
    with pytest.raises(ArgumentError, match=r"the parameter 'fc1_bias' is int 3; expected an NDArray"):
        report(net, {"fc1_bias": 3})
    with pytest.raises(ShapeError, match="conv1"):
        report(net, shapes=(1, 28))
    with pytest.raises(ArgumentError, match="params is int 3"):
        report(net, 3)


def test_what_cannot_be_guessed_is_asked_for(tmp_path: Path, capsys) -> None:
    net = mx.sym.FullyConnected(mx.sym.Concat(var("left"), var("right"), name="both"), num_hidden=3, name="fc")
    net.save(str(tmp_path / "net-symbol.json"))
    mx.nd.save(str(tmp_path / "net-0000.params"), {"arg:fc_weight": mx.nd.ones((3, 7)), "arg:fc_bias": mx.nd.ones(3)})
    status, out, _ = printed(capsys, tmp_path / "net")
    asked = " ".join(out.split())
    assert status == 1
    assert "The shape of the input 'left' does not follow from the files" in asked
    assert "It is read by 'both' (Concat). Give it: --data left:1," in asked
    status, out, _ = printed(capsys, tmp_path / "net", "--data", "left:1,3", "--data", "right=(1,4)")
    assert status == 0
    assert "all 2 parameters and statistics fit" in out
    _, _, err = printed(capsys, tmp_path / "net", "--data", "1,3")
    assert "one shape is given for 2 inputs: left, right" in err


GUESSES = {
    "channels and size": (
        mx.sym.FullyConnected(
            mx.sym.Convolution(var("data"), kernel=(3, 3), num_filter=2, name="c"), num_hidden=2, name="f"
        ),
        {"data": (1, 3, 32, 32)},
        {"data": (1, 3, 32, 32)},
    ),
    "groups": (
        mx.sym.Convolution(var("data"), kernel=(3, 3), num_filter=8, num_group=4, name="c"),
        {"data": (1, 8, 9, 9)},
        {"data": (1, 8, 224, 224)},
    ),
    "features": (mx.sym.FullyConnected(var("data"), num_hidden=2, name="f"), {"data": (1, 13)}, {"data": (1, 13)}),
    "channels last": (
        mx.sym.Convolution(mx.sym.transpose(var("data"), axes=(0, 3, 1, 2)), kernel=(3, 3), num_filter=2, name="c"),
        {"data": (1, 20, 20, 3)},
        {"data": (1, 224, 224, 3)},
    ),
    "one axis": (
        mx.sym.Convolution(var("data"), kernel=(3,), num_filter=2, name="c"),
        {"data": (1, 6, 40)},
        {"data": (1, 6, 32)},
    ),
    "words": (
        mx.sym.FullyConnected(
            mx.sym.Embedding(var("data"), input_dim=9, output_dim=4, name="e"), num_hidden=2, name="f"
        ),
        {"data": (1, 12)},
        {"data": (1, 12)},
    ),
    "recurrent": (
        mx.sym.RNN(
            var("data"), var("p_weight"), var("state"), var("state_cell"), state_size=6, num_layers=2, mode="lstm"
        ),
        {"data": (4, 1, 5)},
        {"data": (32, 1, 5), "state": (2, 1, 6), "state_cell": (2, 1, 6)},
    ),
    "a product": (
        mx.sym.dot(var("data"), var("w_weight"), name="d"),
        {"data": (2, 5), "w_weight": (5, 3)},
        {"data": (1, 5)},
    ),
    "rows unfolded": (
        mx.sym.Convolution(mx.sym.reshape(var("data"), shape=(-1, 1, 28, 28)), kernel=(3, 3), num_filter=2, name="c"),
        {"data": (1, 784)},
        {"data": (1, 784)},
    ),
}


@pytest.mark.parametrize("name", GUESSES)
def test_shapes_are_guessed_from_the_parameters(name: str) -> None:
    net, made_with, expected = GUESSES[name]
    arguments, _, states = net.infer_shape(**made_with)
    shapes = {
        **dict(zip(net.list_arguments(), arguments, strict=True)),
        **dict(zip(net.list_auxiliary_states(), states, strict=True)),
    }
    made = {key: mx.nd.ones(shape) for key, shape in shapes.items() if key not in ("data", "state", "state_cell")}
    found = report(net, made)
    assert {one.name: one.shape for one in found.inputs} == expected
    assert found.fit is not None
    assert found.fit.fits
    assert not found.problem


# -- what it counts ----------------------------------------------------------------------------------------------------

x = var("x")
COUNTS = {
    "Convolution": (mx.sym.Convolution(x, kernel=(3, 3), num_filter=8), {"x": (2, 4, 10, 10)}, 2 * 8 * 8 * 8 * 4 * 9),
    "Convolution, groups": (
        mx.sym.Convolution(x, kernel=(3, 3), num_filter=8, num_group=4, pad=(1, 1)),
        {"x": (1, 4, 10, 10)},
        8 * 100 * 1 * 9,
    ),
    "Convolution, dilated": (
        mx.sym.Convolution(x, kernel=(3, 3), dilate=(2, 2), stride=(2, 2), num_filter=5),
        {"x": (1, 3, 11, 11)},
        5 * 4 * 4 * 3 * 9,
    ),
    "Convolution, one axis": (mx.sym.Convolution(x, kernel=(3,), num_filter=5), {"x": (1, 3, 11)}, 5 * 9 * 3 * 3),
    "Deconvolution": (
        mx.sym.Deconvolution(x, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=5),
        {"x": (1, 3, 6, 6)},
        3 * 36 * 5 * 16,
    ),
    "FullyConnected": (mx.sym.FullyConnected(x, num_hidden=7), {"x": (2, 3, 4)}, 2 * 7 * 12),
    "FullyConnected, rows": (mx.sym.FullyConnected(x, num_hidden=7, flatten=False), {"x": (2, 3, 4)}, 2 * 3 * 7 * 4),
    "RNN, lstm": (
        mx.sym.RNN(x, var("p"), var("s"), var("c"), state_size=6, num_layers=2, mode="lstm", bidirectional=True),
        {"x": (5, 2, 3)},
        5 * 2 * 2 * (4 * 6 * (3 + 6) + 4 * 6 * (12 + 6)),
    ),
    "RNN, gru": (
        mx.sym.RNN(x, var("p"), var("s"), state_size=6, num_layers=1, mode="gru"),
        {"x": (5, 2, 3)},
        5 * 2 * 3 * 6 * (3 + 6),
    ),
    "dot": (mx.sym.dot(x, var("y")), {"x": (2, 3), "y": (3, 4)}, 2 * 3 * 4),
    "dot, transposed": (mx.sym.dot(x, var("y"), transpose_a=True), {"x": (3, 2), "y": (3, 4)}, 2 * 3 * 4),
    "batch_dot": (mx.sym.batch_dot(x, var("y")), {"x": (5, 2, 3), "y": (5, 3, 4)}, 5 * 2 * 3 * 4),
    "batch_dot, transposed": (
        mx.sym.batch_dot(x, var("y"), transpose_a=True, transpose_b=True),
        {"x": (5, 3, 2), "y": (5, 4, 3)},
        5 * 2 * 3 * 4,
    ),
    "gemm2": (mx.sym.linalg.gemm2(x, var("y")), {"x": (5, 2, 3), "y": (5, 3, 4)}, 5 * 2 * 3 * 4),
    "syrk": (mx.sym.linalg.syrk(x), {"x": (4, 3)}, 4 * 4 * 3),
    "Embedding": (mx.sym.Embedding(x, input_dim=9, output_dim=4), {"x": (2, 5)}, 0),
    "Pooling": (mx.sym.Pooling(x, kernel=(3, 2), stride=(2, 2), pool_type="avg"), {"x": (1, 2, 9, 8)}, 2 * 4 * 4 * 6),
    "Pooling, global": (mx.sym.Pooling(x, global_pool=True, kernel=(1, 1)), {"x": (1, 2, 9, 8)}, 2 * 9 * 8),
    "BatchNorm": (mx.sym.BatchNorm(x), {"x": (2, 3, 4, 4)}, 2 * 3 * 16),
    "LRN": (mx.sym.LRN(x, nsize=5), {"x": (1, 6, 3, 3)}, 54 * 5),
    "self-attention, scores": (
        mx.sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2),
        {"x": (7, 3, 2 * 3 * 5)},
        3 * 2 * 7 * 7 * 5,
    ),
    "self-attention, values": (
        mx.sym.contrib.interleaved_matmul_selfatt_valatt(x, var("a"), heads=2),
        {"x": (7, 3, 2 * 3 * 5), "a": (6, 7, 7)},
        3 * 2 * 7 * 7 * 5,
    ),
    "attention, scores": (
        mx.sym.contrib.interleaved_matmul_encdec_qk(x, var("kv"), heads=2),
        {"x": (4, 3, 10), "kv": (7, 3, 20)},
        3 * 2 * 4 * 7 * 5,
    ),
    "attention, values": (
        mx.sym.contrib.interleaved_matmul_encdec_valatt(x, var("a"), heads=2),
        {"x": (7, 3, 20), "a": (6, 4, 7)},
        3 * 2 * 4 * 7 * 5,
    ),
    "DeformableConvolution": (
        mx.sym.contrib.DeformableConvolution(x, var("o"), kernel=(3, 3), num_filter=4, pad=(1, 1)),
        {"x": (1, 2, 5, 5), "o": (1, 18, 5, 5)},
        4 * 25 * 2 * 9,
    ),
    "sum": (mx.sym.sum(x, axis=1), {"x": (2, 3, 4)}, 24),
    "elementwise": (x + var("y"), {"x": (2, 3), "y": (2, 3)}, 6),
    "softmax": (mx.sym.softmax(x), {"x": (2, 3)}, 6),
    "reshape": (mx.sym.reshape(x, shape=(3, 2)), {"x": (2, 3)}, 0),
    "Dropout": (mx.sym.Dropout(x), {"x": (2, 3)}, 0),
    "box_nms": (mx.sym.contrib.box_nms(x), {"x": (1, 5, 6)}, None),
}


@pytest.mark.parametrize("name", COUNTS)
def test_multiply_adds_are_those_counted_by_hand(name: str) -> None:
    net, shapes, expected = COUNTS[name]
    known = net._infer_shape("test", (), shapes).known
    node = net.values[0].node
    outputs = [known[Value(node, index)] for index in range(len(node.output_names()))]
    assert multiply_adds(node, [known[value] for value in node.inputs], outputs) == expected


def test_users_operators_are_not_counted(capsys) -> None:
    @mx.customop("numpy")
    def unknown_work(x):
        return x * 2

    found = report(mx.sym.relu(unknown_work(var("data"))), shapes=(2, 3))
    assert [layer.multiply_adds for layer in found.layers] == [None, 6]
    assert "at least 6" in str(found)
    assert "code of yours: " in str(found)


def test_one_parameter_read_twice_is_counted_once() -> None:
    weight = var("shared_weight")
    net = mx.sym.FullyConnected(var("data"), weight, no_bias=True, num_hidden=4, name="a")
    net = mx.sym.FullyConnected(net, weight, no_bias=True, num_hidden=4, name="b")
    found = report(net, shapes=(1, 4))
    assert found.parameters == 16
    assert [layer.parameters for layer in found.layers] == [16, 0]


def test_units() -> None:
    assert [amount(number) for number in (999949, 999999, 10**15)] == ["999.9 k", "1.000 M", "1.000 P"]
    assert size_text(1023 * 1024) == "1.0 MiB"


# -- what does not fit -------------------------------------------------------------------------------------------------


def test_parameters_that_do_not_fit_are_named_in_tables(model: Path, capsys) -> None:
    made = mx.nd.load(str(model.parent / "net-0012.params"))
    made["arg:fc1_weight"] = mx.nd.ones((10, 575))
    del made["arg:conv1_bias"]
    made["arg:old_weight"] = mx.nd.ones((2, 2))
    made["arg:bn1_moving_var"] = made.pop("aux:bn1_moving_var")
    mx.nd.save(str(model.parent / "net-0013.params"), made)
    status, out, _ = printed(capsys, model, "--data", "1,1,28,28")
    assert status == 1
    said = out[out.index("6 of 8") : out.index("note:")]
    assert (
        said
        == """\
6 of 8 parameters and statistics fit

1 missing: the file lacks them, and the network cannot be run
  name        expected
  conv1_bias  (4,)

1 of another shape: the file belongs to another network, or its data are of another size: give --data
  name        got        expected
  fc1_weight  (10, 575)  (10, 576)

1 superfluous: the network does not read them, which does no harm
  name        got
  old_weight  (2, 2)

1 of another kind: bind takes them by name all the same
  name            filed as  is
  bn1_moving_var  argument  auxiliary state

"""
    )
    _, _, err = printed(capsys, model, "--data", "1,1,28,28", "--run", "x.npy")
    assert "cannot read 'x.npy'" in err


def test_a_parameter_of_another_shape_is_named_without_data_too(model: Path, capsys) -> None:
    made = mx.nd.load(str(model.parent / "net-0012.params"))
    made["arg:fc1_bias"] = mx.nd.ones(11)
    mx.nd.save(str(model.parent / "net-0013.params"), made)
    status, out, _ = printed(capsys, model)
    assert status == 1
    assert "  fc1_bias  (11,)  (10,)" in out


def test_files_of_save_parameters_are_known(model: Path, capsys) -> None:
    made = {"0.weight": mx.nd.ones((4, 1, 5, 5)), "0.bias": mx.nd.ones(4)}
    mx.nd.save(str(model.parent / "net-0013.params"), made)
    status, out, _ = printed(capsys, model, "--data", "1,1,28,28")
    assert status == 1
    assert "The file's names are those of Block.save_parameters" in out


def test_operators_that_are_not_here_are_named_at_once(model: Path, capsys) -> None:
    text = model.read_text()
    for known, other in (
        ("Flatten", "_contrib_quantized_flatten"),
        ("BatchNorm", "BatchNormm"),
        ("Pooling", "_sg_mkldnn_conv"),
    ):
        text = text.replace(f'"op": "{known}"', f'"op": "{other}"')
    model.write_text(text)
    status, out, _ = printed(capsys, model)
    said = " ".join(out.split())
    assert status == 1
    assert "3 operator(s) are not here, in 3 of 7 nodes" in said
    assert "_contrib_quantized_flatten 1 flat" in said
    assert "_sg_mkldnn_conv 1 pool1" in said
    assert "load the float32 model that was quantized" in said
    assert "BatchNormm: Did you mean 'BatchNorm'" in said
    assert "save the symbol as it was before optimize_for" in said
    assert "operators that are here: Convolution (1), Activation (1), FullyConnected (1), SoftmaxOutput (1)" in said
    status, _, err = printed(capsys, model, "--run", "x.jpg", "--picture", "x.svg")
    assert status == 1
    assert "--run is left out" in err
    assert "--picture is left out" in err


def test_custom_operators_are_imported_first(tmp_path: Path) -> None:
    (tmp_path / "doubling_of_a_test.py").write_text(
        "import mxnet as mx\n"
        "class Op(mx.operator.CustomOp):\n"
        "    def forward(self, is_train, req, in_data, out_data, aux):\n"
        "        self.assign(out_data[0], req[0], in_data[0] * 2)\n"
        "@mx.operator.register('doubling_of_a_test')\n"
        "class Prop(mx.operator.CustomOpProp):\n"
        "    def create_operator(self, ctx, shapes, dtypes):\n"
        "        return Op()\n"
    )
    node = {"op": "Custom", "name": "twice", "attrs": {"op_type": "doubling_of_a_test"}, "inputs": [[0, 0, 0]]}
    document = {"nodes": [{"op": "null", "name": "data", "inputs": []}, node], "arg_nodes": [0], "heads": [[1, 0, 0]]}
    (tmp_path / "net-symbol.json").write_text(json.dumps(document))
    np.save(tmp_path / "x.npy", np.ones((2, 3), "float32"))
    command = [sys.executable, "-m", "minpy", "model", "net", "--run", "x.npy"]
    environment = {**os.environ, "PYTHONPATH": str(Path(mx.__file__).parents[1])}
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "env": environment, "timeout": 60}
    without = subprocess.run(command, check=False, **options)
    assert without.returncode == 1
    assert "mx.operator.register('doubling_of_a_test')" in without.stdout
    ran = subprocess.run([*command, "--import", "doubling_of_a_test"], check=False, **options)
    assert ran.returncode == 0, ran.stderr
    assert "twice_output  (2, 3)    2     2    2    0" in ran.stdout
    missing = subprocess.run([*command, "--import", "not_there_at_all"], check=False, **options)
    assert missing.returncode == 1
    assert "--import not_there_at_all: No module named" in missing.stderr


# -- running -----------------------------------------------------------------------------------------------------------


def test_arrays_are_run_and_outputs_saved(model: Path, capsys) -> None:
    folder = model.parent
    values = np.random.default_rng(1).normal(size=(1, 28, 28)).astype("float32")
    np.save(folder / "x.npy", values)
    (folder / "labels.txt").write_text("".join(f"n0000000{one} digit {one}\n" for one in range(10)))
    status, out, err = printed(
        capsys,
        model,
        "--run",
        folder / "x.npy",
        "--output",
        folder / "y.npz",
        "--labels",
        folder / "labels.txt",
        "--repeat",
        2,
    )
    assert status == 0, err
    made = {key[4:]: value for key, value in mx.nd.load(str(folder / "net-0012.params")).items()}
    states = {name: made.pop(name) for name in convolutional().list_auxiliary_states()}
    arguments = {**made, "data": mx.nd.array(values[None]), "softmax_label": mx.nd.zeros(1)}
    expected = convolutional().bind(mx.cpu(), arguments, aux_states=states).forward()[0].asnumpy()
    with np.load(folder / "y.npz") as saved:
        np.testing.assert_array_equal(saved["softmax_output"], expected)
    best = int(expected.argmax())
    assert (
        f"digit {best}  {best:>5}  {expected.max():.5g}" in " ".join(out.split("\n")).replace("   ", "  ")
        or f"digit {best}" in out
    )
    assert "(the median of 2)" in out
    assert "the outputs are in" in out


def test_arrays_say_the_shape(model: Path, capsys) -> None:
    np.save(model.parent / "x.npy", np.zeros((5, 1, 28, 28), "float32"))
    status, out, _ = printed(capsys, model, "--run", model.parent / "x.npy")
    assert status == 0
    assert "data           (5, 1, 28, 28)  float32  given" in out
    assert "softmax_output  (5, 10)" in out
    np.savez(model.parent / "x.npz", dada=np.zeros(3))
    _, _, err = printed(capsys, model, "--run", model.parent / "x.npz")
    assert "holds 'dada', which is no input; inputs are data, softmax_label. Did you mean 'data'?" in " ".join(
        err.split()
    )
    (model.parent / "bad.npy").write_bytes(b"\x93NUMPY\x01")
    _, _, err = printed(capsys, model, "--run", model.parent / "bad.npy")
    assert "cannot be read as an array" in " ".join(err.split())
    np.save(model.parent / "pickled.npy", np.array([{}], object), allow_pickle=True)
    _, _, err = printed(capsys, model, "--run", model.parent / "pickled.npy")
    assert "cannot be read as an array" in " ".join(err.split())


def test_pictures_are_cut_and_scaled(tmp_path: Path) -> None:
    from minpy.inspection.prediction import Preparation, read_picture

    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, 10:30] = (255, 102, 0)  # the middle
    image.fromarray(pixels).save(tmp_path / "x.png")
    path = str(tmp_path / "x.png")
    middle = read_picture(path, (1, 3, 20, 20), Preparation())
    assert middle.shape == (1, 3, 20, 20)
    assert middle.dtype == np.float32
    np.testing.assert_array_equal(middle[0, :, 5, 5], [255, 102, 0])
    np.testing.assert_array_equal(read_picture(path, (2, 20, 20, 3), Preparation(bgr=True))[1, 5, 5], [0, 102, 255])
    scaled = read_picture(path, (1, 3, 20, 20), Preparation((0.5, 0.2, 0.0), (2.0,), 1 / 255))
    np.testing.assert_allclose(scaled[0, :, 5, 5], [0.25, 0.1, 0.0], atol=1e-6)
    assert read_picture(path, (1, 3, 20, 20), Preparation(stretch=True))[0, :, 5, 1].tolist() == [0, 0, 0]
    assert read_picture(path, (1, 1, 20, 20), Preparation()).shape == (1, 1, 20, 20)
    with pytest.raises(ArgumentError, match=r"--mean has 2 numbers; expected 1, or 3"):
        read_picture(path, (1, 3, 20, 20), Preparation((1.0, 2.0)))
    with pytest.raises(ShapeError, match=r"\(1, 7\), which is no picture of 1 or 3 channels"):
        read_picture(path, (1, 7), Preparation())


def test_further_inputs_are_asked_for(tmp_path: Path, capsys) -> None:
    net = mx.sym.FullyConnected(var("left") + var("right"), num_hidden=3, name="fc")
    net.save(str(tmp_path / "net-symbol.json"))
    mx.nd.save(str(tmp_path / "net-0000.params"), {"arg:fc_weight": mx.nd.ones((3, 7)), "arg:fc_bias": mx.nd.ones(3)})
    np.save(tmp_path / "x.npy", np.ones((1, 7), "float32"))
    status, _, err = printed(capsys, tmp_path / "net", "--run", tmp_path / "x.npy")
    assert status == 1
    assert "there are no values for the input(s) 'right'" in " ".join(err.split())
    assert "numpy.savez('inputs.npz', left=..., right=...)" in " ".join(err.split())
    np.savez(tmp_path / "x.npz", left=np.ones((1, 7), "float32"), right=np.ones((1, 7), "float32"))
    status, out, _ = printed(capsys, tmp_path / "net", "--run", tmp_path / "x.npz")
    assert status == 0
    assert "fc_output  (1, 3)   15    15   15    0" in out


# -- the picture -------------------------------------------------------------------------------------------------------


def test_the_picture_without_the_program(model: Path, capsys, monkeypatch) -> None:
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", "")
    status, _, err = printed(capsys, model, "--picture", model.parent / "net.pdf")
    assert status == 0
    assert "the program `dot` is not installed" in " ".join(err.split())
    assert not (model.parent / "net.pdf").exists()
    assert "net.svg, which is drawn without it" in " ".join(err.split())
    drawn = (model.parent / "net.gv").read_text()
    assert "Convolution" in drawn
    assert "fixedsize=true" not in drawn  # so that long names are not cut off
    _, _, err = printed(capsys, model, "--picture", model.parent / "net.docx")
    assert "ends with '.docx'; expected one of .png, .svg" in " ".join(err.split())


def test_the_picture_without_the_package(model: Path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    status, _, err = printed(capsys, model, "--picture", model.parent / "net.png")
    assert status == 1
    assert "pip install graphviz" in " ".join(err.split())


# -- the command line --------------------------------------------------------------------------------------------------


def test_a_script_of_that_name_runs(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(mx.__file__).parents[1])}
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "env": environment, "timeout": 60}
    command = [sys.executable, "-m", "minpy", "model", "--help"]
    told = subprocess.run(command, check=False, **options)
    assert told.returncode == 0
    assert "usage: python -m minpy model" in told.stdout
    (tmp_path / "model").mkdir()  # a folder of checkpoints is no program
    assert subprocess.run(command, check=False, **options).stdout == told.stdout
    (tmp_path / "model" / "__main__.py").write_text("import sys; print('mine', sys.argv[1:])")
    assert subprocess.run(command, check=False, **options).stdout == "mine ['--help']\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["net", "--data", "a,b"], "'a,b' is no shape; expected 1,3,224,224, or data:1,3,224,224"),
        (["net", "--nothing"], "unrecognized arguments: --nothing"),
        ([], "the following arguments are required: MODEL"),
    ],
)
def test_commands_that_cannot_be_understood(arguments: list[str], said: str, capsys) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_files_that_are_not_there(model: Path, capsys) -> None:
    for name, said in {
        "nat": "there is no symbol for",
        "nat-symbol.json": "Did you mean 'net-symbol.json'?",
        "no/net": "does not exist",
        "net-0099.params": "",
    }.items():
        status, _, err = printed(capsys, model.parent / name)
        assert (status, said in " ".join(err.split())) == ((1, True) if said else (0, True))
    with pytest.raises(FileMissingError, match="cannot read"):
        find(model, model.parent / "other.params")
    mx.nd.save(str(model.parent / "list.params"), [mx.nd.ones(2)])
    with pytest.raises(FileFormatError, match=r"holds 1 array\(s\) without names"):
        find(model, model.parent / "list.params")
    (model.parent / "second-symbol.json").write_text("{}")
    with pytest.raises(ArgumentError, match=r"holds 2 models: 'net-symbol\.json', 'second-symbol\.json'"):
        find(model.parent)


# -- heads of arrays ---------------------------------------------------------------------------------------------------


def _same_heads(path: Path, arrays) -> bool:
    found = heads(io.BytesIO(path.read_bytes()), path.stat().st_size, "x")
    if isinstance(arrays, dict):
        if list(found) != list(arrays):
            return False
        found, arrays = list(found.values()), list(arrays.values())
    return [(head.shape, head.dtype) for head in found] == [(array.shape, array.dtype) for array in arrays]


@pytest.mark.filterwarnings("ignore:nd.load.*sparse in the file:UserWarning")
def test_heads_are_those_of_the_arrays(tmp_path: Path) -> None:
    for path in (GOLDEN / "params").glob("*.params"):
        try:
            arrays = mx.nd.load(str(path))
        except FileFormatError as error:
            with pytest.raises(FileFormatError) as raised:
                heads(io.BytesIO(path.read_bytes()), path.stat().st_size, f"nd.load: {str(path)!r}")
            same = str(raised.value) == str(error)
        else:
            same = _same_heads(path, arrays)
        assert same


def test_cut_files_are_errors_of_heads_too(model: Path) -> None:
    content = (model.parent / "net-0003.params").read_bytes()
    for length in (0, 10, 100, len(content) // 2, len(content) - 1):
        with pytest.raises(FileFormatError):
            heads(io.BytesIO(content[:length]), length, "x")


# -- archives ----------------------------------------------------------------------------------------------------------


def server_files(model: Path, **more: str) -> dict[str, bytes]:
    return {
        "model_algo_1-symbol.json": model.read_bytes(),
        "model_algo_1-0000.params": (model.parent / "net-0012.params").read_bytes(),
        "hyperparams.json": b'{"num_classes": "10", "image_shape": "1,28,28", "base_network": "lenet"}',
        **{name: text.encode() for name, text in more.items()},
    }


def packed(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", ["w:gz", "w", "zip"])
def test_artifacts_of_a_model_server(model: Path, kind: str, tmp_path: Path, capsys) -> None:
    shapes = {"model-shapes.json": '[{"shape": [2, 1, 28, 28], "name": "data"}]'}
    files = server_files(model, **shapes, **{"._model_algo_1-symbol.json": "of macOS"})
    path = tmp_path / ("model.zip" if kind == "zip" else "model.tar.gz")
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        packed(path, files, kind)
    before = sorted(os.listdir(tmp_path))
    np.save(tmp_path / "x.npy", np.zeros((2, 1, 28, 28), "float32"))
    status, out, err = printed(capsys, path, "--run", tmp_path / "x.npy")
    assert status == 0, err
    assert f"model         {path}:model_algo_1-symbol.json"[:WIDTH] in out or "model_algo_1-symbol.json" in out
    assert "trained with  num_classes 10, image_shape 1,28,28, base_network lenet" in out
    assert "softmax_output  (2, 10)" in out
    assert "all 8 parameters and statistics fit" in out
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "x.npy"])
    assert find(path).shapes == {"data": ((2, 1, 28, 28), "in model-shapes.json")}


def test_shapes_follow_from_hyperparameters_and_signatures(model: Path, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tar.gz", server_files(model))
    assert find(path).shapes == {"data": ((1, 1, 28, 28), "image_shape in hyperparams.json")}
    files = server_files(model, **{"hyperparams.json": '{"image_shape": "300"}'})
    assert find(packed(path, files)).shapes["data"][0] == (1, 3, 300, 300)
    signature = '{"inputs": [{"data_name": "data", "data_shape": [0, 1, 28, 28]}], "output_type": "application/json"}'
    files = {
        "m/m-symbol.json": model.read_bytes(),
        "m/signature.json": signature.encode(),
        "m/synset.txt": b"n00000001 one\ntwo\n",
    }
    found = find(packed(path, files))
    assert found.shapes == {"data": ((1, 1, 28, 28), "in signature.json")}
    assert found.labels == ["one", "two"]
    assert found.heads is None


HOSTILE_JSON = ["[", "[1]", "{}", '[{"name": 3, "shape": [1]}]', '[{"name": "data", "shape": [-1, 3]}]',
    '[{"name": "data", "shape": [1.5]}]', '[{"name": "data", "shape": [99999999, 99999999]}]',
    '[{"name": "data", "shape": "all"}]', "[" * 100000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE_JSON, ids=range(len(HOSTILE_JSON)))
def test_hostile_shapes_are_errors(text: str, model: Path, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tar.gz", server_files(model, **{"model-shapes.json": text}))
    with pytest.raises(FileFormatError, match=r"is no JSON|is not as expected"):
        find(path)


def test_archives_that_mean_harm(model: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    files = server_files(model)
    path = tmp_path / "in" / "a.tar.gz"
    path.parent.mkdir()
    climbing = {f"../../outside/{name}": content for name, content in files.items()}
    absolute = {f"{outside}/{name}": content for name, content in files.items()}
    for hostile in (climbing, absolute):
        assert report(find(packed(path, hostile))).runs
        assert not outside.exists()
        assert os.listdir(path.parent) == ["a.tar.gz"]

    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo("m-symbol.json")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        with pytest.raises(FileFormatError, match=r"holds 'm-symbol\.json' as a link, which is not followed"):
            find(path)

    with pytest.raises(FileMissingError, match=r"holds no -symbol\.json file"):
        find(packed(path, {"x.txt": b""}))
    with pytest.raises(ArgumentError, match="holds 2 models"):
        find(packed(path, {"a-symbol.json": b"{}", "b-symbol.json": b"{}"}))


def test_bombs_are_refused_before_they_are_read(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    huge = tarfile.TarInfo("m-0000.params")
    huge.size = 1 << 40
    path.write_bytes(gzip.compress(huge.tobuf() + bytes(1 << 20)))
    with pytest.raises(
        FileFormatError, match=r"with 'm-0000\.params', of 1099511627776 bytes, its \d+ bytes would become"
    ):
        find(path)
    plain = tmp_path / "claim.tar"
    huge.size = 1 << 29
    plain.write_bytes(huge.tobuf() + bytes(1024))
    with pytest.raises(FileFormatError, match="is damaged or incomplete"):
        find(plain)
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 1 << 30
    for content in (header.tobuf() + bytes(1024), gzip.compress(header.tobuf() + bytes(1 << 20))):
        plain.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"cannot be read|holds no|damaged"):
            find(plain)
    many = {f"{number}": b"" for number in range(10_001)}
    with pytest.raises(FileFormatError, match="more than 10000 members"):
        find(packed(plain, many, "w"))
    long = packed(path, {"m-symbol.json": b" " * ((64 << 20) + 1)})
    with pytest.raises(FileFormatError, match="expected a text of 64 MiB at most"):
        find(long)


@pytest.mark.parametrize("kind", ["w:gz", "w"])
def test_cut_archives_are_errors(kind: str, model: Path, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tar.gz", server_files(model), kind)
    content = path.read_bytes()
    for part in range(1, 10):
        path.write_bytes(content[: len(content) * part // 10])
        try:
            found = find(path)
        except (FileFormatError, FileMissingError) as error:
            said = str(error)
        else:
            said = str(path)
            assert found.heads is None or len(found.heads) == 8
        assert str(path) in said


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_changed_bytes_never_crash_the_reading_of_archives(data) -> None:
    files = {"m-symbol.json": convolutional().tojson().encode(), "hyperparams.json": b'{"image_shape": "1,28,28"}'}
    path = _FUZZED / "fuzzed.tar"
    packed(path, files, data.draw(st.sampled_from(["w", "w:gz"])))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        report(find(path))
    except MXNetError:
        return


@pytest.fixture(autouse=True, scope="module")
def _fuzzing(tmp_path_factory):
    global _FUZZED
    _FUZZED = tmp_path_factory.mktemp("fuzzed")
