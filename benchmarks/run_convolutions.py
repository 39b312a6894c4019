"""Measures generated convolutions beside PyTorch's and minpy's: `python benchmarks/run_convolutions.py [name ...]`.

One process, one thread; the ways take turns, and the shortest of several runs of each counts. All must compute the same
numbers, or the run ends with status 1. Needs llvmlite; without PyTorch its columns stay empty.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minpy.backends.native.convolutions.convolution_functions import Convolution, Packing, convolution_call
from minpy.backends.native.convolutions.cost_model import choose
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.kernels.ir_module import module_text
from minpy.backends.native.language import Array, Call, Origin
from minpy.backends.native.machine import llvm
from minpy.ops.kernels import im2col

try:
    import torch
except ImportError:
    torch = None

THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

FIVE = (5, 5)


def square(batch: int, channels: int, filters: int, length: int, kernel: int, stride: int = 1, **more: Any) -> Problem:
    """A convolution whose result is as long as its data, but for the stride."""
    pad = (kernel // 2,) * 2
    return Problem(batch, channels, filters, (length,) * 2, (kernel,) * 2, (stride,) * 2, pad=pad, **more)


TRAINING = {
    "LeNet, first": Problem(64, 1, 20, (28, 28), FIVE),
    "LeNet, second": Problem(64, 20, 50, (12, 12), FIVE),
    "64 channels": square(32, 64, 64, 32, 3),
    "ResNet-18, 64 to 128": square(32, 64, 128, 32, 3, 2),
    "ResNet-18, 128": square(32, 128, 128, 16, 3),
    "ResNet-18, 128, 1x1": square(32, 64, 128, 32, 1, 2),
    "ResNet-18, 128 to 256": square(32, 128, 256, 16, 3, 2),
    "ResNet-18, 256": square(32, 256, 256, 8, 3),
    "ResNet-18, 256 to 512": square(32, 256, 512, 8, 3, 2),
    "ResNet-18, 512": square(32, 512, 512, 4, 3),
    "depthwise": square(32, 64, 64, 32, 3, groups=64),
    "batch of 40": square(40, 64, 64, 16, 3),
}
INFERENCE = {
    "ResNet-50, first": square(1, 3, 64, 224, 7, 2),
    "ResNet-50, 64": square(1, 64, 64, 56, 3),
    "ResNet-50, 64, 1x1": square(1, 64, 256, 56, 1),
    "ResNet-50, 256, 1x1": square(1, 256, 64, 56, 1),
    "ResNet-50, 128": square(1, 128, 128, 28, 3),
    "ResNet-50, 256": square(1, 256, 256, 14, 3),
    "ResNet-50, 1024, 1x1": square(1, 1024, 256, 14, 1),
    "ResNet-50, 512": square(1, 512, 512, 7, 3),
    "ResNet-50, 2048, 1x1": square(1, 2048, 512, 7, 1),
    "MobileNet, 32 depthwise": square(1, 32, 32, 112, 3, groups=32),
    "MobileNet, 512 depthwise": square(1, 512, 512, 14, 3, groups=512),
    "MobileNet, 512, 1x1": square(1, 512, 512, 14, 1),
    "SqueezeNet, 16 to 64": square(1, 16, 64, 54, 3),
    "SqueezeNet, 64 to 256": square(1, 64, 256, 13, 3),
}


def aligned(values: np.ndarray) -> np.ndarray:
    """Return a contiguous copy that begins at a multiple of 64 bytes."""
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    result = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    result[...] = values
    return result


def compiled(function: Convolution, arrays: list[np.ndarray]) -> tuple[Callable[[], None], np.ndarray, float]:
    """Return (what runs the generated kernels of a call, its result, seconds to compile)."""
    result = aligned(np.zeros(function.shape, arrays[0].dtype))
    operands = [Array(one.shape, one.dtype) for one in arrays]
    output = convolution_call(function, operands, Origin())
    call = output.step
    assert isinstance(call, Call)
    kernels = function.kernels(call)
    text, names = module_text(kernels, linkage="")
    begun = time.perf_counter()
    loaded = llvm.compile(text)
    seconds = time.perf_counter() - begun
    memory = {**dict(zip(operands, arrays, strict=True)), output: result}
    runs = []
    for kernel in kernels:
        for pointer in kernel.pointers:
            memory.setdefault(pointer.array, aligned(np.zeros(pointer.array.shape, pointer.array.dtype)))
        scratch = aligned(np.zeros(max(kernel.scratch, 64), np.uint8))
        addresses = [memory[pointer.array].ctypes.data for pointer in kernel.pointers]
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(addresses) + 1), ctypes.c_int64, ctypes.c_int64)
        runs.append((kind(loaded.address(names[kernel])), (*addresses, scratch.ctypes.data, 0, kernel.splits), scratch))

    def run() -> None:
        for function, given, _ in runs:
            function(*given)

    run.kept = (memory, loaded)  # type: ignore[attr-defined]
    return run, result, seconds


def ways_of(problem: Problem, what: str, inference: bool) -> tuple[dict[str, Callable[[], Any]], str, float]:
    """Return what computes one of the three: by name, after all were found to give the same; the kind; seconds."""
    random = np.random.RandomState(0)
    dtype = problem.dtype
    data = random.normal(size=(problem.batch, problem.channels, *problem.lengths)).astype(dtype)
    shape = (problem.filters, problem.channels // problem.groups, *problem.kernel)
    weight = (random.normal(size=shape) / math.sqrt(math.prod(shape[1:]))).astype(dtype)
    gradient = random.normal(size=(problem.batch, problem.filters, *problem.positions)).astype(dtype)
    window = {"stride": problem.stride, "dilate": problem.dilate, "pad": problem.pad, "num_group": problem.groups}
    processor = Processor.of(llvm.features())
    plan = choose(problem, what, processor, inference)
    kind = plan.kind if plan.kind not in ("columns", "product") else "direct"
    function = Convolution(what, problem, kind, processor)
    order, back = ((0, 2, 3, 1), (0, 3, 1, 2)) if function.has_channels_last else ((1, 2, 3, 0), (3, 0, 1, 2))
    lying = [aligned(array.transpose(order)) for array in (data, gradient)]
    numbers = aligned(np.ascontiguousarray(Packing(problem, kind, processor)(weight))) if inference else weight
    given = {"result": [lying[0], numbers], "data": [lying[1], numbers], "weight": lying}[what]
    run, result, seconds = compiled(function, given)
    # The operator keeps the batch last inside: it gets what it would give itself.
    x, g = (np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0) for array in (data, gradient))
    ours = {
        "result": lambda: im2col.convolve.forward(x, weight, **window),
        "data": lambda: im2col.convolve_data.forward(g, weight, lengths=problem.lengths, **window),
        "weight": lambda: im2col.convolve_weight.forward(x, g, kernel=problem.kernel, **window),
    }[what]
    run()
    expected = ours()
    found = result if what == "weight" else result.transpose(back)
    if not np.allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max()):
        sys.exit(f"{what} of {problem}: {np.abs(found - expected).max()} off")
    ways: dict[str, Callable[[], Any]] = {"generated": run, "operator": ours}
    if torch is not None:
        torch.set_num_threads(1)
        for layout, kept in (("torch", torch.contiguous_format), ("torch, channels last", torch.channels_last)):
            tx, tw, tg = (torch.tensor(one).to(memory_format=kept) for one in (data, weight, gradient))
            ways[layout] = _of_torch(problem, what, tx, tw, tg)
    return ways, kind, seconds


def _of_torch(problem: Problem, what: str, x: Any, w: Any, g: Any) -> Callable[[], Any]:
    one = (problem.stride, problem.pad, problem.dilate)
    if what == "result":
        return lambda: torch.nn.functional.conv2d(x, w, None, *one, problem.groups)
    wanted = (what == "data", what == "weight", False)
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(g, x, w, None, *one, False, (0, 0), problem.groups, wanted)


def measured(ways: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Return the shortest time of each, which take turns for so many seconds."""
    shortest = dict.fromkeys(ways, math.inf)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            shortest[name] = min(shortest[name], time.perf_counter() - begun)
    return shortest


