"""A block of a Transformer: attention of eight heads and a feed-forward network, each behind a layer normalization."""

from __future__ import annotations

from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.customops import layer_norm, layer_norm_pull
from harness.gradients import bound_gradients, hybrid_gradients, jax_gradients, torch_gradients

BATCH, STEPS, UNITS, HEADS, INSIDE = 8, 128, 256, 8, 1024
WIDTH = UNITS // HEADS
SCALE = WIDTH**-0.5
SHAPES = {
    "x": (BATCH, STEPS, UNITS),
    "gain1": (UNITS,),
    "shift1": (UNITS,),
    **dict.fromkeys(("wq", "wk", "wv", "wo"), (UNITS, UNITS)),
    **dict.fromkeys(("bq", "bk", "bv", "bo"), (UNITS,)),
    "gain2": (UNITS,),
    "shift2": (UNITS,),
    "w1": (INSIDE, UNITS),
    "b1": (INSIDE,),
    "w2": (UNITS, INSIDE),
    "b2": (UNITS,),
}


def inputs() -> tuple[Array, ...]:
    """The arrays of `SHAPES`, and the gradient of the result."""
    random = np.random.RandomState(0)
    arrays = []
    for name, shape in SHAPES.items():
        scale = 1 if name == "x" else shape[1] ** -0.5 if len(shape) == 2 else 0.2
        arrays.append(random.normal(name.startswith("gain"), scale, shape))
    return tuple(array.astype(np.float32) for array in (*arrays, random.normal(0, 1, SHAPES["x"])))


def apart(x: Array) -> Array:
    """The heads of attention as an axis."""
    return x.reshape(BATCH, STEPS, HEADS, WIDTH).transpose(0, 2, 1, 3)


def together(x: Array) -> Array:
    return x.transpose(0, 2, 1, 3).reshape(BATCH, STEPS, UNITS)


def linear_pull(g: Array, x: Array, w: Array) -> tuple[Array, Array, Array]:
    rows = g.reshape(-1, g.shape[-1])
    return g @ w, rows.T @ x.reshape(-1, x.shape[-1]), rows.sum(0)


