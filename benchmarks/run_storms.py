"""What changes from call to call: captured functions beside the same as written. `python benchmarks/run_storms.py`.

A storm is a program in which something that a captured function depends on changes all the time: a decaying rate, the
shape of a batch, the length of a sequence, the function itself, a list that grows. It runs as written and captured, in
one process and with the same data. The table says what was measured, and the limits:

- of rates that decay: at most three captures, and the median call at most twice as long as with a rate that stays;
- of all else: in total at most 1.3 times as long as written, and eight captures more;
- of all: in the second half of the calls the process does not grow.

Totals are times of the processor, of calls as written and captured in turns, as the speed of a machine changes; medians
are of the clock on the wall. Each storm runs in several processes, in which nothing has been captured before, and the
table has the median of what they measure, by its ratio to the limit. Exit status 1: a limit is exceeded.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import minpy as mx
from minpy import autograd, gluon
from minpy.compiling import CompileWarning

FREE_CAPTURES = 8
WORST_RATIO = 1.3
RATE_CAPTURES = 3
WORST_MEDIAN = 2.0
GROWTH = 1.0  # MiB
TURNS = 20  # in each half of the calls

# Wraps a function, or leaves it as it is written.
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


class Storm(NamedTuple):
    """A program whose surroundings change.

    Attributes
    ----------
    calls : int
        How many there are.
    run : callable
        Takes how to wrap functions, and whether anything changes; returns an iterator that makes one call a step.
    is_rate : bool
        Whether it is a number that changes, and nothing else.
    """

    calls: int
    run: Callable[[Wrap, bool], Iterator[Any]]
    is_rate: bool = False


# -- rates -----------------------------------------------------------------------------------------------------------


def _decaying(number: int, changes: bool) -> float:
    return 0.1 * 0.999**number if changes else 0.1


def _weights() -> tuple[Any, Any]:
    return np.ones((64, 64)), np.linspace(-1, 1, 4096).reshape(64, 64)


def _step(w: Any, g: Any, rate: Any) -> Any:
    return w - rate * np.tanh(g) * (1 + g * g)


def _argument(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, changes: bool) -> Iterator[Any]:
        function, (w, g) = wrap(_step), _weights()
        for number in range(calls):
            yield function(w, g, _decaying(number, changes))

    return run


class _Settings:
    rate = 0.1


def _attribute(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, changes: bool) -> Iterator[Any]:
        settings, (w, g) = _Settings(), _weights()
        function = wrap(lambda w, g: _step(w, g, settings.rate))
        for number in range(calls):
            settings.rate = _decaying(number, changes)
            yield function(w, g)

    return run


RATE = 0.1


def _global(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, changes: bool) -> Iterator[Any]:
        function, (w, g) = wrap(lambda w, g: _step(w, g, RATE)), _weights()
        for number in range(calls):
            globals()["RATE"] = _decaying(number, changes)
            yield function(w, g)

    return run


class _Descent(gluon.HybridBlock):
    """A step of descent as a block whose rate is an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.rate = 0.1

    def forward(self, w: Any, g: Any) -> Any:
        return _step(w, g, self.rate)


def _of_a_block(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, changes: bool) -> Iterator[Any]:
        net, (w, g) = wrap(_Descent()), map(mx.np.array, _weights())
        for number in range(calls):
            net.rate = _decaying(number, changes)  # type: ignore[attr-defined]
            yield net(w, g)

    return run


def _recorded(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, changes: bool) -> Iterator[Any]:
        function, (w, g) = wrap(_step), map(mx.np.array, _weights())
        w.attach_grad()
        for number in range(calls):
            with autograd.record():
                y = function(w, g, _decaying(number, changes))
            y.backward()
            yield w.grad

    return run


# -- all else --------------------------------------------------------------------------------------------------------


