"""Networks exported to ONNX: recurrent layers, attention, detectors, and those of the model zoo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported import OPSETS, exported, op_types, parameters_of
from many import each

import minpy as mx
from minpy.gluon import nn, rnn

onnx = pytest.importorskip("onnx", minversion="1.16", reason="exports models to ONNX")

from minpy.onnx.exporting.export_model import export_model_with_report  # noqa: E402 - it stands on onnx
from minpy.onnx.exporting.sources import ExportError  # noqa: E402

# -- recurrent layers --------------------------------------------------------------------------------------------------

LENGTHS = np.float32([5, 3, 1])


def recurrent(
    mode: str, layers: int, bidirectional: bool, has_lengths: bool
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return a layer as a symbol, the shapes of its inputs, and its parameters."""
    size, inputs, directions = 4, 3, 2 if bidirectional else 1
    states = (layers * directions, 3, size)
    shapes = {"data": (5, 3, inputs), "state": states}
    arguments = {name: mx.sym.var(name) for name in ("data", "parameters", "state")}
    if mode == "lstm":
        arguments["state_cell"] = mx.sym.var("state_cell")
        shapes["state_cell"] = states
    if has_lengths:
        arguments["sequence_length"] = mx.sym.var("sequence_length")
        shapes["sequence_length"] = (3,)
    symbol = mx.sym.RNN(
        **arguments,
        state_size=size,
        num_layers=layers,
        bidirectional=bidirectional,
        mode=mode,
        state_outputs=True,
        use_sequence_length=has_lengths,
        name="rnn",
    )
    symbol = mx.sym.Group(list(symbol))
    return symbol, shapes, parameters_of(symbol, **shapes)


RECURRENT = {
    f"{mode} {layers}{' both ways' * both}{' lengths' * lengths}": (mode, layers, both, lengths)
    for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    for layers, both, lengths in ((1, False, False), (2, True, False), (1, True, True), (2, False, True))
}


