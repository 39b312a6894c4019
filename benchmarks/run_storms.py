"""What changes from call to call: captured functions beside the same as written. `python benchmarks/run_storms.py`.

A storm is a program in which something that a captured function depends on changes all the time: a decaying rate, the
shape of a batch, the length of a sequence, the function itself, a list that grows. It runs twice, as written and
captured, in one process and with the same data; what is compared is the time of the whole. Captured may take at most
1.3 times as long as written, and eight captures more, whatever changes. Exit status 1: a limit is exceeded.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import minpy as mx
from minpy import autograd, gluon
from minpy.compiling import CompileWarning

FREE_CAPTURES = 8
WORST_RATIO = 1.3


class Storm(NamedTuple):
    """A program whose surroundings change.

    Attributes
    ----------
    calls : int
        How many there are.
    written, captured : callable
        Return an iterator that makes one call a step.
    """

    calls: int
    written: Callable[[], Iterator[Any]]
    captured: Callable[[], Iterator[Any]]


def _step(w: Any, g: Any, rate: Any) -> Any:
    return w - rate * np.tanh(g) * (1 + g * g)


def _rates(calls: int, function: Callable[..., Any]) -> Iterator[Any]:
    w, g = np.ones((64, 64)), np.linspace(-1, 1, 4096).reshape(64, 64)
    for number in range(calls):
        yield function(w, g, 0.1 * 0.999**number)


class _Settings:
    rate = 0.1


def _global_rates(calls: int, wrap: Callable[[Any], Any]) -> Iterator[Any]:
    settings = _Settings()
    function = wrap(lambda w, g: w - settings.rate * np.tanh(g))
    w, g = np.ones((64, 64)), np.linspace(-1, 1, 4096).reshape(64, 64)
    for number in range(calls):
        settings.rate = 0.1 * 0.999**number
        yield function(w, g)


def _shapes(calls: int, function: Callable[..., Any]) -> Iterator[Any]:
    for number in range(calls):
        length = 1 + number * 37 % calls
        x = np.ones((1 + length % 100, 1 + length // 100))
        yield function(x, x, 0.1)


def _new_functions(calls: int, wrap: Callable[[Any], Any]) -> Iterator[Any]:
    w, g = np.ones((64, 64)), np.linspace(-1, 1, 4096).reshape(64, 64)
    for _ in range(calls):
        yield wrap(lambda w, g: w - 0.1 * np.tanh(g))(w, g)


def _given_functions(calls: int, wrap: Callable[[Any], Any]) -> Iterator[Any]:
    apply = wrap(lambda function, x: function(x) + 1)
    x = np.ones((64, 64))
    for _ in range(calls):
        yield apply(lambda x: np.tanh(x) * 2, x)


def _growing_list(calls: int, wrap: Callable[[Any], Any]) -> Iterator[Any]:
    history: list[float] = []
    function = wrap(lambda x: np.tanh(x) * len(history))
    x = np.ones((64, 64))
    for _ in range(calls):
        history.append(1.0)
        yield function(x)


def _lstm(calls: int, hybridized: bool) -> Iterator[Any]:
    mx.random.seed(0)
    net = gluon.rnn.LSTM(16, layout="TNC")
    net.initialize()
    if hybridized:
        net.hybridize()
    for number in range(calls):
        x = mx.nd.ones((1 + number * 7 % 60, 2, 8))
        with autograd.record():
            y = net(x).sum()
        y.backward()
        yield y.asscalar()


def _same(function: Any) -> Any:
    return function


def storms(scale: float) -> dict[str, Storm]:
    """Return the storms, with `scale` times as many calls as usual."""

    def count(calls: int) -> int:
        return max(int(calls * scale), 20)

    rates, shapes, lengths = count(1000), count(10000), count(300)
    return {
        "a decaying rate, an argument": Storm(
            rates, lambda: _rates(rates, _step), lambda: _rates(rates, mx.compile(_step))
        ),
        "a decaying rate, of an object": Storm(
            rates, lambda: _global_rates(rates, _same), lambda: _global_rates(rates, mx.compile)
        ),
        "shapes visited in turn": Storm(
            shapes, lambda: _shapes(shapes, _step), lambda: _shapes(shapes, mx.compile(_step))
        ),
        "lengths of an LSTM": Storm(lengths, lambda: _lstm(lengths, False), lambda: _lstm(lengths, True)),
        "functions made anew": Storm(
            rates, lambda: _new_functions(rates, _same), lambda: _new_functions(rates, mx.compile)
        ),
        "functions given anew": Storm(
            rates, lambda: _given_functions(rates, _same), lambda: _given_functions(rates, mx.compile)
        ),
        "a list that grows": Storm(
            rates, lambda: _growing_list(rates, _same), lambda: _growing_list(rates, mx.compile)
        ),
    }


class Run(NamedTuple):
    """What a run took: seconds a call, and by how many bytes the process grew."""

    times: list[float]
    growth: int


def run(calls: Iterator[Any]) -> Run:
    """Make all calls, and take the time of each."""
    gc.collect()
    before, times = _resident(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        while True:
            began = perf_counter()
            try:
                next(calls)
            except StopIteration:
                return Run(times, _resident() - before)
            times.append(perf_counter() - began)


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Run the storms, print a line for each, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="times as many calls (default: %(default)s)")
    parser.add_argument("names", nargs="*", help="parts of the names of storms (default: all)")
    arguments = parser.parse_args()
    status = 0
    print(
        f"{'storm':32} {'calls':>6} {'written':>10} {'captured':>10} {'ratio':>6} {'median':>6} {'limit':>6} {'MiB':>6}"
    )
    for name, storm in storms(arguments.scale).items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        run(storm.written())
        written, captured = run(storm.written()), run(storm.captured())
        total, total_captured = sum(written.times), sum(captured.times)
        captures = sum(sorted(captured.times)[-FREE_CAPTURES:])
        limit = (WORST_RATIO * total + captures) / total
        ratio = total_captured / total
        status |= ratio > limit
        print(
            f"{name:32} {storm.calls:6} {total * 1e3:7.0f} ms {total_captured * 1e3:7.0f} ms {ratio:6.2f} "
            f"{median(captured.times) / median(written.times):6.2f} {limit:6.2f} {captured.growth / 2**20:6.1f}"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
