"""The operators in JAX, each compiled by itself: what a program that uses JAX makes of one, at least."""

from __future__ import annotations

from functools import partial
from typing import Any

from operators.table import heads


def calls(jax: Any, training: bool) -> dict[str, Any]:
    """Return each operator as a function of its inputs."""
    jnp, nn, lax = jax.numpy, jax.nn, jax.lax

    def convolution(x, w, b):
        return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))) + b[:, None, None]

    def pool(x, start, combine):
        return lax.reduce_window(x, start, combine, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def normalized(x, gamma, beta, axes, shape):
        mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        return (x - mean) * lax.rsqrt(var + 1e-5) * gamma.reshape(shape) + beta.reshape(shape)

    def batch_norm(x, gamma, beta):
        if training:
            return normalized(x, gamma, beta, (0, 2, 3), (-1, 1, 1))
        return x * (gamma / jnp.sqrt(1 + 1e-5))[:, None, None] + beta[:, None, None]

    return {
        "zeros": lambda x: jnp.zeros(x.shape),
        "ones_like": jnp.ones_like,
        "arange": lambda x: jnp.arange(x.size, dtype="float32"),
        "concat": lambda x, y: jnp.concatenate((x, y), 1),
        "stack": lambda x, y: jnp.stack((x, y)),
        "split": lambda x: list(jnp.split(x, 2, 1)),
        "slice_axis": lambda x: x[:, 1:3],
        "reshape": lambda x: x.reshape(-1),
        "expand_dims": lambda x: x[:, None],
        "transpose": lambda x: x.T,
        "swapaxes": lambda x: x.swapaxes(0, 1),
        "tile": lambda x: jnp.tile(x, (2, 2)),
        "softmax": nn.softmax,
        "log_softmax": nn.log_softmax,
        "where": lambda c, x, y: jnp.where(c != 0, x, y),
        "broadcast_add": lambda x, y: x + y,
        "broadcast_sub": lambda x, y: x - y,
        "broadcast_mul": lambda x, y: x * y,
        "broadcast_div": lambda x, y: x / y,
        "elemwise_add": lambda x, y: x + y,
        "elemwise_mul": lambda x, y: x * y,
        "maximum": jnp.maximum,
        "sum": jnp.sum,
        "sum_axis": lambda x: x.sum(0),
        "mean": lambda x: x.mean(1),
        "max": lambda x: x.max(1),
        "norm": lambda x: jnp.linalg.norm(x, axis=1),
        "argmax": lambda x: x.argmax(1).astype("float32"),
        "topk": lambda x: lax.top_k(x, 3)[1].astype("float32"),
        "sort": lambda x: jnp.sort(x, 1),
        "clip": lambda x: jnp.clip(x, -0.5, 0.5),
        "abs": jnp.abs,
        "exp": jnp.exp,
        "log": jnp.log,
        "sqrt": jnp.sqrt,
        "square": jnp.square,
        "power": jnp.power,
        "relu": nn.relu,
        "sigmoid": nn.sigmoid,
        "tanh": jnp.tanh,
        "erf": jax.scipy.special.erf,
        "LeakyReLU": lambda x: nn.leaky_relu(x, 0.1),
        "gelu": lambda x: nn.gelu(x, approximate=False),
        "cast": lambda x: x.astype("float16"),
        "dot": jnp.matmul,
        "batch_dot": jnp.matmul,
        "FullyConnected": lambda x, w, b: x @ w.T + b,
        "Convolution": convolution,
        "max_pooling": lambda x: pool(x, -jnp.inf, lax.max),
        "avg_pooling": lambda x: pool(x, 0.0, lax.add) / 4,
        "BatchNorm": batch_norm,
        "LayerNorm": lambda x, gamma, beta: normalized(x, gamma, beta, (-1,), (-1,)),
        "Dropout": lambda x: jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, x.shape), x * 2, 0),
        "Embedding": lambda i, w: w[i],
        "take": lambda x, i: x[i],
        "gather_nd": lambda x, i: x[i[0], i[1]],
        "pick": lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0],
        "one_hot": lambda i: nn.one_hot(i, 256),
        "SequenceMask": lambda x, n: x * (jnp.arange(x.shape[0])[:, None] < n[None])[..., None],
        "uniform": lambda x: jax.random.uniform(jax.random.key(0), x.shape),
        "normal": lambda x: jax.random.normal(jax.random.key(0), x.shape),
    }


def build(jax: Any, name: str, arrays: list[Any], differentiable: list[int], backward: bool) -> Any:
    """Return (the function to time, what it computed as a list of arrays)."""
    call = calls(jax, backward)[name]
    indices = {"Embedding", "take", "gather_nd", "pick", "one_hot"}
    inputs = [
        jax.numpy.asarray(array, "int32" if name in indices and position not in differentiable else "float32")
        for position, array in enumerate(arrays)
    ]
    if not backward:
        compiled = jax.jit(call)

        def step():
            return jax.block_until_ready(compiled(*inputs))

        return step, lambda answer: answer if isinstance(answer, list) else [answer]

    @jax.jit
    def both(upstream, *every):
        def of_floats(*floats):
            values = list(every)
            for position, value in zip(differentiable, floats, strict=True):
                values[position] = value
            return call(*values)

        answer, pull_back = jax.vjp(of_floats, *(every[position] for position in differentiable))
        return answer, pull_back(upstream)

    given = jax.tree.map(lambda one: jax.numpy.asarray(heads(one.shape)), jax.jit(call)(*inputs))
    compiled = partial(both, given)

    def step():
        return jax.block_until_ready(compiled(*inputs))

    return step, lambda answer: list(answer[1])
