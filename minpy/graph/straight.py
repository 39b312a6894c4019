"""Native code of a program called straight away, without a frame: forward only, or there and back at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.backends.native.running import UNFIT, NativeRunner
from minpy.core import aligned
from minpy.graph.ir import Node
from minpy.graph.program import Program, Runner

__all__ = ["Straight"]


class Straight:
    """A program that is native code.

    Parameters
    ----------
    program : Program
    wanted : sequence of (Node, numpy.ndarray)
        The variables whose gradients are asked for, and arrays of their shapes and dtypes.
    """

    __slots__ = ("_kinds", "_ones", "_order", "_program", "_zeros")

    def __init__(self, program: Program, wanted: Sequence[tuple[Node, numpy.ndarray]] = ()) -> None:
        self._program = program
        self._kinds = [(like.shape, like.dtype) for _, like in wanted]
        nodes = [node for node, _ in wanted]
        # Where the gradients that are computed stand among those that are asked for; and those that are not reached.
        self._order = [nodes.index(node) for node in program.steps.gradients]
        self._zeros = [place for place in range(len(nodes)) if place not in self._order]
        self._ones: list[numpy.ndarray] = []

    def native_of(self, runner: Runner) -> NativeRunner | None:
        """Return what runs; None where Python is to run."""
        return self._program.native_of(runner)

    def forward(
        self, arrays: Sequence[numpy.ndarray], into: Sequence[numpy.ndarray | None] = ()
    ) -> Sequence[Any] | None:
        """Return the heads for arrays of all variables; None where there is no native code.

        That is so as well for arrays that do not fit, if some are to be changed: they may share memory. Heads may be
        computed `into` arrays, one or None for each: the arrays themselves are returned where they are.
        """
        program = self._program
        runner = program.take()
        try:
            native = self.native_of(runner)
            if native is None:
                return None
            found = native.forward(arrays, into) if into else native.forward(arrays)
            if found is UNFIT:
                if program.steps.stored:
                    return None
                _, found = native.fit_forward(arrays)
            heads: Sequence[Any] = found[0]
            return heads
        finally:
            program.give_back(runner)

    def gradients(self, arrays: Sequence[numpy.ndarray]) -> tuple[Sequence[Any], list[numpy.ndarray]] | None:
        """Return the heads, and the gradients of their sum; None where there is no native code."""
        program = self._program
        runner = program.take()
        try:
            native = self.native_of(runner)
            if native is None or native.backward is None:
                return None
            found = native.forward(arrays)
            if found is UNFIT:
                arrays, found = native.fit_forward(arrays)
            heads, kept, _ = found
            gradients = [aligned.empty(shape, dtype) for shape, dtype in self._kinds]
            targets = [gradients[place] for place in self._order]
            starts = self._ones or self._made_ones(heads)
            if native.backward(arrays, starts, targets, kept) is UNFIT:
                native.fit_backward(arrays, starts, targets, kept)
            for place in self._zeros:
                gradients[place].fill(0)
            return heads, gradients
        finally:
            program.give_back(runner)

    def _made_ones(self, heads: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
        """Return the gradients to start with, which nobody may change."""
        ones = [numpy.ones(head.shape, head.dtype) for head in heads]
        for one in ones:
            one.setflags(write=False)
        self._ones = ones
        return ones
