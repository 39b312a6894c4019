"""Time generated kernels alone, on one thread, beside NumPy and, where it is there, PyTorch.

    python tools/time_kernels.py [names of cases ...]

All take turns in one process; each number is the least of many short runs. Kernels are called through ctypes, which
takes a microsecond that is part of their time.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from native_kernels import Compiled, nest_of  # noqa: E402

from minpy.backends.native.kernels.codegen import kernel_of  # noqa: E402
from minpy.backends.native.language import Array, Elementwise, Reduce, constant  # noqa: E402

ROUNDS = 40
SECONDS = 0.004
FLOAT = numpy.dtype("float32")


class Case(NamedTuple):
    """A nest, and the same by others: functions of arrays."""

    inputs: Sequence[tuple[int, ...]]
    build: Callable[..., Sequence[Array]]
    space: tuple[int, ...]
    inner: tuple[int, ...]
    by_numpy: Callable[..., Any]
    by_torch: Callable[..., Any] | None = None


def of(name: str, *operands: Any) -> Array:
    """Return an elementwise step's array; numbers are constants."""
    return Elementwise.of(name, *(one if isinstance(one, Array) else constant(one, FLOAT) for one in operands))


def total(x: Array, *axes: int) -> Array:
    return Reduce.of("sum", x, axes)


# -- a chain of cheap operators --------------------------------------------------------------------------------------


def cheap(x: Array, y: Array) -> list[Array]:
    z = x
    for _ in range(5):
        z = of("add", of("multiply", of("maximum", of("add", of("multiply", z, y), 0.5), of("negative", y)), 0.25), x)
    return [z]


def numpy_cheap(x: Any, y: Any) -> Any:
    z = x
    for _ in range(5):
        z = numpy.maximum(z * y + 0.5, -y) * 0.25 + x
    return z


def torch_cheap(x: Any, y: Any) -> Any:
    import torch

    z = x
    for _ in range(5):
        z = torch.maximum(z * y + 0.5, -y) * 0.25 + x
    return z


def tanh_chain(x: Array, y: Array) -> list[Array]:
    z = x
    for _ in range(15):
        z = of("add", of("multiply", of("tanh", of("add", z, y)), 0.5), x)
    return [z]


def numpy_tanh_chain(x: Any, y: Any) -> Any:
    z = x
    for _ in range(15):
        z = numpy.tanh(z + y) * numpy.float32(0.5) + x
    return z


# -- softmax, forward and backward -----------------------------------------------------------------------------------


def softmax(x: Array, g: Array) -> list[Array]:
    exponential = of("exp", of("subtract", x, Reduce.of("max", x, (1,))))
    y = of("divide", exponential, total(exponential, 1))
    return [y, of("multiply", y, of("subtract", g, total(of("multiply", y, g), 1)))]


def numpy_softmax(x: Any, g: Any) -> Any:
    e = numpy.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)
    return y, y * (g - (y * g).sum(-1, keepdims=True))


def torch_softmax(x: Any, g: Any) -> Any:
    import torch

    y = torch.softmax(x, -1)
    return y, torch._softmax_backward_data(g, y, -1, torch.float32)


# -- normalizations, forward and backward ----------------------------------------------------------------------------


def normalized(x: Array, axes: tuple[int, ...], count: int) -> tuple[Array, Array]:
    centred = of("subtract", x, of("multiply", total(x, *axes), 1 / count))
    variance = of("multiply", total(of("square", centred), *axes), 1 / count)
    scale = of("reciprocal", of("sqrt", of("add", variance, 1e-5)))
    return of("multiply", centred, scale), scale


def layer_norm(x: Array, w: Array, b: Array, g: Array) -> list[Array]:
    count = x.shape[1]
    h, scale = normalized(x, (1,), count)
    y = of("add", of("multiply", h, w), b)
    gh = of("multiply", g, w)
    first = of("multiply", total(gh, 1), 1 / count)
    second = of("multiply", total(of("multiply", gh, h), 1), 1 / count)
    dx = of("multiply", scale, of("subtract", of("subtract", gh, first), of("multiply", h, second)))
    return [y, dx, total(of("multiply", g, h), 0), total(g, 0)]


