"""An LSTM of two layers, forward and backward: the layer of Gluon, and cells that are unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.gradients import block_gradients, bound_gradients
from harness.lstm import lstm_gradients

STEPS, BATCH, UNITS, LAYERS = 35, 32, 200, 2


def inputs() -> tuple[Array, ...]:
    """Data, the parameters of each layer in the order of PyTorch and Gluon, and the gradient of the outputs."""
    random = np.random.RandomState(0)
    data, head = (random.normal(0, 1, (STEPS, BATCH, UNITS)) for _ in range(2))
    layer = [(4 * UNITS, UNITS), (4 * UNITS, UNITS), (4 * UNITS,), (4 * UNITS,)]
    arrays = [random.uniform(-0.1, 0.1, shape) for shape in LAYERS * layer]
    return tuple(array.astype(np.float32) for array in (data, *arrays, head))


def expected(*arrays: Array) -> tuple[Array, ...]:
    data, *parameters, head = (array.astype(np.float64) for array in arrays)
    return lstm_gradients(data, parameters, head)


case = Case(
    f"an LSTM of {LAYERS}x{UNITS}, batch {BATCH}, {STEPS} steps, float32, hybridized, forward and backward",
    inputs,
    expected,
    targets={"torch": 1.0},
    check_calls=4,
    rtol=1e-3,
    atol=1e-3,
)


def layer_step(mx: Any, *arrays: Array) -> Checked:
    """The layer of Gluon, for MXNet and for minpy."""
    return block_gradients(mx, mx.gluon.rnn.LSTM(UNITS, LAYERS), arrays[:1], arrays[1:-1], arrays[-1])


def unrolled_step(mx: Any, *arrays: Array) -> Checked:
    """Cells unrolled as a symbol, for MXNet and for minpy."""
    cells = mx.rnn.SequentialRNNCell()
    for layer in range(LAYERS):
        cells.add(mx.rnn.LSTMCell(UNITS, prefix=f"layer{layer}_"))
    states = [mx.sym.zeros(shape=(BATCH, UNITS)) for _ in range(2 * LAYERS)]
    symbol, _ = cells.unroll(STEPS, mx.sym.Variable("data"), states, layout="TNC", merge_outputs=True)
    parts = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
    names = ["data", *(f"layer{layer}_{part}" for layer in range(LAYERS) for part in parts)]
    return bound_gradients(mx, symbol, dict(zip(names, arrays[:-1], strict=True)), arrays[-1])


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return layer_step(mx, *arrays)


@case.implementation("minpy unrolled", peer="minpy")
def with_minpy_unrolled(*arrays: Array) -> Checked:
    import minpy as mx

    return unrolled_step(mx, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return layer_step(mx, *arrays)


@case.implementation("mxnet unrolled", peer="mxnet")
def with_mxnet_unrolled(*arrays: Array) -> Checked:
    import mxnet as mx

    return unrolled_step(mx, *arrays)


def torch_step(compiled: bool, data: Array, *arrays: Array) -> Checked:
    import torch

    *arrays, head = arrays
    layer = torch.nn.LSTM(UNITS, UNITS, LAYERS)
    parameters = list(layer.parameters())
    with torch.no_grad():
        for parameter, array in zip(parameters, arrays, strict=True):
            parameter.copy_(torch.tensor(array))
    data, head = torch.tensor(data, requires_grad=True), torch.tensor(head)
    called = torch.compile(layer) if compiled else layer

    def step():
        layer.zero_grad()
        data.grad = None
        y, _ = called(data)
        y.backward(head)
        return y

    return step, lambda y: (y, data.grad, *(parameter.grad for parameter in parameters))


@case.implementation("torch")
def with_torch(*arrays: Array) -> Checked:
    return torch_step(False, *arrays)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Checked:
    return torch_step(True, *arrays)


@case.implementation("jax jit", peer="jax")
def with_jax(*arrays: Array) -> Step:
    """A scan over the steps of each layer, its first product done for all steps at once."""
    import jax
    from jax import numpy as jnp

    from harness.gradients import jax_gradients

    def network(data, *parameters):
        hidden = data
        for first in range(0, len(parameters), 4):
            wx, wh, bx, bh = parameters[first : first + 4]

            def advance(state, row, wh=wh):
                h, c = state
                i, f, g, o = jnp.split(row + h @ wh.T, 4, axis=1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            start = jnp.zeros((BATCH, UNITS), jnp.float32)
            _, hidden = jax.lax.scan(advance, (start, start), hidden @ wx.T + bx + bh)
        return hidden

    return jax_gradients(network, arrays[:-1], arrays[-1])
