"""A layer normalization that a user wrote in NumPy, with its gradients, compiled alone, on a million numbers."""

from __future__ import annotations

import numpy as np

from harness.case import Array, Case, Checked, Step
from harness.customops import (
    EPSILON,
    layer_norm,
    layer_norm_inputs,
    layer_norm_pull,
    operator_gradients,
    plain_gradients,
    with_rule,
)
from harness.gradients import jax_gradients, torch_gradients

ROWS = COLUMNS = 1000


def inputs() -> tuple[Array, ...]:
    return layer_norm_inputs(ROWS, COLUMNS)


def expected(*arrays: Array) -> tuple[Array, ...]:
    return plain_gradients(layer_norm, layer_norm_pull, arrays[:3], arrays[3], np.float64)()


case = Case(
    f"a layer normalization written in NumPy with its gradients, eager, forward and backward, {ROWS}x{COLUMNS} float32",
    inputs,
    expected,
    targets={"numpy": 0.25, "torch compile": 1.0, "numba": 1.0},
    check_calls=10,
    atol=1e-4,
)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    return operator_gradients(with_rule(layer_norm, layer_norm_pull, compile=True), arrays[:3], arrays[3])


@case.implementation("minpy not compiled", peer="minpy")
def with_minpy_python(*arrays: Array) -> Checked:
    return operator_gradients(with_rule(layer_norm, layer_norm_pull), arrays[:3], arrays[3])


@case.implementation("numpy")
def with_numpy(*arrays: Array) -> Step:
    return plain_gradients(layer_norm, layer_norm_pull, arrays[:3], arrays[3])


@case.implementation("torch")
def with_torch(*arrays: Array) -> Step:
    """PyTorch's own operator."""
    from torch.nn import functional

    return torch_gradients(lambda x, *others: functional.layer_norm(x, (COLUMNS,), *others), arrays[:3], arrays[3])


def composed(x: Array, gain: Array, shift: Array) -> Array:
    """The operator in the methods that PyTorch's tensors and JAX's arrays both have."""
    centred = x - x.mean(-1)[:, None]
    return centred / ((centred * centred).mean(-1)[:, None] + EPSILON) ** 0.5 * gain + shift


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Step:
    return torch_gradients(composed, arrays[:3], arrays[3], compiled=True)


@case.implementation("jax jit", peer="jax")
def with_jax(*arrays: Array) -> Step:
    return jax_gradients(composed, arrays[:3], arrays[3])


@case.implementation("numba")
def with_numba(*arrays: Array) -> Step:
    """Loops over rows, cut for Numba's threads; each thread sums its own rows for the gain and the shift."""
    import numba

    x, gain, shift, head = arrays
    one, epsilon, count = np.float32(1), np.float32(EPSILON), np.float32(COLUMNS)
    threads = numba.get_num_threads()

    def forward(x, gain, shift, out):
        for row in numba.prange(len(x)):
            mean, square = np.float32(0), np.float32(0)
            for i in range(x.shape[1]):
                mean += x[row, i]
            mean /= count
            for i in range(x.shape[1]):
                square += (x[row, i] - mean) ** 2
            scale = one / np.sqrt(square / count + epsilon)
            for i in range(x.shape[1]):
                out[row, i] = (x[row, i] - mean) * scale * gain[i] + shift[i]

    def backward(x, gain, head, gradient, gains, shifts):
        size = (len(x) + len(gains) - 1) // len(gains)
        for part in numba.prange(len(gains)):
            for row in range(part * size, min(len(x), (part + 1) * size)):
                mean, square, total, weighted = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
                for i in range(x.shape[1]):
                    mean += x[row, i]
                mean /= count
                for i in range(x.shape[1]):
                    square += (x[row, i] - mean) ** 2
                scale = one / np.sqrt(square / count + epsilon)
                for i in range(x.shape[1]):
                    h = head[row, i] * gain[i]
                    total += h
                    weighted += h * (x[row, i] - mean) * scale
                total, weighted = total / count, weighted / count
                for i in range(x.shape[1]):
                    normal = (x[row, i] - mean) * scale
                    gradient[row, i] = scale * (head[row, i] * gain[i] - total - normal * weighted)
                    gains[part, i] += head[row, i] * normal
                    shifts[part, i] += head[row, i]

    compile_loop = numba.njit(parallel=threads > 1, fastmath={"reassoc"})  # or its sums do not become vectors
    forward, backward = compile_loop(forward), compile_loop(backward)

    def step():
        y, gradient = np.empty_like(x), np.empty_like(x)
        gains, shifts = np.zeros((2, threads, COLUMNS), np.float32)
        forward(x, gain, shift, y)
        backward(x, gain, head, gradient, gains, shifts)
        return y, gradient, gains.sum(0), shifts.sum(0)

    return step