def main() -> None:
    """Print a line for each convolution and gradient."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help="parts of the names of the convolutions to measure; all, if none")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each line is measured")
    parser.add_argument("--plans", action="store_true", help="print what the model says of each way")
    given = parser.parse_args()
    if not THREADS.items() <= os.environ.items():  # libraries read them when they are loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **THREADS})
    print(
        f"{'':26}{'':8}{'GFLOP/s:':>10}{'operator':>10}{'torch':>8}{'t., c. last':>12}{'kind':>22}{'compiled in':>13}"
    )
    ratios = []
    for cases, inference in ((TRAINING, False), (INFERENCE, True)):
        for name, problem in cases.items():
            if given.names and not any(part in name for part in given.names):
                continue
            for what in ("result",) if inference else ("result", "data", "weight"):
                ways, kind, seconds = ways_of(problem, what, inference)
                found = {way: problem.flops / t / 1e9 for way, t in measured(ways, given.seconds).items()}
                others = "".join(f"{found.get(way, math.nan):>{width}.0f}" for way, width in zip(
                    ("operator", "torch", "torch, channels last"), (10, 8, 12), strict=True
                ))  # fmt: skip
                print(
                    f"{name:26}{what:8}{found['generated']:>10.0f}{others}{kind:>22}{seconds * 1e3:>10.0f} ms",
                    flush=True,
                )
                if "torch" in found:
                    ratios.append(max(found["torch"], found["torch, channels last"]) / found["generated"])
                if given.plans:
                    print(choose(problem, what, Processor.of(llvm.features()), inference))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean of the time beside the better of PyTorch's layouts: {mean:.2f}")


if __name__ == "__main__":
    main()
