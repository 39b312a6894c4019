"""Makes training that is resumed from a checkpoint compute the same bits as training that was not stopped.

The first run of a program finds out where its results may be computed, the second computes there, and the third is
native code: each may round differently. A resumed module has those runs behind it, so a run on copies, which changes
nothing, takes their place.
"""

from __future__ import annotations

from typing import Any

import numpy

from minpy.graph.frame import start
from minpy.graph.schedule import is_trusted
from minpy.ops.random.generator import generator

__all__ = ["resume_after"]


def resume_after(executor: Any, rounds: int) -> None:
    """Let a new executor compute what one does that has been trained for `rounds` updates."""
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
