"""Operators as people write them, with whether graphs can look inside, and if not, why."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import asarray

import minpy as mx
from minpy import customop, nd
from minpy.core import Operator

__all__ = ["CASES", "LOG", "Case"]

LOG: list[Any] = []


@dataclass(frozen=True)
class Case:
    """An operator, its inputs, and why its forward or its rules are called as they are; empty: they are traced."""

    operator: Operator
    shapes: Sequence[tuple[int, ...]]
    attributes: dict[str, Any] = field(default_factory=dict)
    whole: tuple[int, ...] = ()
    forward: str = ""
    rules: str = ""
    exact: bool = True

    def draw(self, dtype: str = "float32", seed: int = 0) -> list[np.ndarray]:
        """Return arguments."""
        random = np.random.RandomState(seed)
        arrays = [random.normal(size=shape).astype(dtype) for shape in self.shapes]
        for index in self.whole:
            arrays[index] = random.randint(0, 4, self.shapes[index]).astype(dtype)
        return arrays


CASES: dict[str, Case] = {}


def case(*shapes: tuple[int, ...], kind: str = "numpy", **options: Any) -> Callable[[Any], Operator]:
    def define(function: Any) -> Operator:
        made = customop(kind)(function)
        CASES[function.__name__] = Case(made, shapes, **options)
        return made

    return define


# -- activations -------------------------------------------------------------------------------------------------------


@case((6, 10), attributes={"beta": 2.0})
def softplus(x, *, beta=1.0):
    return np.logaddexp(0, beta * x) / beta


softplus.def_grad(lambda ans, x, *, beta=1.0: lambda g: g / (1 + np.exp(-beta * x)))


@case((6, 10))
def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@gelu.def_grad()
def gelu_gradient(ans, x):
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    t = np.tanh(u)
    du = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return lambda g: g * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * du)


@case((6, 10))
def masked_relu(x):
    y = x.copy()
    y[y < 0] = 0
    return y


@masked_relu.def_grad()
def masked_relu_gradient(ans, x):
    def back(g):
        g = g.copy()
        g[x < 0] = 0
        return g

    return back


@case((6, 10))
def swiglu(x):
    n = x.shape[1] // 2
    a, b = x[:, :n], x[:, n:]
    return a / (1 + np.exp(-a)) * b


@swiglu.def_grad()
def swiglu_gradient(ans, x):
    n = x.shape[1] // 2
    a, b = x[:, :n], x[:, n:]
    s = 1 / (1 + np.exp(-a))
    return lambda g: np.concatenate([g * b * s * (1 + a * (1 - s)), g * a * s], axis=1)


@case((6, 10))
def in_place_sigmoid(x):
    result = np.empty_like(x)
    np.multiply(x, 0.5, out=result)
    np.tanh(result, out=result)
    result *= 0.5
    result += 0.5
    return result


in_place_sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


@case((6, 10))
def imported_expit(x):
    import scipy.special as sp

    return sp.expit(x)


imported_expit.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


@case((6, 10), (6, 10))
def safe_ratio(x, y):
    result = np.zeros_like(x)
    np.divide(x, y, out=result, where=y > 0.5)
    return result


@safe_ratio.def_grad()
def safe_ratio_gradient(ans, x, y):
    def back(g):
        result = np.zeros(x.shape, x.dtype)
        return np.divide(g, y, out=result, where=y > 0.5)

    return back


safe_ratio.def_grad(lambda ans, x, y: lambda g: np.where(y > 0.5, -g * ans / np.where(y > 0.5, y, 1), 0), 1)


# -- normalisations and losses -----------------------------------------------------------------------------------------


def normalized(x, eps):
    mean = x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return (x - mean) * scale, scale


@case((6, 10), (10,), (10,))
def layer_norm(x, w, b, *, eps=1e-5):
    return normalized(x, eps)[0] * w + b


@layer_norm.def_grad()
def layer_norm_gradient(ans, x, w, b, *, eps=1e-5):
    h, scale = normalized(x, eps)

    def back(g):
        gh = g * w
        return scale * (gh - gh.mean(axis=-1, keepdims=True) - h * (gh * h).mean(axis=-1, keepdims=True))

    return back


layer_norm.def_grad(lambda ans, x, w, b, *, eps=1e-5: lambda g: np.sum(g * normalized(x, eps)[0], axis=0), 1)
layer_norm.def_grad(lambda ans, x, w, b, *, eps=1e-5: lambda g: g.sum(axis=0), 2)


@case((6, 10), (10,))
def rms_norm(x, w):
    return x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + np.finfo(x.dtype).eps) * w


@rms_norm.def_multiple_grad()
def rms_norm_gradient(ans, x, w):
    r = 1 / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + np.finfo(x.dtype).eps)

    def back(g):
        gw = g * w
        return r * (gw - x * r * r * np.mean(gw * x, -1, keepdims=True)), np.sum(g * x * r, axis=0)

    return back


@case((6, 10), (6, 10))
def focal_loss(x, t, *, gamma=2.0):
    p = 1 / (1 + np.exp(-x))
    pt = np.clip(np.where(t > 0, p, 1 - p), 1e-6, 1 - 1e-6)
    return -((1 - pt) ** gamma * np.log(pt)).sum()


@focal_loss.def_grad()
def focal_loss_gradient(ans, x, t, *, gamma=2.0):
    p = 1 / (1 + np.exp(-x))
    sign = np.where(t > 0, 1.0, -1.0).astype(x.dtype)
    pt = np.clip(np.where(t > 0, p, 1 - p), 1e-6, 1 - 1e-6)
    slope = gamma * (1 - pt) ** (gamma - 1) * np.log(pt) * pt * (1 - pt) - (1 - pt) ** gamma * (1 - pt)
    return lambda g: g * slope * sign


focal_loss.def_grad_zero(1)


@case((6, 10))
def log_softmax(x):
    m = np.max(x, axis=1)[:, None]
    return x - m - np.log(np.sum(np.exp(x - m), axis=1))[:, None]


log_softmax.def_grad(lambda ans, x: lambda g: g - np.exp(ans) * g.sum(axis=1).reshape(-1, 1))


@case((6, 10), (6,), whole=(1,))
def nll(x, labels):
    return -x[np.arange(len(x)), labels.astype(int)].mean()


@nll.def_grad()
def nll_gradient(ans, x, labels):
    def back(g):
        result = np.zeros_like(x)
        result[np.arange(len(x)), labels.astype(int)] = -1.0 / len(x)
        return g * result

    return back


nll.def_grad_zero(1)


@case((6,), (5, 3), whole=(0,))
def embedding(labels, table):
    return table[labels.astype(int)]


embedding.def_grad_zero(0)


@embedding.def_grad(argnum=1)
def embedding_gradient(ans, labels, table):
    def back(g):
        result = np.zeros_like(table)
        np.add.at(result, labels.astype(int), g)
        return result

    return back


# -- products and shapes -----------------------------------------------------------------------------------------------


@case((4, 5), (4, 6), (5, 6))
def bilinear(a, b, w):
    return np.einsum("ni,ij,nj->n", a, w, b)


bilinear.def_grad(lambda ans, a, b, w: lambda g: np.einsum("n,ij,nj->ni", g, w, b))
bilinear.def_grad(lambda ans, a, b, w: lambda g: np.einsum("n,ij,ni->nj", g, w, a), 1)
bilinear.def_grad(lambda ans, a, b, w: lambda g: np.einsum("n,ni,nj->ij", g, a, b), 2)


@case((8, 10), (5, 10), (5,))
def dense_tanh(x, w, b):
    return np.tanh(x @ w.T + b)


dense_tanh.def_grad(lambda ans, x, w, b: lambda g: (g * (1 - ans**2)) @ w)
dense_tanh.def_grad(lambda ans, x, w, b: lambda g: (g * (1 - ans**2)).T @ x, 1)
dense_tanh.def_grad(lambda ans, x, w, b: lambda g: (g * (1 - ans**2)).sum(axis=0), 2)


@case((6, 10))
def cumulative(x):
    return np.cumsum(asarray(x), axis=1) * 2


cumulative.def_grad(lambda ans, x: lambda g: 2 * np.flip(np.cumsum(np.flip(g, 1), axis=1), 1))


@case((6, 10))
def weighted_rows(x):
    return np.stack([row * index for index, row in enumerate(x)])


weighted_rows.def_grad(lambda ans, x: lambda g: np.stack([row * index for index, row in enumerate(g)]))


@case((6, 10))
def sine_and_cosine(x):
    return np.sin(x), np.cos(x)


sine_and_cosine.outputs = ["sine", "cosine"]
sine_and_cosine.def_grad(lambda ans, x: lambda g: g[0] * ans[1] - g[1] * ans[0])


@case((6, 10))
def passed_through(x):
    return x


passed_through.def_grad(lambda ans, x: lambda g: np.ones_like(g))


@case((4, 4))
def inverse(x):
    return np.linalg.inv(x + 5 * np.eye(4, dtype=x.dtype))


inverse.def_grad(lambda ans, x: lambda g: -ans.T @ g @ ans.T)


@case((6, 10), (5, 10), kind="mxnet")
def nd_dense(x, w):
    y = nd.dot(x, w, transpose_b=True)
    y += 1
    return nd.tanh(0.5 * y)


nd_dense.def_grad(lambda ans, x, w: lambda g: nd.dot(0.5 * g * (1 - ans**2), w))
nd_dense.def_grad(lambda ans, x, w: lambda g: mx.nd.dot((0.5 * g * (1 - ans * ans)).T, x), 1)


@case((6, 10), kind="mxnet")
def nd_leaky(x):
    return nd.where(x > 0, x, 0.1 * x), x[:, :3].sum(axis=1, keepdims=True)


nd_leaky.outputs = ["leaky", "sums"]
nd_leaky.def_grad(lambda ans, x: lambda g: nd.where(x > 0, g[0], 0.1 * g[0]))


# -- what is called as it is -------------------------------------------------------------------------------------------


@case((6, 10), forward="it chooses by values")
def scaled_if_large(x):
    return x / x.max() if x.max() > 1 else x


scaled_if_large.def_grad(lambda ans, x: lambda g: g)


@case((6, 10), forward="np.vectorize is not known to be free of effects")
def vectorized(x):
    return np.vectorize(math.exp)(x).astype(x.dtype)


vectorized.def_grad(lambda ans, x: lambda g: g * ans)


@case((6, 10), forward="np.random draws random numbers: draw with minpy.np.random", exact=False)
def noisy(x):
    return x + np.random.normal(size=x.shape).astype(x.dtype)


noisy.def_grad(lambda ans, x: lambda g: g)


@case((6, 10))
def first_rows_off(x):
    y = x.copy()
    view = y[0:2]
    view[:] = 0
    return y


@first_rows_off.def_grad()
def first_rows_off_gradient(ans, x):
    def back(g):
        g = g.copy()
        view = g[0:2]
        view[:] = 0
        return g

    return back


@case((6, 10), forward="the shape of x[mask] depends on values", rules="a shape or a range depends on values")
def positive_mean(x):
    return x[x > 0].mean()


@positive_mean.def_grad()
def positive_mean_gradient(ans, x):
    def back(g):
        result = np.zeros_like(x)
        result[x > 0] = np.ones((x > 0).sum()) * g / (x > 0).sum()
        return result

    return back


@case((6, 10), forward="print is not known to be free of effects", rules="it changes a list or a dict")
def talkative(x):
    print("called")
    return x * 2


@talkative.def_grad()
def talkative_gradient(ans, x):
    LOG.append("rule")
    return lambda g: g * 2


@case(
    (6, 10),
    forward="time.perf_counter asks for the time, which is another at each call",
    rules="it changes a list or a dict that it did not make",
)
def timed(x):
    start = time.perf_counter()
    y = x * 2
    LOG.append(time.perf_counter() - start)
    return y


@timed.def_grad()
def timed_gradient(ans, x):
    try:
        return lambda g: g * 2
    finally:
        LOG.append("done")


@case((6, 10), forward="np.errstate is not known to be free of effects")
def quiet(x):
    with np.errstate(divide="ignore"):
        return x / np.abs(x)


quiet.def_grad(lambda ans, x: lambda g: g * 0)


@case((6, 10), forward="it asks for the values of an NDArray", kind="mxnet")
def nd_scaled(x):
    return x / 2 if x.max() > 100 else x


nd_scaled.def_grad(lambda ans, x: lambda g: g)