def norm_pull(g: Array, x: Array, gain: Array, shift: Array) -> tuple[Array, ...]:
    g_x, g_gain, g_shift = layer_norm_pull(x, x, gain, shift)(g)
    return g_x, g_gain.sum(0), g_shift.sum(0)


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The result and all gradients by hand, in float64."""
    *given, head = (array.astype(np.float64) for array in arrays)
    x, gain1, shift1, wq, wk, wv, wo, bq, bk, bv, bo, gain2, shift2, w1, b1, w2, b2 = given
    n1 = layer_norm(x, gain1, shift1)
    q, k, v = (apart(n1 @ w.T + b) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    p = np.exp(q @ k.swapaxes(-1, -2) * SCALE)
    p /= p.sum(-1, keepdims=True)
    o = together(p @ v)
    middle = x + o @ wo.T + bo
    n2 = layer_norm(middle, gain2, shift2)
    z = n2 @ w1.T + b1
    below = np.vectorize(lambda a: 0.5 * (1 + erf(a / sqrt(2))), otypes=[float])(z)
    y = middle + (z * below) @ w2.T + b2

    g_h, g_w2, g_b2 = linear_pull(head, z * below, w2)
    g_z = g_h * (below + z * np.vectorize(lambda a: exp(-a * a / 2) / sqrt(2 * pi), otypes=[float])(z))
    g_n2, g_w1, g_b1 = linear_pull(g_z, n2, w1)
    g_middle, g_gain2, g_shift2 = norm_pull(g_n2, middle, gain2, shift2)
    g_middle += head
    g_o, g_wo, g_bo = linear_pull(g_middle, o, wo)
    g_o = apart(g_o)
    g_p = g_o @ v.swapaxes(-1, -2)
    g_s = p * (g_p - (g_p * p).sum(-1, keepdims=True)) * SCALE
    gradients = g_s @ k, g_s.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g_o
    pulled = [linear_pull(together(g), n1, w) for g, w in zip(gradients, (wq, wk, wv), strict=True)]
    g_x, g_gain1, g_shift1 = norm_pull(sum(one[0] for one in pulled), x, gain1, shift1)
    weights, biases = ([one[which] for one in pulled] for which in (1, 2))
    first = (y, g_x + g_middle, g_gain1, g_shift1, *weights, g_wo, *biases, g_bo)
    return (*first, g_gain2, g_shift2, g_w1, g_b1, g_w2, g_b2)


case = Case(
    f"a Transformer block of {BATCH}x{STEPS}x{UNITS}, {HEADS} heads, feed-forward {INSIDE}, float32, hybridized, "
    "forward and backward",
    inputs,
    expected,
    targets={"torch": 0.8},
    check_calls=4,
    rtol=2e-3,
    atol=5e-3,
)


def network(F: Any, x, gain1, shift1, wq, wk, wv, wo, bq, bk, bv, bo, gain2, shift2, w1, b1, w2, b2):
    """The block in MXNet's operators."""

    def dense(x, w, b, units):
        return F.FullyConnected(x, w, b, num_hidden=units, flatten=False)

    def apart(x):
        split = F.transpose(F.reshape(x, shape=(BATCH, STEPS, HEADS, WIDTH)), axes=(0, 2, 1, 3))
        return F.reshape(split, shape=(BATCH * HEADS, STEPS, WIDTH))

    n = F.LayerNorm(x, gain1, shift1)
    q, k, v = (apart(dense(n, w, b, UNITS)) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    weights = F.softmax(F.batch_dot(q, k, transpose_b=True) * SCALE)
    o = F.reshape(F.batch_dot(weights, v), shape=(BATCH, HEADS, STEPS, WIDTH))
    o = F.reshape(F.transpose(o, axes=(0, 2, 1, 3)), shape=(BATCH, STEPS, UNITS))
    x = x + dense(o, wo, bo, UNITS)
    h = F.LeakyReLU(dense(F.LayerNorm(x, gain2, shift2), w1, b1, INSIDE), act_type="gelu")
    return x + dense(h, w2, b2, UNITS)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return hybrid_gradients(mx, network, arrays[:-1], arrays[-1])


@case.implementation("minpy executor", peer="minpy")
def with_executor(*arrays: Array) -> Checked:
    import minpy as mx

    symbol = network(mx.sym, *map(mx.sym.Variable, SHAPES))
    return bound_gradients(mx, symbol, dict(zip(SHAPES, arrays[:-1], strict=True)), arrays[-1])


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return hybrid_gradients(mx, network, arrays[:-1], arrays[-1])


def torch_network(x, gain1, shift1, wq, wk, wv, wo, bq, bk, bv, bo, gain2, shift2, w1, b1, w2, b2):
    from torch.nn.functional import gelu, layer_norm, linear

    def apart(x):
        return x.view(BATCH, STEPS, HEADS, WIDTH).transpose(1, 2)

    n = layer_norm(x, (UNITS,), gain1, shift1)
    q, k, v = (apart(linear(n, w, b)) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    o = (q @ k.transpose(-1, -2) * SCALE).softmax(-1) @ v
    x = x + linear(o.transpose(1, 2).reshape(BATCH, STEPS, UNITS), wo, bo)
    return x + linear(gelu(linear(layer_norm(x, (UNITS,), gain2, shift2), w1, b1)), w2, b2)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Step:
    return torch_gradients(torch_network, arrays[:-1], arrays[-1])


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Step:
    return torch_gradients(torch_network, arrays[:-1], arrays[-1], compiled=True)


@case.implementation("jax jit", peer="jax")
def with_jax(*arrays: Array) -> Step:
    import jax

    def norm(x, gain, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred / ((centred * centred).mean(-1, keepdims=True) + 1e-5) ** 0.5 * gain + shift

    def block(x, gain1, shift1, wq, wk, wv, wo, bq, bk, bv, bo, gain2, shift2, w1, b1, w2, b2):
        n = norm(x, gain1, shift1)
        q, k, v = (apart(n @ w.T + b) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
        x = x + together(jax.nn.softmax(q @ k.swapaxes(-1, -2) * SCALE) @ v) @ wo.T + bo
        return x + jax.nn.gelu(norm(x, gain2, shift2) @ w1.T + b1, approximate=False) @ w2.T + b2

    return jax_gradients(block, arrays[:-1], arrays[-1])
