"""The seconds from compiling LeNet to the end of its first compiled step, each time in a fresh process.

Run as a script it is that process, and writes the seconds. Packages have their bytecode, as pip leaves it: a checkout,
or PYTHONDONTWRITEBYTECODE, would have Python compile its modules, which is no part of what is measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.case import Step

__all__ = ["first_step"]

BENCHMARKS = Path(__file__).resolve().parent.parent
CACHES = ("MINPY_CACHE", "TORCHINDUCTOR_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
MOST_STEPS = 20


def first_step(library: str, cached: bool) -> Step:
    """Return what measures; `cached`: with what an earlier process has left."""
    kept, bytecode = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()
    for _ in range(2 if cached else 1):  # the second time other modules are imported
        seconds_in(library, kept.name, bytecode.name)

    def measured() -> float:
        if cached:
            return seconds_in(library, kept.name, bytecode.name)
        with tempfile.TemporaryDirectory() as folder:
            return seconds_in(library, folder, bytecode.name)

    return measured


def seconds_in(library: str, caches: str, bytecode: str) -> float:
    """The seconds in a process whose caches are in one folder, and the bytecode of its modules in another."""
    command = [sys.executable, "-W", "ignore", "-m", "harness.first_step", library]
    variables = {**os.environ, **dict.fromkeys(CACHES, caches), "PYTHONPYCACHEPREFIX": bytecode}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=variables, cwd=BENCHMARKS)
    return float(run.stdout)


def minpy_seconds() -> float:
    """From `hybridize()` on, the calls before the one that compiles included."""
    import minpy as mx
    from cases.gluon_lenet_step import gluon_lenet, inputs

    images, label, *_ = map(mx.nd.array, inputs())
    net, loss_of = gluon_lenet(mx), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize()

    def step():
        with mx.autograd.record():
            loss = loss_of(net(images), label)
        loss.backward()

    step()  # as it is written
    start = time.perf_counter()
    net.hybridize(static_alloc=True, static_shape=True)
    seconds = time.perf_counter() - start
    for _ in range(MOST_STEPS):
        start = time.perf_counter()
        step()
        seconds += time.perf_counter() - start
        if all(one.is_native and len(one.parts) == 2 for one in net.explain()):  # a report, and no part of the step
            return seconds
    raise RuntimeError(f"not native code after {MOST_STEPS} steps: {net.explain()}")


def torch_seconds() -> float:
    """From `torch.compile` to the end of the first step."""
    import torch

    from cases.gluon_lenet_step import inputs, torch_lenet

    images, label, *_ = map(torch.tensor, inputs())
    net, loss_of = torch_lenet(), torch.nn.CrossEntropyLoss()
    loss_of(net(images), label).backward()
    start = time.perf_counter()
    called = torch.compile(net)
    loss_of(called(images), label).backward()
    return time.perf_counter() - start


if __name__ == "__main__":
    measuring: dict[str, Any] = {"minpy": minpy_seconds, "torch": torch_seconds}
    seconds = measuring[sys.argv[1]]()
    print(seconds)