def numpy_layer_norm(x: Any, w: Any, b: Any, g: Any) -> Any:
    c = x - x.mean(-1, keepdims=True)
    r = 1 / numpy.sqrt((c * c).mean(-1, keepdims=True) + numpy.float32(1e-5))
    h = c * r
    gh = g * w
    dx = r * (gh - gh.mean(-1, keepdims=True) - h * (gh * h).mean(-1, keepdims=True))
    return h * w + b, dx, (g * h).sum(0), g.sum(0)


def torch_layer_norm(x: Any, w: Any, b: Any, g: Any) -> Any:
    import torch

    shape = (x.shape[-1],)
    y, mean, r = torch.native_layer_norm(x, shape, w, b, 1e-5)
    return y, *torch.ops.aten.native_layer_norm_backward(g, x, shape, mean, r, w, b, [True, True, True])


def batch_norm(x: Array, w: Array, b: Array, g: Array) -> list[Array]:
    count, axes = x.size // x.shape[1], (0, 2, 3)
    h, scale = normalized(x, axes, count)
    y = of("maximum", of("add", of("multiply", h, w), b), 0)
    masked = of("multiply", g, Elementwise.of("cast", of("greater", y, 0), dtype=FLOAT))
    db, dw = total(masked, *axes), total(of("multiply", masked, h), *axes)
    mean = of("subtract", masked, of("multiply", db, 1 / count))
    dx = of(
        "multiply", of("multiply", w, scale), of("subtract", mean, of("multiply", of("multiply", h, dw), 1 / count))
    )
    return [y, dx, dw, db]


def numpy_batch_norm(x: Any, w: Any, b: Any, g: Any) -> Any:
    axes, count = (0, 2, 3), numpy.float32(x.size / x.shape[1])
    c = x - x.mean(axes, keepdims=True)
    r = 1 / numpy.sqrt((c * c).mean(axes, keepdims=True) + numpy.float32(1e-5))
    h = c * r
    y = numpy.maximum(h * w + b, 0)
    g = g * (y > 0)
    db, dw = g.sum(axes, keepdims=True), (g * h).sum(axes, keepdims=True)
    return y, (w * r) * (g - db / count - h * dw / count), dw, db


def torch_batch_norm(x: Any, w: Any, b: Any, g: Any) -> Any:
    import torch

    w, b = w.ravel(), b.ravel()
    y, mean, r = torch.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)
    y = torch.relu(y)
    g = g * (y > 0)
    args = (g, x, w, None, None, mean, r, True, 1e-5, [True, True, True])
    return y, *torch.ops.aten.native_batch_norm_backward(*args)


# -- an optimizer, reductions, copies --------------------------------------------------------------------------------


def adam(w: Array, g: Array, m: Array, v: Array) -> list[Array]:
    m2 = of("add", of("multiply", 0.9, m), of("multiply", 0.1, g))
    v2 = of("add", of("multiply", 0.999, v), of("multiply", 0.001, of("multiply", g, g)))
    return [of("subtract", w, of("divide", of("multiply", 0.001, m2), of("add", of("sqrt", v2), 1e-8))), m2, v2]


