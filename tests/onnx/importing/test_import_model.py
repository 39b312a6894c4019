"""`import_model`, `import_to_gluon`: what they take and return; models there and back, in training, damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import minpy as mx
from minpy import customop

onnx = pytest.importorskip("onnx", minversion="1.16", reason="imports models from ONNX")

from minpy.core.errors import CheckError, FileFormatError  # noqa: E402
from minpy.onnx.importing.refusals import ModelRefused  # noqa: E402
from minpy.onnx.running import run_model  # noqa: E402

GENERATOR = np.random.RandomState(7)


@customop("numpy")
def softened_twice(x, sharpness=2.0):
    return np.log(1.0 + np.exp(sharpness * np.tanh(x))) / sharpness


class Sequences(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.layer = mx.gluon.rnn.LSTM(5, num_layers=2, bidirectional=True, input_size=4)
            self.dense = mx.gluon.nn.Dense(3, flatten=False, in_units=10)

    def hybrid_forward(self, F, x):
        return self.dense(self.layer(x))


class Softened(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = mx.gluon.nn.Dense(4, in_units=3)

    def hybrid_forward(self, F, x):
        return softened_twice(self.dense(x))


def small_network():
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Conv2D(4, 3, padding=1, in_channels=2),
        mx.gluon.nn.BatchNorm(in_channels=4),
        mx.gluon.nn.Activation("relu"),
        mx.gluon.nn.MaxPool2D(),
        mx.gluon.nn.Flatten(),
        mx.gluon.nn.Dense(3, in_units=64),
    )
    return net


def exported(net, path: Path, *shape: int):
    """Initialize and export a network; return the file, its input and what it computes."""
    net.initialize(mx.init.Normal(0.3))
    x = mx.nd.array(GENERATOR.randn(*shape).astype("float32"))
    expected = net(x)
    file = str(path / "net.onnx")
    net.export_onnx(file, x)
    return file, x, expected.asnumpy()


# -- there and back ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (mx.gluon.model_zoo.vision.resnet18_v1, (1, 3, 32, 32)),
        (Sequences, (6, 2, 4)),
        (Softened, (5, 3)),
        (small_network, (2, 2, 8, 8)),
    ],
    ids=["resnet18_v1", "LSTM", "customop", "small"],
)
def test_what_is_exported_computes_the_same_when_imported(build, shape, tmp_path):
    file, x, expected = exported(build(), tmp_path, *shape)
    imported = mx.onnx.import_to_gluon(file, ctx=mx.cpu())
    np.testing.assert_allclose(imported(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    imported.hybridize()
    np.testing.assert_allclose(imported(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_residual_network_comes_back_as_the_layers_that_it_was(tmp_path):
    file, _, _ = exported(mx.gluon.model_zoo.vision.resnet18_v1(), tmp_path, 1, 3, 32, 32)
    symbol, arguments, states = mx.onnx.import_model(file)
    operators = [node.get("op") for node in json.loads(symbol.tojson())["nodes"]]
    counted = {name: operators.count(name) for name in set(operators) - {"null"}}
    assert counted == {
        "Convolution": 20, "BatchNorm": 20, "Activation": 17, "_npi_add": 8, "Pooling": 2, "Flatten": 1,
        "FullyConnected": 1,
    }  # fmt: skip
    assert len(states) == 40
    assert set(symbol.list_arguments()) == {"data", *arguments}


# -- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybridized", [False, True])
def test_an_imported_network_trains(hybridized, tmp_path):
    file, x, _ = exported(small_network(), tmp_path, 8, 2, 8, 8)
    net = mx.onnx.import_to_gluon(file)
    if hybridized:
        net.hybridize()
    statistics = [name for name, parameter in net.collect_params().items() if parameter.grad_req == "null"]
    assert len(statistics) == 2
    before = {name: parameter.data().asnumpy() for name, parameter in net.collect_params().items()}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    target = mx.nd.array(GENERATOR.randn(8, 3).astype("float32"))
    losses = []
    for _ in range(8):
        with mx.autograd.record():
            loss = mx.nd.mean(mx.nd.square(net(x) - target))
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < 0.8 * losses[0]
    for name, parameter in net.collect_params().items():
        assert not np.array_equal(parameter.data().asnumpy(), before[name]), name


# -- the comparison ----------------------------------------------------------------------------------------------------

MODEL = """
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[2, 3] x) => (float[2, 2] y)
    <float[3, 2] w = {1, 2, 3, 4, 5, 6}>
    { h = MatMul(x, w)  s = Sin(h)  y = Relu(s) }"""


def test_the_first_node_that_differs_is_named(monkeypatch):
    from minpy.onnx.importing.calls import ROWS

    model = onnx.parser.parse_model(MODEL)
    mx.onnx.import_model(model, check=True)
    monkeypatch.setitem(ROWS, "Sin", lambda call: mx.sym.np.cos(call.symbol()))
    mx.onnx.import_model(model)
    with pytest.raises(CheckError, match=r"the first output that differs is 's' of node 's' \(Sin\): expected"):
        mx.onnx.import_model(model, check=True)


def test_loops_and_branches_compute_what_the_runtime_does():
    text = """
        <ir_version: 8, opset_import: ["" : 16]>
        net (float[2] x, bool c) => (float[2] y, float[4, 2] all, float[2] z)
        <int64 n = {4}, bool t = {1}>
        {
            y, all = Loop (n, t, x) <body = step (int64 i, bool go, float[2] a) => (bool on, float[2] b, float[2] e)
                { on = Identity(go)  two = Constant<value_float = 2.0>()  b = Mul(a, two)  e = Sub(b, x) }>
            z = If (c) <then_branch = first () => (float[2] p) { p = Neg(y) },
                        else_branch = second () => (float[2] q) { q = Abs(x) }>
        }"""
    model = onnx.parser.parse_model(text)
    symbol, arguments, _ = mx.onnx.import_model(model, check=True)
    for condition in (True, False):
        inputs = {"x": np.float32([1.5, -2.0]), "c": np.asarray(condition)}
        expected = run_model(model, inputs)
        given = {name: mx.nd.array(array, dtype=array.dtype) for name, array in inputs.items()}
        executor = symbol.bind(mx.cpu(), {**given, **arguments})
        for name, array in zip(("y", "all", "z"), executor.forward(), strict=True):
            np.testing.assert_allclose(array.asnumpy(), expected[name], rtol=1e-6)


def test_a_loop_that_hangs_on_values_is_refused():
    text = """
        <ir_version: 8, opset_import: ["" : 16]>
        net (float x, bool t) => (float y) <int64 n = {4}>
        { y = Loop (n, t, x) <body = step (int64 i, bool go, float a) => (bool on, float b)
            { b = Add(a, a)  limit = Constant<value_float = 9.0>()  on = Less(b, limit) }> }"""
    with pytest.raises(ModelRefused, match=r"node 'y' \(Loop\): its condition \('t'\) are computed while the model"):
        mx.onnx.import_model(onnx.parser.parse_model(text))


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_all_nodes_that_cannot_be_imported_are_listed():
    text = """
        <ir_version: 8, opset_import: ["" : 13]>
        net (float[4] x) => (int64[n, 1] y, float[4] z, float[4] w)
        { y = NonZero(x)  z = RandomNormalLike(x)  w = Relu(z) }"""
    with pytest.raises(ModelRefused, match="2 of 3 nodes of the model cannot be imported") as raised:
        mx.onnx.import_model(onnx.parser.parse_model(text))
    assert "node 'y' (NonZero): how long its output is" in str(raised.value)
    assert "node 'z' (RandomNormalLike): it draws random numbers" in str(raised.value)


def damaged_node():
    model = onnx.parser.parse_model(MODEL)
    model.graph.node[1].attribute.append(onnx.AttributeProto(name="axis", type=onnx.AttributeProto.INT, f=2.0))
    model.graph.node[2].input.append("h")
    return model


def missing_input():
    model = onnx.parser.parse_model(MODEL)
    model.graph.node[1].input[0] = "nowhere"
    return model


def short_weights():
    model = onnx.parser.parse_model(MODEL)
    del model.graph.initializer[0].float_data[3:]
    model.graph.initializer[0].raw_data = b"\0" * 5
    return model


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        (b"", FileFormatError, "it is empty, damaged, or of another format"),
        (b"\x08\x07 no model", FileFormatError, "is no ONNX model: it is damaged, cut off, or of another format"),
        (damaged_node, ModelRefused, r"\(Relu\)"),
        (missing_input, ModelRefused, "nothing before it computes its input 'nowhere'. The model is damaged"),
        (short_weights, FileFormatError, "the initializer 'w' of the model is damaged"),
        (3, mx.base.MXNetError, "model_file must be a path, bytes or an onnx.ModelProto, got int 3"),
        ("absent.onnx", mx.base.MXNetError, "absent.onnx"),
    ],
    ids=["empty", "garbage", "node", "input", "weights", "number", "absent"],
)
def test_damaged_models_end_in_an_error_of_the_house(model, error, text):
    with pytest.raises(error, match=text):
        mx.onnx.import_model(model() if callable(model) else model)


def test_files_cut_off_anywhere_end_in_an_error_of_the_house():
    content = onnx.parser.parse_model(MODEL).SerializeToString()
    for end in range(0, len(content), 3):
        try:
            mx.onnx.import_model(content[:end])
        except mx.base.MXNetError as error:
            assert str(error).startswith("import_model: ")  # noqa: PT017 - not every cut damages the model


def test_weights_outside_of_the_folder_are_not_read(tmp_path):
    model = onnx.parser.parse_model(MODEL)
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    tensor = model.graph.initializer[0]
    del tensor.float_data[:]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=os.path.join("..", "secret"))
    path = tmp_path / "inner" / "net.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(FileFormatError, match="outside of the model's folder, which is not read"):
        mx.onnx.import_model(path)


def test_metadata_has_inputs_and_outputs_without_parameters():
    metadata = mx.onnx.get_model_metadata(onnx.parser.parse_model(MODEL))
    assert metadata == {"input_tensor_data": [("x", (2, 3))], "output_tensor_data": [("y", (2, 2))]}
