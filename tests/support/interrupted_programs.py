"""Interrupt training steps by a timer, see what is left: `python tests/support/interrupted_programs.py ROUNDS SEED`.

Ends with an error at the first interrupt that leaves a flag set; prints how many interrupts were swallowed.
`test_interrupts.py` runs it in a process of its own, as signals need a main thread.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sys
from typing import Any

import numpy as np

import minpy as mx
from minpy import autograd, nd


class Timer:
    """Raises KeyboardInterrupt once, some microseconds after it was set."""

    def __init__(self) -> None:
        self.fired = 0
        signal.signal(signal.SIGALRM, self._raise)

    def set(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def _raise(self, *_: Any) -> None:
        self.fired += 1
        raise KeyboardInterrupt


@mx.customop("mxnet")
def double(x):
    return x * 2


double.def_grad(lambda ans, x: lambda g: g * 2)


def step(x: Any) -> None:
    """Record, write in place, differentiate, in scopes in scopes."""
    with autograd.record():
        y = nd.tanh(double(x) * x)
        with autograd.pause():
            mask = nd.ones(3)
            mask[1:2] = 0
        with autograd.predict_mode():
            loss = (y * mask).sum()
    loss.backward()
    x[:] = np.float32(0.5)
    with autograd.record(train_mode=False), mx.cpu(1), mx.AttrScope(lr_mult="2"), mx.name.Prefix("net_"):
        x.asnumpy()
    if sys.version_info >= (
        3,
        11,
    ):  # 3.10 may raise the interrupt in place of calling the `__exit__`
        with contextlib.suppress(LookupError), autograd.record(), mx.cpu(1), mx.AttrScope(lr_mult="2"):
            raise LookupError


def work(x: Any, timer: Timer) -> None:
    """Take steps until the timer has fired."""
    before = timer.fired
    while timer.fired == before:
        step(x)


def state() -> tuple[Any, ...]:
    """Return all that scopes set."""
    variable = mx.sym.tanh(mx.sym.var("x"), name="y")
    return autograd.is_recording(), autograd.is_training(), mx.current_context(), variable.name, variable.list_attr()


def main(rounds: int, seed: int) -> None:
    """Interrupt as often as said."""
    numbers, timer = random.Random(seed), Timer()
    swallowed = interrupted = 0
    unraisable: list[Any] = []
    sys.unraisablehook = lambda problem: unraisable.append(repr(problem.exc_value))
    x = nd.ones(3)
    x.attach_grad()
    step(x)
    expected = state()
    while timer.fired < rounds:
        try:
            timer.set(numbers.uniform(2e-5, 1e-3))
            work(x, timer)  # a loop of its own: the jump back of one in `try` is outside of it in 3.12 and 3.13
            swallowed += 1
        except KeyboardInterrupt:
            interrupted += 1
        if state() != expected:
            sys.exit(f"interrupt {timer.fired} left {state()}; it was {expected}")
    timer.set(0)
    step(x)
    print(f"{interrupted} interrupted, {swallowed} swallowed, {len(unraisable)} unraisable")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
