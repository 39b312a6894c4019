"""Calls every kind of native operator, and the examples, thousands of times, and looks at what grows.

    python tests/support/native/leak_check.py [--calls 10000]

It prints a row for each kind, and ends with 1 if anything has leaked: states that are left, blocks that were not given
back, Python's memory (tracemalloc) or the process's larger than after a thousand calls.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[count]) for count in (3, 1)]

import numpy as np

import minpy as mx
from minpy import gluon, nd, sym
from minpy.core.errors import MXNetError
from native.building import build
from native.examples import load_example
from native.watching import Watched

# What the allocators of C and Python may add to what is kept, without anything being lost: in bytes.
SLACK_OF_PROCESS = 1_500_000
SLACK_OF_PYTHON = 20_000
# Calls before what grows is looked at: more than the host remembers sets of attributes, and of shapes.
WARM_UP = 1000


@dataclass
class Result:
    """What has grown over the calls of one kind."""

    name: str
    process: int
    python: int
    states: int
    blocks: int

    @property
    def leaks(self) -> bool:
        """Whether that is more than nothing."""
        return bool(self.process > SLACK_OF_PROCESS or self.python > SLACK_OF_PYTHON or self.states or self.blocks)

    def __str__(self) -> str:
        mark = "LEAKS" if self.leaks else "ok"
        return f"{self.name:28} {self.process:>12,} {self.python:>12,} {self.states:>7} {self.blocks:>7}  {mark}"


def memory_of_process() -> int:
    """Return the bytes of memory that the process uses."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def differentiated(call: Callable[..., object], *arrays: np.ndarray) -> Callable[[], None]:
    """Return a function that records a call, and runs its gradient."""
    inputs = [nd.array(one, dtype=one.dtype) for one in arrays]
    inputs[0].attach_grad()

    def run() -> None:
        with mx.autograd.record():
            answer = call(*inputs)
        mx.autograd.backward(list(answer) if isinstance(answer, (list, tuple)) else [answer])

    return run


def refused(call: Callable[[], object]) -> Callable[[], None]:
    """Return a function that makes a call which has to fail."""

    def run() -> None:
        try:
            call()
        except MXNetError:
            return
        raise AssertionError("a call that has to fail does not")

    return run


class Block(gluon.HybridBlock):
    """A layer of one native operator with a state."""

    def hybrid_forward(self, F: object, x: object) -> object:
        """Compute."""
        return F.raw_counted(x)  # type: ignore[attr-defined]


