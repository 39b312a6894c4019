"""How long the steps of a program take, run one by one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.graph.frame import start
from minpy.graph.interpreting import Observer
from minpy.graph.ir import Node
from minpy.graph.program import Program

__all__ = ["Timing", "profile"]


class Timing(NamedTuple):
    """A step, the part of the program that it belongs to ('forward' or 'backward'), and the seconds that it took."""

    node: Node
    part: str
    seconds: float


def profile(
    program: Program,
    arrays: Sequence[numpy.ndarray],
    cotangents: Sequence[numpy.ndarray],
    buffers: Mapping[Node, numpy.ndarray],
) -> list[Timing]:
    """Return how long each step of a program takes, in one run step by step."""
    times: list[Timing] = []
    began = 0.0

    def timing(part: str) -> Observer:
        def note(node: Node, _: Any, result: Any) -> None:
            nonlocal began
            if result is not None:
                times.append(Timing(node, part, time.perf_counter() - began))
            began = time.perf_counter()

        return note

    _, frame = start(program, arrays, timing("forward"))
    if program.steps.grad_req:
        frame.backward(cotangents, buffers, timing("backward"))
    return times
