"""What a hybridized block adds to the operator inside of it: both are called in turns, in one process."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.case import Array, Step

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 200
TURNS = 25


def inputs() -> tuple[Array, ...]:
    return (np.random.RandomState(0).uniform(-3, 3, (4, 4)).astype(np.float32),)


def seconds_of(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """The seconds of one call, of many that end with waiting for what they compute."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    wait()
    return (time.perf_counter() - start) / CALLS


def extra_step(mx: Any, x: Array, recorded: bool, backward: bool = False) -> Step:
    """Return what measures the seconds that a call of a hybridized block of `relu` takes more than the operator."""

    class Small(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.relu(x)

    block = Small()
    block.initialize()
    block.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.array(x)
    if recorded:
        x.attach_grad()

    def caller_of(function: Callable[[Any], Any]) -> Callable[[], Any]:
        def call():
            if not recorded:
                return function(x)
            with mx.autograd.record():
                y = function(x)
            if backward:
                y.backward()
            return y

        return call

    of_block, of_operator = caller_of(block), caller_of(mx.nd.relu)
    np.testing.assert_array_equal(of_block().asnumpy(), of_operator().asnumpy())

    def step() -> float:
        turns = [seconds_of(of_block, mx.nd.waitall) - seconds_of(of_operator, mx.nd.waitall) for _ in range(TURNS)]
        return statistics.median(turns)

    return step
