"""Programs of MXNet 2's kind: networks with `forward` on `mx.np`, hybridized and not, and its spellings."""

from __future__ import annotations

import math

import numpy
import pytest

import minpy as mx
from minpy import autograd, gluon, np, npx
from minpy.gluon import nn


@pytest.fixture(autouse=True)
def numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


def masked_softmax(scores, lengths):
    shape = scores.shape
    lengths = lengths.repeat(shape[1])
    scores = npx.sequence_mask(scores.reshape(-1, shape[-1]), lengths, True, value=-1e6, axis=1)
    return npx.softmax(scores).reshape(shape)


class Attention(nn.HybridBlock):
    def __init__(self, units, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Dense(units, use_bias=False, flatten=False) for _ in range(4))

    def split(self, x):
        x = x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(0, 2, 1, 3)
        return x.reshape(-1, x.shape[2], x.shape[3])

    def forward(self, x, lengths):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = npx.batch_dot(query, key, transpose_b=True) / math.sqrt(query.shape[-1])
        out = npx.batch_dot(masked_softmax(scores, lengths.repeat(self.heads, axis=0)), value)
        out = out.reshape(-1, self.heads, out.shape[1], out.shape[2]).transpose(0, 2, 1, 3)
        return self.out(out.reshape(out.shape[0], out.shape[1], -1))


class Encoder(nn.HybridBlock):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.embedding = nn.Embedding(9, units)
        places = np.arange(20).reshape(-1, 1) / np.power(10000, np.arange(0, units, 2) / units)
        table = np.zeros((1, 20, units))
        table[:, :, 0::2], table[:, :, 1::2] = np.sin(places), np.cos(places)
        self.places = table
        self.attention = Attention(units, 2)
        self.norm, self.other_norm = nn.LayerNorm(), nn.LayerNorm()
        self.wide, self.narrow = nn.Dense(2 * units, activation="relu", flatten=False), nn.Dense(units, flatten=False)
        self.scale = gluon.Parameter("scale", shape=(units,), init="ones")

    def forward(self, tokens, lengths):
        x = self.embedding(tokens) * math.sqrt(self.units)
        x = x + self.places[:, : x.shape[1], :]
        x = self.norm(x + self.attention(x, lengths))
        return self.other_norm(x + self.narrow(self.wide(x))) * self.scale.data()


class Residual(nn.HybridBlock):
    def __init__(self, channels, strides):
        super().__init__()
        self.first = nn.Conv2D(channels, 3, strides, 1)
        self.second = nn.Conv2D(channels, 3, 1, 1)
        self.short = nn.Conv2D(channels, 1, strides) if strides > 1 else None
        self.norm = nn.BatchNorm()

    def forward(self, x):
        y = self.second(npx.relu(self.norm(self.first(x))))
        return npx.relu(y + (self.short(x) if self.short else x))


class Recurrent(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.rnn, self.dense = gluon.rnn.GRU(5), nn.Dense(9)

    def forward(self, tokens, state):
        out, state = self.rnn(npx.one_hot(tokens.T, 9), state)
        return self.dense(out.reshape(-1, out.shape[-1])), state


def residual_network():
    net = nn.HybridSequential()
    net.add(Residual(3, 2), Residual(3, 1), nn.GlobalAvgPool2D(), nn.Dense(2))
    return net


RANDOM = numpy.random.RandomState(4)
NETWORKS = {
    "encoder": (lambda: Encoder(6), (RANDOM.randint(0, 9, (2, 5)).astype("float32"), numpy.array([3.0, 5.0], "f"))),
    "residual": (residual_network, (RANDOM.randn(3, 1, 8, 8).astype("float32"),)),
    "recurrent": (Recurrent, (RANDOM.randint(0, 9, (2, 4)).astype("float32"), numpy.zeros((1, 2, 5), "f"))),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_trains_hybridized_as_it_is_written(name):
    make, inputs = NETWORKS[name]
    runs = []
    for hybridized in (False, True):
        net, given = make(), [np.array(one) for one in inputs]
        net.initialize()
        net(*given)
        random = numpy.random.RandomState(1)
        for parameter in net.collect_params().values():
            if parameter.name.endswith("weight"):
                parameter.set_data(np.array(random.randn(*parameter.shape).astype("float32") * 0.3))
        if hybridized:
            net.hybridize(static_alloc=True)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        losses = []
        for _ in range(3):
            with autograd.record():
                out = net(*given)
                out = out[0] if isinstance(out, (list, tuple)) else out
                loss = (out[..., 0] ** 2).sum() + np.abs(out).mean()
            loss.backward()
            trainer.step(2)
            losses.append(float(loss))
        assert losses[-1] < losses[0]
        out = net(*given)
        runs.append((losses, (out[0] if isinstance(out, (list, tuple)) else out).asnumpy()))
    numpy.testing.assert_allclose(runs[1][0], runs[0][0], rtol=1e-4)
    numpy.testing.assert_allclose(runs[1][1], runs[0][1], rtol=1e-3, atol=1e-4)


def test_spellings_of_mxnet_2(tmp_path):
    devices = [mx.device.cpu(0), mx.device.cpu(1)]
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    net.initialize(device=devices)
    weight = net[0].weight
    assert weight.list_device() == devices
    assert weight.data(device=devices[1]).context == weight.grad(device=devices[1]).context == devices[1]
    net.setattr("grad_req", "add")
    net.setattr("lr_mult", 0.5)
    assert {(one.grad_req, one.lr_mult) for one in net.collect_params().values()} == {("add", 0.5)}
    for _ in range(2):
        with autograd.record():
            loss = net(np.ones((1, 2))).sum()
        loss.backward()
    assert net[1].bias.grad(device=devices[0]).item() == 2
    net.zero_grad()
    assert net[1].bias.grad(device=devices[0]).item() == 0
    net.reset_device(devices[1])
    assert weight.list_ctx() == devices[1:]
    weight.reset_device(devices[0])
    assert weight.list_device() == devices[:1]
    path = tmp_path / "net.params"
    net.save_parameters(path)
    again = nn.HybridSequential()
    again.add(nn.Dense(3), nn.Dense(1))
    again.load_parameters(path, device=devices[1])
    assert again[0].weight.list_device() == devices[1:]
    alone = gluon.Parameter(shape=(2,))
    alone.initialize(device=devices[1])
    assert alone.list_device() == devices[1:]


def test_one_step_is_unrolled_hybridized():
    """As decoders do it, that go on from state to state."""
    npx.reset_np()

    class Steps(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = gluon.rnn.BidirectionalCell(gluon.rnn.GRUCell(2), gluon.rnn.GRUCell(2))

        def hybrid_forward(self, F, x, lengths):
            plain, state = self.cell.unroll(1, x, merge_outputs=True)
            masked, _ = self.cell.unroll(1, x, state, merge_outputs=True, valid_length=lengths, layout="TNC")
            return plain, masked

    net, given = Steps(), (mx.nd.ones((1, 1, 3)), mx.nd.array([1]))
    net.initialize()
    written = net(*given)
    net.hybridize()
    for one, other in zip(net(*given), written, strict=True):
        numpy.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
