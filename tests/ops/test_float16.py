"""Of float16, products, sums and statistics are computed in float32, and rounded once: compared with float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd

# Of a result that is rounded once: half a unit in the last of 11 digits; and below the smallest normal number, of that.
HALF_UNIT, SMALLEST = 2.0**-11, 2.0**-25


def drawn(*shape: int, scale: float = 1.0, low: float = 0.0) -> Any:
    return nd.array(np.random.uniform(low, scale, shape).astype("float16"), dtype="float16")


def exact(array: Any) -> np.ndarray:
    found: np.ndarray = array.asnumpy().astype("float64")
    return found


def require_rounded_once(found: Any, expected: np.ndarray, sums: float = 2.0**-16) -> None:
    """Compare with half a unit in the last place, and what float32 loses in sums, relative to the largest of them."""
    assert found.dtype == np.float16
    error = np.abs(exact(found) - expected)
    allowed = HALF_UNIT * np.abs(expected) * (1 + 2.0**-10) + SMALLEST + sums * np.abs(expected).max() * HALF_UNIT
    assert (error <= allowed).all(), (error / allowed).max()


LONG = 3000  # float16 adds up no further than 2048 of ones


def fully_connected(x: Any, w: Any, b: Any) -> Any:
    return nd.FullyConnected(x, w, b, num_hidden=4)


PRODUCTS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], Callable[..., Any]]] = {
    "dot": (nd.dot, [(3, LONG), (LONG, 4)], np.dot),
    "dot turned": (
        lambda a, b: nd.dot(a, b, transpose_a=True, transpose_b=True),
        [(LONG, 3), (4, LONG)],
        lambda a, b: a.T @ b.T,
    ),
    "dot of vectors": (nd.dot, [(LONG,), (LONG,)], lambda a, b: np.array([a @ b])),
    "batch_dot": (nd.batch_dot, [(2, 3, LONG), (2, LONG, 4)], np.matmul),
    "gemm2": (nd.linalg.gemm2, [(3, LONG), (LONG, 4)], np.matmul),
    "trmm": (nd.linalg.trmm, [(8, 8), (8, 4)], lambda a, b: np.tril(a) @ b),
    "syrk": (nd.linalg.syrk, [(3, LONG)], lambda a: a @ a.T),
    "FullyConnected": (fully_connected, [(3, LONG), (4, LONG), (4,)], lambda x, w, b: x @ w.T + b),
    "FullyConnected of few long rows": (fully_connected, [(8, LONG), (16, LONG), (16,)], lambda x, w, b: x @ w.T + b),
    "Convolution": (
        lambda x, w: nd.Convolution(x, w, kernel=(1, 1), num_filter=4, no_bias=True),
        [(2, LONG, 1, 2), (4, LONG, 1, 1)],
        lambda x, w: np.einsum("nchw,fc->nfhw", x, w[:, :, 0, 0]),
    ),
    "Deconvolution": (
        lambda x, w: nd.Deconvolution(x, w, kernel=(1, 1), num_filter=4, no_bias=True),
        [(2, LONG, 1, 2), (LONG, 4, 1, 1)],
        lambda x, w: np.einsum("nchw,cf->nfhw", x, w[:, :, 0, 0]),
    ),
    "attention": (
        lambda a, b: nd.contrib.interleaved_matmul_selfatt_valatt(a, b, heads=1),
        [(64, 1, 12), (1, 64, 64)],
        lambda a, b: np.moveaxis(b @ a.transpose(1, 0, 2)[:, :, 8:], 0, 1),
    ),
    "sum": (lambda x: x.sum(axis=0), [(LONG, 2)], lambda x: x.sum(0)),
    "mean": (lambda x: x.mean(axis=1), [(2, 70000)], lambda x: x.mean(1)),
    "norm": (lambda x: x.norm(axis=1), [(2, LONG)], lambda x: np.sqrt((x * x).sum(1))),
    "softmax": (nd.softmax, [(2, LONG)], lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    "log_softmax": (nd.log_softmax, [(2, LONG)], lambda x: x - np.log(np.exp(x).sum(1, keepdims=True))),
    "average pooling": (
        lambda x: nd.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"),
        [(1, 2, 60, 60)],
        lambda x: x.mean((2, 3), keepdims=True),
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_rounded_once(name: str) -> None:
    function, shapes, reference = PRODUCTS[name]
    arrays = [drawn(*shape, scale=1.0 if "soft" in name else 0.5) for shape in shapes]
    if name == "FullyConnected of few long rows":
        function = lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=16)
    require_rounded_once(function(*arrays), reference(*map(exact, arrays)))


@pytest.mark.parametrize("bound", [False, True])
def test_gradients_of_a_layer_are_rounded_once(bound: bool) -> None:
    # Positive numbers: no sum is of terms that cancel.
    x, w, b, g = drawn(LONG, 3), drawn(4, 3), drawn(4), drawn(LONG, 4, scale=0.5)
    gx, gw, gb = exact(g) @ exact(w), exact(g).T @ exact(x), exact(g).sum(0)
    if bound:
        out = mx.sym.FullyConnected(*map(mx.sym.var, "xwb"), num_hidden=4)
        executor = out.bind(mx.cpu(), {"x": x, "w": w, "b": b}, {name: nd.zeros_like(one) for name, one in
                                                                 (("x", x), ("w", w), ("b", b))})  # fmt: skip
        for _ in range(2):  # the second time it is compiled
            found = executor.forward(is_train=True)[0]
            executor.backward(g)
        gradients = [executor.grad_dict[name] for name in "xwb"]
    else:
        for one in (x, w, b):
            one.attach_grad()
        with autograd.record():
            found = nd.FullyConnected(x, w, b, num_hidden=4)
        found.backward(g)
        gradients = [x.grad, w.grad, b.grad]
    require_rounded_once(found, exact(x) @ exact(w).T + exact(b))
    for gradient, expected in zip(gradients, (gx, gw, gb), strict=True):
        require_rounded_once(gradient, expected)


@pytest.mark.parametrize("name", ["dot", "batch_dot", "gemm2"])
def test_gradients_of_products_are_rounded_once(name: str) -> None:
    function, _, _ = PRODUCTS[name]
    lead = (2,) if name == "batch_dot" else ()
    a, b = drawn(*lead, LONG, 3), drawn(*lead, 3, 4)
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        found = function(a, b)
    g = drawn(*found.shape, scale=0.5)
    found.backward(g)
    require_rounded_once(a.grad, exact(g) @ np.swapaxes(exact(b), -1, -2))
    require_rounded_once(b.grad, np.swapaxes(exact(a), -1, -2) @ exact(g))


def test_in_a_hybridized_block_twice_differentiated() -> None:
    net = mx.gluon.nn.Dense(2, in_units=3, dtype="float16")
    net.initialize(mx.init.One())
    net.hybridize()
    x = drawn(4, 3)
    x.attach_grad()
    with autograd.record():
        first = autograd.grad((net(x) ** 2).sum(), x, create_graph=True)[0]
        second = first.sum()
    second.backward()
    np.testing.assert_allclose(exact(x.grad), 12.0)


@pytest.mark.parametrize("name", ["BatchNorm", "LayerNorm", "InstanceNorm", "GroupNorm"])
def test_statistics_are_those_of_float32(name: str) -> None:
    # A mean far from 0: in float16 the squares would be beyond its range, and the deviations lost in them.
    x = nd.array(300 + np.random.normal(size=(64, 4, 50)), dtype="float16")
    size = 50 if name == "LayerNorm" else 4
    dtype = "float32" if name == "BatchNorm" else "float16"
    gamma, beta = nd.ones(size, dtype=dtype), nd.zeros(size, dtype=dtype)
    if name == "BatchNorm":
        with autograd.train_mode():
            found = nd.BatchNorm(x, gamma, beta, nd.zeros(4), nd.ones(4), eps=1e-3)
        axes: Any = (0, 2)
    elif name == "GroupNorm":
        found, axes = nd.GroupNorm(x, gamma, beta, num_groups=4, eps=1e-3), 2
    else:
        found, axes = getattr(nd, name)(x, gamma, beta, eps=1e-3), 2
    values = exact(x)
    mean, variance = values.mean(axes, keepdims=True), values.var(axes, keepdims=True)
    np.testing.assert_allclose(exact(found), (values - mean) / np.sqrt(variance + 1e-3), rtol=2e-3, atol=2e-3)


def test_a_recurrent_layer_is_close_to_float32() -> None:
    layer = mx.gluon.rnn.LSTM(8, input_size=4)
    layer.initialize()
    x = drawn(20, 2, 4)
    expected = layer(x.astype("float32"))
    layer.cast("float16")
    np.testing.assert_allclose(exact(layer(x)), exact(expected), atol=2e-3)


def test_mixed_dtypes_are_promoted() -> None:
    x, w, b = drawn(2, 3), nd.ones((4, 3)), nd.ones(4)
    assert nd.FullyConnected(x, w, b, num_hidden=4).dtype == np.float32
    low = w.astype("float16")
    found = nd.FullyConnected(x, low, b * 2.0**-14, num_hidden=4)
    assert found.dtype == np.float32
    expected = exact(x) @ exact(low).T + 2.0**-14
    np.testing.assert_allclose(exact(found), expected, rtol=1e-6)
