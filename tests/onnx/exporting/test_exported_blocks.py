"""Gluon blocks, with states, several outputs, other dtypes and layouts, exported and proved; loops, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from exported import op_types

import minpy as mx
from minpy.gluon import nn, rnn

onnx = pytest.importorskip("onnx", minversion="1.16", reason="exports models to ONNX")

from minpy.onnx.running import run_model  # noqa: E402 - it stands on onnx

DATA = Path(__file__).parents[3] / "examples" / "data"


class TwoOutputs(nn.HybridBlock):
    def __init__(self, **options):
        super().__init__(**options)
        with self.name_scope():
            self.left, self.right = nn.Dense(3), nn.Dense(4)

    def hybrid_forward(self, F, x, y):
        return self.left(x), [self.right(y), F.concat(x, y, dim=0)]


def normalized():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.PReLU(), nn.GroupNorm(2), nn.InstanceNorm(), nn.LayerNorm())
        net.add(nn.GELU(), nn.Swish(), nn.SELU(), nn.ELU(), nn.LeakyReLU(0.1), nn.GlobalAvgPool2D(), nn.Flatten())
        net.add(nn.HybridLambda("tanh"), nn.Dropout(0.5), nn.Dense(3))
    return net


# A block, the shapes of what it is called with, and which lengths are open.
BLOCKS = {
    "two outputs": (TwoOutputs, [(2, 5), (2, 5)], [("n", 5), ("n", 5)]),
    "every layer": (normalized, [(2, 3, 8, 8)], [("n", 3, 8, 8)]),
    "images of any size": (lambda: nn.Conv2D(4, 3, activation="relu"), [(2, 3, 8, 8)], [("n", 3, "h", "w")]),
    "LSTM": (lambda: rnn.LSTM(4, 2, bidirectional=True), [(5, 2, 3)], [("t", "n", 3)]),
    "GRU, batch first": (lambda: rnn.GRU(4, layout="NTC"), [(2, 5, 3)], [("n", "t", 3)]),
    "RNN": (lambda: rnn.RNN(4, activation="relu"), [(5, 2, 3)], [("t", 2, 3)]),
}


def on_examples(block, path, shapes, dynamic):
    """Export a block, run it for other lengths, and compare."""
    block.initialize(mx.init.Xavier())
    examples = [mx.nd.random.normal(shape=shape) for shape in shapes]
    block.export_onnx(path, *examples, dynamic=dynamic)
    lengths = {"n": 3, "t": 4, "h": 9, "w": 6}
    others = [
        mx.nd.random.normal(shape=[lengths.get(name, length) for name, length in zip(names, shape, strict=True)])
        for names, shape in zip(dynamic or shapes, shapes, strict=True)
    ]
    names = [each.name for each in onnx.load(path).graph.input]
    results = run_model(path, {name: array.asnumpy() for name, array in zip(names, others, strict=True)})
    expected = block(*others)
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    flat = [each for part in expected for each in (part if isinstance(part, (list, tuple)) else [part])]
    for result, ours in zip(results.values(), flat, strict=True):
        np.testing.assert_allclose(result, ours.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opens", [False, True], ids=["as they are", "dynamic"])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name, opens, tmp_path):
    make, shapes, dynamic = BLOCKS[name]
    on_examples(make(), str(tmp_path / "block.onnx"), shapes, dynamic if opens else shapes)


def test_cells_with_their_states(tmp_path):
    cell = rnn.LSTMCell(4)
    cell.initialize()
    path = cell.export_onnx(tmp_path / "cell.onnx", mx.nd.ones((2, 3)), [mx.nd.zeros((2, 4)), mx.nd.zeros((2, 4))])
    assert [each.name for each in onnx.load(path).graph.input] == ["data0", "data1", "data2"]
    assert len(onnx.load(path).graph.output) == 3


def test_half_precision_and_rows_by_their_numbers(tmp_path):
    dense = nn.Dense(3)
    dense.initialize()
    dense.cast("float16")
    path = dense.export_onnx(tmp_path / "dense.onnx", mx.nd.ones((2, 3), dtype="float16"))
    assert onnx.load(path).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16
    table = nn.Embedding(10, 4)
    table.initialize()
    path = table.export_onnx(tmp_path / "table.onnx", mx.nd.array([[1, 2]], dtype="int32"))
    rows = run_model(path, {"data": np.array([[9, 0]], "int32")})
    np.testing.assert_array_equal(next(iter(rows.values())), table.weight.data().asnumpy()[[[9, 0]]])


def test_a_block_of_files(tmp_path):
    files = [str(DATA / name) for name in ("digits-symbol.json", "digits-0012.params")]
    net = mx.gluon.SymbolBlock.imports(files[0], "data", files[1])
    path = net.export_onnx(tmp_path / "digits.onnx", mx.nd.ones((1, 1, 8, 8)), dynamic=True)
    images = (np.load(DATA / "digits.npy")[:, None] / 16).astype("float32")
    (scores,) = run_model(path, {"data": images}).values()
    assert scores.argmax(axis=1).tolist() == net(mx.nd.array(images)).asnumpy().argmax(axis=1).tolist()


def test_training_goes_on_after_an_export(tmp_path):
    net = nn.Dense(2)
    net.initialize()
    net.hybridize()
    data = mx.nd.ones((2, 3))
    net.export_onnx(tmp_path / "net.onnx", data)
    with mx.autograd.record():
        loss = (net(data) ** 2).sum()
    loss.backward()
    assert float(abs(net.weight.grad()).sum().asscalar()) > 0


def test_a_compiled_function_of_ndarrays(tmp_path):
    @mx.compile
    def centred(x, w):
        product = mx.nd.dot(x, w)
        return product - product.max(axis=1, keepdims=True)

    x, w = mx.nd.random.normal(shape=(2, 3)), mx.nd.random.normal(shape=(3, 4))
    path = centred.export_onnx(tmp_path / "centred.onnx", x, w)
    results = run_model(path, {"x": x.asnumpy(), "w": w.asnumpy()})
    np.testing.assert_allclose(results["output"], centred(x, w).asnumpy(), rtol=1e-5, atol=1e-6)
    assert op_types(onnx.load(path)) == ["Gemm", "ReduceMax", "Sub"]


class AsksForLengths(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.out = nn.Dense(2)

    def forward(self, x):
        return self.out(x) * (2.0 if x.shape[0] > 3 else 1.0)


def test_blocks_that_ask_for_lengths_are_exported_for_these_alone(tmp_path):
    block = AsksForLengths()
    block.initialize()
    block.export_onnx(tmp_path / "net.onnx", mx.nd.ones((2, 3)))
    with pytest.raises(mx.MXNetError, match=r"export_onnx: it is written as forward, .* without "):
        block.export_onnx(tmp_path / "net.onnx", mx.nd.ones((2, 3)), dynamic=True)
