"""Interrupt traces and calls of hybridized blocks by a timer: `python tests/support/interrupted_blocks.py ROUNDS SEED`.

Ends with an error at the first interrupt after which a scope is left, a block is not what it was, or the next call
answers something else. `test_interrupts.py` runs it in a process of its own, as signals need a main thread.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
from interrupted_programs import Timer

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.state import TRACES, tracing
from minpy.gluon import nn
from minpy.gluon.block.scope import _current


class Written(gluon.HybridBlock):
    """A block that defines `forward`, with a branch on the mode."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scale = gluon.Parameter("scale", shape=(3,), init="ones")

    def forward(self, x: Any) -> Any:
        return mx.np.tanh(x) * self.scale.data() * (1 if autograd.is_training() else 1.0)


class Masked(gluon.HybridBlock):
    """A block whose shapes depend on values: it is run as it is written, with one inside that is not."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.dense = nn.Dense(2, in_units=3)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.dense(F.contrib.boolean_mask(x, F.slice_axis(x, axis=1, begin=0, end=1).reshape((-1,)) > 0))


def networks() -> list[Any]:
    """Return blocks of all kinds."""
    found = []
    for layers in ([nn.Dense(3, in_units=3, activation="tanh"), nn.BatchNorm(in_channels=3)], [Written(), Written()]):
        net = nn.HybridSequential()
        net.add(*layers)
        found.append(net)
    found.append(Masked())
    for net in found:
        net.initialize(mx.init.One())
    return found


def step(nets: list[Any], x: Any) -> None:
    """Trace blocks anew, and train and use them."""
    for net in nets:
        net.hybridize()
        net(x)
        with autograd.record():
            loss = net(x).sum()
        loss.backward()


def state(nets: list[Any], x: Any) -> tuple[Any, ...]:
    """Return all that scopes set, and what blocks answer."""
    answers = [net(x).asnumpy().round(4).tolist() for net in (nets[1], nets[2])]
    flags = autograd.is_recording(), autograd.is_training(), mx.current_context()
    names = mx.sym.tanh(mx.sym.var("x"), name="y").name, nn.Dense(1, prefix="p_").weight.name
    scopes = tracing.trace, tracing.modes, tracing.eager, _current.scope
    return flags, names, scopes, len(TRACES), [net._active for net in nets], answers


def main(rounds: int, seed: int) -> None:
    """Interrupt as often as said."""
    numbers, timer = random.Random(seed), Timer()
    interrupted = 0
    sys.unraisablehook = lambda problem: None
    x = nd.array(np.linspace(-1, 1, 12).reshape(4, 3).astype("float32"))
    nets = networks()
    step(nets, x)
    expected = state(nets, x)
    while timer.fired < rounds:
        try:
            timer.set(numbers.uniform(1e-4, 6e-3))
            before = timer.fired
            while timer.fired == before:
                step(nets, x)
        except KeyboardInterrupt:
            interrupted += 1
        found = state(nets, x)
        if found != expected:
            sys.exit(f"interrupt {timer.fired} left {found}; it was {expected}")
    timer.set(0)
    print(f"{interrupted} interrupted")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