def _shapes(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, _: bool) -> Iterator[Any]:
        function = wrap(_step)
        for number in range(calls):
            length = 1 + number * 37 % calls
            x = np.ones((1 + length % 100, 1 + length // 100))
            yield function(x, x, 0.1)

    return run


def _lengths(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, _: bool) -> Iterator[Any]:
        mx.random.seed(0)
        net = gluon.rnn.LSTM(16, layout="TNC")
        net.initialize()
        wrap(net)
        for number in range(calls):
            x = mx.nd.ones((1 + number * 7 % 60, 2, 8))
            with autograd.record():
                y = net(x).sum()
            y.backward()
            yield y.asscalar()

    return run


def _made_anew(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, _: bool) -> Iterator[Any]:
        w, g = _weights()
        for _number in range(calls):
            yield wrap(lambda w, g: w - 0.1 * np.tanh(g))(w, g)

    return run


def _given_anew(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, _: bool) -> Iterator[Any]:
        apply = wrap(lambda function, x: function(x) + 1)
        x = np.ones((64, 64))
        for _number in range(calls):
            yield apply(lambda x: np.tanh(x) * 2, x)

    return run


def _growing_list(calls: int) -> Callable[[Wrap, bool], Iterator[Any]]:
    def run(wrap: Wrap, _: bool) -> Iterator[Any]:
        history: list[float] = []
        function = wrap(lambda x: np.tanh(x) * len(history))
        x = np.ones((64, 64))
        for _number in range(calls):
            history.append(1.0)
            yield function(x)

    return run


def storms(scale: float) -> dict[str, Storm]:
    """Return the storms, with `scale` times as many calls as usual."""

    def count(calls: int) -> int:
        return max(int(calls * scale), 20)

    rates, shapes, lengths = count(1000), count(10000), count(300)
    return {
        "a decaying rate, an argument": Storm(rates, _argument(rates), True),
        "a decaying rate, an attribute": Storm(rates, _attribute(rates), True),
        "a decaying rate, a global": Storm(rates, _global(rates), True),
        "a decaying rate, of a block": Storm(rates, _of_a_block(rates), True),
        "a decaying rate, recorded": Storm(rates, _recorded(rates), True),
        "shapes visited in turn": Storm(shapes, _shapes(shapes)),
        "lengths of an LSTM": Storm(lengths, _lengths(lengths)),
        "functions made anew": Storm(rates, _made_anew(rates)),
        "functions given anew": Storm(rates, _given_anew(rates)),
        "a list that grows": Storm(rates, _growing_list(rates)),
    }


# -- measuring -------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """What a run took.

    Attributes
    ----------
    times : list of float
        Seconds of each call.
    total : float
        Seconds of the processor that all took.
    growth : float
        By how many MiB the process grew in the second half of the calls.
    captured : callable
        What was wrapped first.
    """

    times: list[float]
    total: float
    growth: float
    captured: Any

    @property
    def captures(self) -> int:
        """How often something was captured: as it says itself, or by calls that took much longer than usual."""
        if hasattr(self.captured, "explain_retraces"):
            said = re.search(r"(\d+) captures?\b", str(self.captured.explain_retraces()))
            assert said is not None
            return int(said[1])
        limit = max(self.times[0] / 4, 10 * median(self.times[-len(self.times) // 2 :]))
        return sum(time > limit for time in self.times) or int(self.times[0] < 4 * median(self.times)) * len(self.times)


class _Course:
    """A run that goes on by so many calls at a time, so that others can have their turns in between."""

    def __init__(self, storm: Storm, wrap: Wrap, changes: bool = True) -> None:
        self._captured: list[Any] = []
        self._halfway, self._grown = storm.calls // 2, 0
        self._times: list[float] = []
        self._total = 0.0

        def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
            captured = wrap(function)
            if not self._captured:
                self._captured.append(captured)
            return captured

        self._calls = storm.run(wrapped, changes)

    def go_on(self, calls: int) -> None:
        """Make so many calls, and take the time of each."""
        is_late = len(self._times) >= self._halfway
        resident, began = _resident(), process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)
            for _ in range(calls):
                before = perf_counter()
                next(self._calls)
                self._times.append(perf_counter() - before)
        self._total += process_time() - began
        self._grown += (_resident() - resident) * is_late

    def result(self) -> Run:
        """Return what all calls took."""
        return Run(self._times, self._total, self._grown / 2**20, self._captured[0])


def run(storm: Storm, wrap: Wrap, changes: bool = True) -> Run:
    """Make all calls, and take the time of each."""
    gc.collect()
    course = _Course(storm, wrap, changes)
    for calls in _turns(storm.calls):
        course.go_on(calls)
    return course.result()


def _turns(calls: int) -> list[int]:
    """Return how many calls there are in each turn: the first half ends with one."""
    length = max(calls // (2 * TURNS), 1)
    half = [length] * (calls // 2 // length)
    first = [*half, calls // 2 - sum(half)]
    second = calls - calls // 2
    return [*first, *[length] * (second // length), second % length]


def run_in_turns(storm: Storm) -> tuple[Run, Run]:
    """Make all calls as written and captured, some of each in turn."""
    gc.collect()
    written, captured = _Course(storm, _as_written), _Course(storm, _captured)
    for calls in _turns(storm.calls):
        written.go_on(calls)
        captured.go_on(calls)
    return written.result(), captured.result()


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _captured(function: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(function, gluon.HybridBlock):
        function.hybridize()
        return function
    return mx.compile(function)


class Row(NamedTuple):
    """What was measured, and at most is to be."""

    what: str
    value: float
    limit: float


def rows_of(storm: Storm) -> list[Row]:
    """Run a storm, and return what was measured."""
    run(storm, _as_written)
    if storm.is_rate:
        captured = run(storm, _captured)
        rows = [Row("MiB more in the second half", captured.growth, GROWTH)]
        constant = run(storm, _captured, changes=False)
        ratio = median(captured.times) / median(constant.times)
        return [
            Row("captures", captured.captures, RATE_CAPTURES),
            Row("median / a constant's", ratio, WORST_MEDIAN),
            *rows,
        ]
    written, captured = run_in_turns(storm)
    rows = [Row("MiB more in the second half", captured.growth, GROWTH)]
    longest = sum(sorted(captured.times)[-FREE_CAPTURES:])
    limit = WORST_RATIO + longest / written.total
    return [Row("total / as written", captured.total / written.total, limit), *rows]


def _rows_in_a_process(scale: float, name: str) -> list[Row]:
    """Return what was measured of a storm in a new process, in which nothing has been captured."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (scale, name))


def _measured(scale: float, name: str) -> list[Row]:
    return rows_of(storms(scale)[name])


def main() -> int:
    """Run the storms, print a table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="times as many calls (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="processes for each storm (default: %(default)s)")
    parser.add_argument("names", nargs="*", help="parts of the names of storms (default: all)")
    arguments = parser.parse_args()
    status = 0
    print(f"{'storm':30} {'calls':>6}  {'measured':28} {'value':>9} {'limit':>9}")
    for name, storm in storms(arguments.scale).items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        measured = [_rows_in_a_process(arguments.scale, name) for _ in range(arguments.repeat)]
        for rows in zip(*measured, strict=True):
            row = sorted(rows, key=lambda row: row.value / row.limit)[len(rows) // 2]
            exceeded = row.value > row.limit
            status |= exceeded
            mark = "  exceeded" if exceeded else ""
            print(f"{name:30} {storm.calls:6}  {row.what:28} {row.value:9.2f} {row.limit:9.2f}{mark}", flush=True)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
