"""How long the kernels, products and calls of a native program take: each as a function of its own, with a clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.backends.native.codegen.launches import Launch
from minpy.backends.native.codegen.program_builder import build
from minpy.backends.native.language import Call
from minpy.backends.native.reports.explain_program import described_launch
from minpy.backends.native.runtime.native_executable import NativeExecutable
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

    It is called with arrays, and asked for gradients in `buffers`.
    """
    timed = _TimedProgram(program)
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


class _TimedProgram:
    """A program as native code whose kernels are called, and timed, one by one."""

    def __init__(self, program: Program) -> None:
        self.times: list[NativeTiming] = []
        self.part = "forward"
        assert program.facts is not None
        built = build(
            program.steps, program.facts, fast_math=program.fast_math, separate=True, parameters=program.parameters
        )
        self._launches: dict[str | Node | None, Launch] = {
            sequence.name: launch for sequence in built.sequences for _, launch in sequence.numbered
        }
        for launch in (launch for part in built.launches for launch in part):
            if isinstance(launch.item, Call):
                self._launches[launch.item.node] = launch
        native = NativeExecutable(built.plan, program.steps, built.loaded, lambda: built)
        native.watch = self._timed
        self.program = Program(program.steps, True, program.fast_math, program.parameters)
        self.program.serve_by("native", native, program.facts)

    def _timed(self, key: str | Node, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls another, and records how long it took."""
        launch = self._launches.get(key)
        if launch is None:  # it only checks arguments
            return function
        operators, description = described_launch(launch)

        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = function(*arguments)
            self.times.append(NativeTiming(operators, description, self.part, time.perf_counter() - began))
            return result

        return timed
