"""A training that goes on from a checkpoint computes as the one that was not stopped: by the same code from the start.

The first run of a program finds out where its answers may be computed, the second computes there, and the third is
native code: each may round otherwise. A module that goes on has those runs behind it, and what they find out is found
out by a run of copies, which changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy

from minpy.graph.frame import start
from minpy.graph.schedule import is_trusted
from minpy.ops.random.generator import generator

__all__ = ["go_on_after"]


def go_on_after(executor: Any, rounds: int) -> None:
    """Let an executor that is new compute what one does that has been trained so often."""
    program = executor._program(True)
    if program.rounds >= rounds or not all(map(is_trusted, program.steps.forward)):
        return
    raws = [raw.copy() for raw in executor._raws()]
    bits = generator().bit_generator
    state = bits.state
    try:
        heads, frame = start(program, raws, None)
        if program.steps.grad_req:
            buffers = {node: numpy.zeros_like(raw) for node, raw in executor._buffers().items()}
            frame.backward([numpy.ones_like(head) for head in heads], buffers)
    finally:
        bits.state = state
    program.rounds = rounds