def kinds() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield (what is called, a function that calls it once)."""
    x, y, one = np.ones((4, 4)), np.full((4, 4), 2.0), np.ones(1)
    yield "stateless", lambda: nd.raw_affine(x, scale=2)
    yield "several outputs", lambda: nd.raw_pair(x, y)
    yield "copied input", lambda: nd.raw_affine(x[:, ::2])
    array, out = nd.array(x), np.empty((4, 4))
    yield "NDArray", lambda: nd.raw_affine(array)
    yield "out", lambda: nd.raw_affine(x, out=out)
    yield "workspace", lambda: nd.raw_workspace(x, bytes=1000, times=3)
    yield "random", lambda: nd.raw_random(one, count=10)
    yield "changed input", lambda: nd.raw_running(x, one)
    yield "state", lambda: nd.raw_counted(x)
    yield "state and changed input", lambda: nd.raw_stateful_running(x, one)
    yield "without inputs", lambda: nd.raw_count_up(count=3)
    counter = iter(range(10**9))
    yield "new attributes each time", lambda: nd.raw_affine(x, scale=next(counter))
    yield "new shapes each time", lambda: nd.raw_affine(np.ones(next(counter) % 500))
    yield "gradient", differentiated(nd.raw_pair, x, y)
    yield "gradient of a state", differentiated(nd.raw_counted, x)
    yield "gradient with changed input", differentiated(nd.raw_running, x, one)
    recorded = nd.array(x)
    recorded.attach_grad()

    def forget() -> None:
        with mx.autograd.record():
            nd.raw_counted(nd.raw_affine(recorded))

    yield "recorded and forgotten", forget
    node = sym.raw_counted(sym.raw_pair(sym.var("x"), sym.var("y"))[0])
    bound = node.simple_bind(mx.cpu(), x=(4, 4), y=(4, 4))

    def train() -> None:
        bound.forward(is_train=True)
        bound.backward(recorded)

    yield "executor", train
    for keywords in ({}, {"static_alloc": True, "static_shape": True}):
        block = Block()
        block.hybridize(**keywords)
        yield f"hybridized {'static' if keywords else ''}", differentiated(block, x)
    yield "refused by parseAttrs", refused(lambda: nd.raw_fail(x, at="parse"))
    yield "refused by inferShape", refused(lambda: nd.raw_fail(x, at="shape"))
    yield "refused by inferType", refused(lambda: nd.raw_fail(x, at="type"))
    yield "refused by forward", refused(lambda: nd.raw_fail(x, at="forward"))
    yield "refused by backward", refused(differentiated(lambda a: nd.raw_fail(a, at="backward"), x))
    yield "refused by createOpState", refused(lambda: nd.raw_fail_state(x, at="create"))
    yield "refused by a state", refused(lambda: nd.raw_fail_state(x, at="forward"))
    yield "refused by a state's backward", refused(differentiated(lambda a: nd.raw_fail_state(a, at="backward"), x))
    yield "refused for its dtype", refused(lambda: nd.raw_affine(np.ones(2, "int16")))


def examples() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the same for the libraries of `examples/native`: operators, partitioners, passes."""
    for name in ("gemm", "batch_norm", "softmax_loss", "subgraph", "pass"):
        load_example(name)
    x, y, ones, zeros = np.ones((4, 4)), np.full((4, 4), 2.0), np.ones(4), np.zeros(4)
    labels = np.array([0.0, 3.0, 1.0, 2.0])
    yield "my_gemm", lambda: nd.my_gemm(x, y, transpose_a=True)
    yield "my_gemm, gradient", differentiated(nd.my_gemm, x, y)
    yield "state_gemm", lambda: nd.state_gemm(x, y)
    yield "state_gemm, gradient", differentiated(nd.state_gemm, x, y)
    yield "my_gemm, refused", refused(lambda: nd.my_gemm(x, np.ones((3, 3))))
    normalize = partial(nd.my_batch_norm, training=True)
    yield "my_batch_norm", lambda: normalize(x, ones, zeros, zeros, ones)
    yield "my_batch_norm, gradient", differentiated(normalize, x, ones, zeros, zeros, ones)
    yield "my_softmax_loss, gradient", differentiated(nd.my_softmax_loss, x, labels)
    graph = sym.log(sym.exp(sym.var("x")) + 1) * sym.var("y")
    for backend in ("exp_log", "exp_log_chosen"):
        divided = graph.optimize_for(backend)
        bound = divided.simple_bind(mx.cpu(), x=(4, 4), y=(4, 4))

        def train(bound: Any = bound) -> None:
            bound.forward(is_train=True)
            bound.backward(nd.ones((4, 4)))

        yield f"{backend}: optimize_for", partial(graph.optimize_for, backend)
        yield f"{backend}: executor", train
    network = sym.BatchNorm(sym.FullyConnected(sym.Dropout(sym.var("data")), num_hidden=4, name="fc"), name="bn")
    shapes = dict(zip(network.list_arguments(), network.infer_shape(data=(4, 4))[0], strict=True))
    args = {name: nd.ones(shape) for name, shape in shapes.items() if name != "data"}
    aux = {name: nd.ones(4) for name in network.list_auxiliary_states()}
    for backend in ("remove_identities", "fold_batch_norm"):
        yield f"{backend}: optimize_for", lambda backend=backend: network.optimize_for(backend, {**args}, {**aux})


def measure(name: str, call: Callable[[], object], calls: int, watched: list[Watched]) -> Result:
    """Return what has grown over so many calls; over a tenth of them in Python's memory, as to watch it takes time."""
    call()
    gc.collect()
    states, blocks = sum(one.states for one in watched), sum(one.blocks for one in watched)
    for _ in range(WARM_UP):
        call()
    gc.collect()
    process = memory_of_process()
    for _ in range(calls):
        call()
    gc.collect()
    process = memory_of_process() - process
    tracemalloc.start()
    for _ in range(WARM_UP):
        call()
    gc.collect()
    python = tracemalloc.get_traced_memory()[0]
    for _ in range(calls // 10):
        call()
    gc.collect()
    python = tracemalloc.get_traced_memory()[0] - python
    tracemalloc.stop()
    return Result(
        name,
        process,
        python,
        sum(one.states for one in watched) - states,
        sum(one.blocks for one in watched) - blocks,
    )


def libraries() -> list[Watched]:
    """Load the libraries whose operators are called."""
    paths = build("operators.c", flags=["-DABI=11", '-DTAG=""']), build("failing.c")
    for path in paths:
        mx.library.load(path, verbose=False)
    return [Watched(path) for path in paths]


def main(calls: int) -> int:
    """Measure all kinds, and print what has grown."""
    watched = libraries()
    print(f"{calls} calls of each kind: bytes of the process and of Python, states, blocks of memory")
    results = []
    for name, call in chain(kinds(), examples()):
        results.append(measure(name, call, calls, watched))
        print(results[-1], flush=True)
    faults = [fault for one in watched for fault in one.faults]
    for fault in faults:
        print("fault:", fault)
    return int(bool(faults) or any(result.leaks for result in results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10000, metavar="N", help="(default: %(default)s)")
    sys.exit(main(parser.parse_args().calls))