def framework_adam(sqrt: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(w: Any, g: Any, m: Any, v: Any) -> Any:
        m2 = 0.9 * m + 0.1 * g
        v2 = 0.999 * v + 0.001 * (g * g)
        return w - 0.001 * m2 / (sqrt(v2) + 1e-8), m2, v2

    return run


def torch_adam(*arrays: Any) -> Any:
    import torch

    return framework_adam(torch.sqrt)(*arrays)


def along(axis: int, name: str) -> Case:
    return Case(
        [(1000, 1000)],
        lambda x: [Reduce.of(name, x, (axis,))],
        (1000, 1000),
        (axis,),
        lambda x: getattr(numpy, name)(x, axis),
        lambda x: getattr(x, {"max": "amax", "min": "amin"}.get(name, name))(axis),
    )


BATCH = (32, 64, 32, 32)
CASES = {
    "25 cheap operators on 1e6": Case([(1000, 1000)] * 2, cheap, (1000, 1000), (), numpy_cheap, torch_cheap),
    "60 operators on 4x4": Case([(4, 4)] * 2, tanh_chain, (4, 4), (), numpy_tanh_chain),
    "softmax 1000x1000": Case([(1000, 1000)] * 2, softmax, (1000, 1000), (1,), numpy_softmax, torch_softmax),
    "softmax 128x10": Case([(128, 10)] * 2, softmax, (128, 10), (1,), numpy_softmax, torch_softmax),
    "layer norm 1024x768": Case(
        [(1024, 768), (768,), (768,), (1024, 768)], layer_norm, (1024, 768), (1,), numpy_layer_norm, torch_layer_norm
    ),
    "batch norm, relu 32x64x32x32": Case(
        [BATCH, (1, 64, 1, 1), (1, 64, 1, 1), BATCH], batch_norm, BATCH, (0, 2, 3), numpy_batch_norm, torch_batch_norm
    ),
    "Adam 1e6": Case([(10**6,)] * 4, adam, (10**6,), (), framework_adam(numpy.sqrt), torch_adam),
    **{f"{name} along {axis} of 1000x1000": along(axis, name) for name in ("sum", "max", "argmax") for axis in (0, 1)},
}


def least(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least time of a call of each, in seconds, all taking turns."""
    found = dict.fromkeys(runs, float("inf"))
    counts = {}
    for name, run in runs.items():
        run()
        begun = time.perf_counter()
        run()
        counts[name] = max(1, round(SECONDS / (time.perf_counter() - begun)))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            begun = time.perf_counter()
            for _ in range(counts[name]):
                run()
            found[name] = min(found[name], (time.perf_counter() - begun) / counts[name])
    return found


def measure(name: str, case: Case) -> None:
    numbers = numpy.random.default_rng(1)
    arrays = [numpy.abs(numbers.normal(size=shape)).astype(FLOAT) - numpy.float32(0.1) for shape in case.inputs]
    symbols = [Array(shape, FLOAT) for shape in case.inputs]
    kernel = kernel_of(nest_of(case.build(*symbols), case.space, case.inner))
    begun = time.perf_counter()
    compiled = Compiled([kernel])
    seconds = time.perf_counter() - begun
    memory = dict(zip(symbols, arrays, strict=True))
    for pointer in kernel.pointers:
        if pointer.array not in memory:
            memory[pointer.array] = numpy.zeros(pointer.array.shape, pointer.array.dtype)
    runs: dict[str, Callable[[], Any]] = {
        "kernel": compiled.bound(0, memory),
        "numpy": lambda: case.by_numpy(*arrays),
    }
    if case.by_torch is not None and _torch() is not None:
        tensors = [_torch().tensor(array) for array in arrays]
        runs["torch"] = lambda: case.by_torch(*tensors)  # type: ignore[misc]
    with numpy.errstate(all="ignore"):
        found = least(runs)
    own = found["kernel"]
    shown = ", ".join(f"{other} {value / own:.2f} x" for other, value in found.items() if other != "kernel")
    rate = f"{kernel.bytes_moved / own / 1e9:.0f} GB/s, {kernel.flops / own / 1e9:.0f} Gflop/s"
    print(f"{name:32s} {own * 1e6:9.2f} us ({rate}); {shown}; compiled in {seconds * 1e3:.0f} ms", flush=True)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for title, one in CASES.items():
        if not wanted or any(word in title for word in wanted):
            measure(title, one)
