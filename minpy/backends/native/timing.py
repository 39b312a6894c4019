"""How long the kernels, products and calls of a native program take: each as a function of its own, with a clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.building import build
from minpy.backends.native.explaining import described_work
from minpy.backends.native.language import Call
from minpy.backends.native.works import Work
from minpy.graph.frame import start
from minpy.graph.ir import Node
from minpy.graph.program import Program

__all__ = ["NativeTiming", "profile_native"]


class NativeTiming(NamedTuple):
    """What ran, of which operators, in the 'forward' or 'backward' part, and the seconds that it took."""

    operators: tuple[str, ...]
    what: str
    part: str
    seconds: float


def profile_native(
    program: Program,
    arrays: Sequence[numpy.ndarray],
    head_gradients: Sequence[numpy.ndarray],
    buffers: Mapping[Node, numpy.ndarray],
    repeat: int,
) -> list[list[NativeTiming]]:
    """Return how long everything that a native program runs takes, in each of several runs.

    Parameters
    ----------
    program : Program
        That has become native code.
    arrays, head_gradients : sequence of numpy.ndarray
        What it is called with.
    buffers : mapping of Node to numpy.ndarray
        Where gradients are asked.
    repeat : int
        How many runs.
    """
    timed = _Timed(program)
    runs = []
    for _ in range(repeat + 1):
        timed.times = []
        _, frame = start(timed.program, arrays)
        if program.steps.grad_req:
            timed.part = "backward"
            frame.backward(head_gradients, buffers)
        timed.part = "forward"
        del frame
        runs.append(timed.times)
    return runs[1:]  # the first one fills caches


class _Timed:
    """A program as native code whose kernels are called, and timed, one by one."""

    def __init__(self, program: Program) -> None:
        self.times: list[NativeTiming] = []
        self.part = "forward"
        assert program.facts is not None
        native = build(
            program.steps, program.facts, fast_math=program.fast_math, apart=True, parameters=program.parameters
        )
        self._works: dict[str | Node, Work] = dict(native.works_of_segments.items())
        calls = [work for part in native.works for work in part if isinstance(work.item, Call)]
        self._works.update((work.item.node, work) for work in calls if work.item.node is not None)  # type: ignore[union-attr]
        native.watch = self._watched
        self.program = Program(program.steps, True, program.fast_math, program.parameters)
        self.program.serve_by("native", native, program.facts)

    def _watched(self, name: str | Node, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does what another does, and notes how long it took."""
        work = self._works.get(name)
        if work is None:  # it only looks at what is given
            return function
        return self._with_clock(work, function)

    def _with_clock(self, work: Work, function: Callable[..., Any]) -> Callable[..., Any]:
        operators, what = described_work(work)

        def run(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = function(*arguments)
            self.times.append(NativeTiming(operators, what, self.part, time.perf_counter() - began))
            return result

        return run