def drawn_examples(shapes: dict[str, Any]) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    examples = {name: generator.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    return {name: LENGTHS if name == "sequence_length" else array for name, array in examples.items()}


@each(RECURRENT)
def test_recurrent_layers(mode: str, layers: int, both: bool, lengths: bool) -> None:
    symbol, shapes, parameters = recurrent(mode, layers, both, lengths)
    op_type = {"lstm": "LSTM", "gru": "GRU"}.get(mode, "RNN")
    for opset in (13, 28):
        model = exported(symbol, shapes, parameters, opset=opset, example_inputs=drawn_examples(shapes))
        assert op_types(model).count(op_type) == layers


@each(RECURRENT)
def test_recurrent_layers_of_any_length_and_batch(mode: str, layers: int, both: bool, lengths: bool) -> None:
    symbol, shapes, parameters = recurrent(mode, layers, both, lengths)
    axes = {"data": ("time", "batch", 3), "sequence_length": ("batch",)}
    dynamic = {name: axes.get(name, (shape[0], "batch", 4)) for name, shape in shapes.items()}
    exported(symbol, shapes, parameters, dynamic=dynamic, example_inputs=drawn_examples(shapes))


def test_what_recurrent_layers_have_no_equal_of() -> None:
    symbol = mx.sym.RNN(
        *(mx.sym.var(name) for name in ("data", "parameters", "state", "state_cell")),
        state_size=4,
        num_layers=1,
        mode="lstm",
        projection_size=2,
        name="rnn",
    )
    shapes = {"data": (5, 3, 3), "state": (1, 3, 2), "state_cell": (1, 3, 4)}
    with pytest.raises(ExportError, match=r"'rnn' \(RNN\): projection_size"):
        exported(symbol, shapes, parameters_of(symbol, **shapes))
    symbol, shapes, parameters = recurrent("gru", 1, False, False)
    shapes["parameters"] = parameters.pop("parameters").shape
    with pytest.raises(ExportError, match=r"'rnn' \(RNN\): parameters that are computed by the graph"):
        exported(symbol, shapes, parameters)


LAYERS = {
    f"{cls.__name__} {options}": (cls, options)
    for cls in (rnn.LSTM, rnn.GRU, rnn.RNN)
    for options in ({}, {"num_layers": 2, "bidirectional": True}, {"layout": "NTC", "dropout": 0.3, "num_layers": 2})
}


@each(LAYERS)
def test_recurrent_layers_of_gluon(cls: Any, options: dict[str, Any]) -> None:
    layer = cls(4, input_size=3, **options)
    layer.initialize()
    layer.hybridize()
    require_exported(layer, [(5, 2, 3)])
    require_exported(layer, [(5, 2, 3)], dynamic=[("a", "b", 3)])


# -- networks ----------------------------------------------------------------------------------------------------------


def require_exported(block: Any, shapes: list[tuple[int, ...]], **options: Any) -> Any:
    """Export a block, which proves it, and return the model."""
    generator = np.random.default_rng(0)
    examples = [mx.nd.array(generator.standard_normal(shape)) for shape in shapes]
    path = "network.onnx"
    block.export_onnx(path, *examples, **options)
    return onnx.load(path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class EncoderLayer(nn.HybridBlock):
    """A layer of a Transformer, with interleaved projections of queries, keys and values."""

    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        with self.name_scope():
            self.projection = nn.Dense(3 * units, flatten=False, in_units=units)
            self.output = nn.Dense(units, flatten=False, in_units=units)
            self.first = nn.Dense(4 * units, flatten=False, in_units=units)
            self.second = nn.Dense(units, flatten=False, in_units=4 * units)
            self.activation = nn.GELU()
            self.dropout = nn.Dropout(0.1)
            self.norms = [nn.LayerNorm(in_channels=units) for _ in range(2)]
            for norm in self.norms:
                self.register_child(norm)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        projected = self.projection(x)
        scores = F.contrib.interleaved_matmul_selfatt_qk(projected, heads=self.heads)
        attention = self.dropout(F.softmax(scores, axis=-1))
        context = F.contrib.interleaved_matmul_selfatt_valatt(projected, attention, heads=self.heads)
        x = self.norms[0](x + self.output(context))
        return self.norms[1](x + self.second(self.activation(self.first(x))))


@pytest.mark.parametrize("opset", OPSETS)
def test_a_layer_of_a_transformer(opset: int) -> None:
    block = EncoderLayer(8, 2)
    block.initialize(mx.init.Normal(0.3))
    block.hybridize()
    model = require_exported(block, [(5, 3, 8)], opset=opset)
    assert ("LayerNormalization" in op_types(model)) == (opset >= 17)
    assert ("Gelu" in op_types(model)) == (opset >= 20)
    require_exported(block, [(5, 3, 8)], opset=opset, dynamic=[("time", "batch", 8)])


def detector() -> Any:
    """Return the head of an SSD detector: anchors, classes and boxes of two feature maps."""
    data = mx.sym.var("data")
    anchors, classes, boxes = [], [], []
    feature = data
    for scale, size in enumerate(((0.2, 0.3), (0.6,))):
        feature = mx.sym.Convolution(feature, kernel=(3, 3), pad=(1, 1), num_filter=4, stride=(2, 2))
        feature = mx.sym.Activation(feature, act_type="relu")
        count = len(size) + 1
        anchors.append(mx.sym.Flatten(mx.sym.contrib.MultiBoxPrior(feature, sizes=size, ratios=(1, 2))))
        for parts, channels, name in ((classes, 3, "class"), (boxes, 4, "box")):
            predicted = mx.sym.Convolution(
                feature, kernel=(3, 3), pad=(1, 1), num_filter=count * channels, name=f"{name}{scale}"
            )
            parts.append(mx.sym.Flatten(mx.sym.transpose(predicted, axes=(0, 2, 3, 1))))
    joined = mx.sym.Reshape(mx.sym.Concat(*classes, dim=1), shape=(0, -1, 3))
    by_class = mx.sym.transpose(joined, axes=(0, 2, 1))
    probabilities = mx.sym.SoftmaxActivation(by_class, mode="channel", name="probabilities")
    corners = mx.sym.Reshape(mx.sym.Concat(*anchors, dim=1), shape=(0, -1, 4))
    return mx.sym.Group([probabilities, mx.sym.Concat(*boxes, dim=1), corners])


def test_the_head_of_a_detector() -> None:
    symbol = detector()
    parameters = parameters_of(symbol, data=(2, 3, 8, 8))
    exported(symbol, {"data": (2, 3, 8, 8)}, parameters)
    exported(symbol, {"data": (2, 3, 8, 8)}, parameters, dynamic={"data": ("n", 3, 8, 8)})


# The networks of the benchmarks, and the sides of the smallest images that they take.
ZOO = {
    "resnet18_v1": 32, "resnet50_v1": 32, "mobilenet1.0": 32, "mobilenetv2_1.0": 32, "squeezenet1.0": 224, "vgg11": 32,
    "densenet121": 224, "alexnet": 64, "inceptionv3": 299,
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "any batch"])
@pytest.mark.parametrize("name", ZOO)
def test_networks_of_the_zoo(name: str, dynamic: bool) -> None:
    require_network_exported(name, ZOO[name], dynamic)


def test_a_small_network_of_the_zoo() -> None:
    require_network_exported("mobilenetv2_0.25", 32, True)


def require_network_exported(name: str, side: int, dynamic: bool) -> None:
    mx.random.seed(0)
    net = mx.gluon.model_zoo.vision.get_model(name, classes=10)
    net.initialize(mx.init.MSRAPrelu())
    net.hybridize()
    net(mx.nd.zeros((1, 3, side, side)))
    net.export("net")
    shapes = [(1, 3, side, side)]
    report = export_model_with_report(
        "net-symbol.json", "net-0000.params", shapes, np.float32, "net.onnx", dynamic=dynamic
    )
    (row,) = report.rows
    assert 0 < row.relative <= 1e-5
    types = op_types(onnx.load("net.onnx"))
    assert not {"Transpose", "Shape", "Expand", "ReduceMean", "Where"} & {*types}


def test_outputs_are_compared_behind_layers_that_draw_in_training_only() -> None:
    data = mx.sym.Dropout(mx.sym.var("data"), p=0.5)
    symbol = mx.sym.tanh(mx.sym.LeakyReLU(data, act_type="leaky"))
    report = export_model_with_report(symbol, {}, {"data": (3, 4)}, np.float32, "net.onnx")
    assert report.rows[0].absolute > 0  # of what is not compared, it is 0


@pytest.mark.parametrize("axes", [(), (1,)])
def test_dropout_that_always_drops(axes: tuple[int, ...]) -> None:
    symbol = mx.sym.Dropout(mx.sym.var("data"), p=0.25, mode="always", axes=axes) + 0.0
    model = exported(symbol, {"data": (200, 50)}, opset=21)  # onnxruntime draws no numbers at newer ones
    result = only_output(model, np.ones((200, 50), "float32"))
    assert np.unique(result.round(4)).tolist() == [0.0, np.float32(4 / 3).round(4)]
    kept = (result > 0).mean(axis=1)
    assert set(kept.tolist()) == {0.0, 1.0} if axes else abs(kept.mean() - 0.75) < 0.05


def only_output(model: Any, data: np.ndarray) -> np.ndarray:
    from minpy.onnx.running import run_model

    (result,) = run_model(model, {"data": data}).values()
    return result
