"""Calls of a traced function on NumPy's arrays that go to native code at once, without the tape and without a frame.

Everything that a call may depend on is compared first; where anything is another than when the way was found, the call
goes the long way, through the block, which finds out what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.backends.native.arguments import is_singular
from minpy.backends.protocol import ArgumentMismatch
from minpy.backends.switches import is_enabled
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.state import TRACES, state, tracing
from minpy.core.switches import is_np_array
from minpy.gluon.block.cached_graph import CachedGraph
from minpy.gluon.block.changes import forbidden, of_numpy
from minpy.gluon.block.graphs import Graphs
from minpy.gluon.block.guards import Guards
from minpy.graph.program import Program

__all__ = ["NOT_GONE", "Direct", "Directs"]

NOT_GONE = object()  # stands for an answer, which may be None, where the way could not be gone

_MOST = 32


class Direct:
    """The native code for arrays of some kinds: forward only, or there and back at once.

    Parameters
    ----------
    graph : CachedGraph
    guards : Guards
        What the graph holds for.
    program : Program
        Of the graph, for these arrays and gradients.
    arrays : sequence of numpy.ndarray
        Of all variables.
    arguments : sequence of numpy.ndarray
    wanted : sequence of int
        The positions of the arguments whose gradients are asked for.
    """

    __slots__ = (
        "_captured", "_changes", "_graph", "_guards", "_kinds", "_modes", "_order", "_places", "_program", "_rebuild",
        "_sources", "_steps", "_stored", "_types", "_unread",
    )  # fmt: skip

    def __init__(
        self,
        graph: CachedGraph,
        guards: Guards,
        program: Program,
        arrays: Sequence[numpy.ndarray],
        arguments: Sequence[numpy.ndarray],
        wanted: Sequence[int],
    ) -> None:
        self._graph = graph
        self._guards = guards
        self._changes = graph.changes
        # Where what is returned stands: among the arrays of variables, or among the heads.
        self._places = [
            (is_given, _positions(graph).index(position) if is_given else position)
            for is_given, position in ([] if graph.changes is None else graph.changes.places)
        ]
        self._rebuild = graph.rebuild
        self._stored = graph.compiled.stored
        self._steps = program.steps
        self._modes = _modes()
        self._types = (numpy.ndarray,) * len(arguments)
        # Of what is no variable, the shape or dtype may have been read.
        self._unread = [
            (position, array.shape, array.dtype)
            for position, array in enumerate(arguments)
            if position not in _positions(graph)
        ]
        self._sources = tuple(graph.sources)
        self._captured = any(type(source) is not int for source in graph.sources)
        self._kinds = [(array.shape, array.dtype) for array in arrays]
        self._program = program
        # Gradients are computed in the order of the variables.
        order = [position for position in _positions(graph) if position in wanted]
        self._order = [order.index(position) for position in wanted]

    def arrays_of(self, arguments: Sequence[Any], guards: Guards | None) -> list[numpy.ndarray] | None:
        """Return the arrays of all variables; None where a call has to go the long way.

        Parameters
        ----------
        arguments : sequence
            By position.
        guards : Guards or None
            What the block is guarded by now.
        """
        if guards is not self._guards or tuple(map(type, arguments)) != self._types:
            return None
        if _modes() != self._modes or state.recording or TRACES or tracing.as_written:
            return None
        if self._changes is not None and forbidden.changes:
            return None
        sources = self._sources
        if self._captured:
            if any(type(source) is not int and source._node is not None for source in sources):
                return None
            raws = [arguments[source] if type(source) is int else source._data for source in sources]
        else:
            raws = [arguments[source] for source in sources]
        for raw, (shape, dtype) in zip(raws, self._kinds, strict=True):
            if raw.shape != shape or raw.dtype is not dtype:
                return None
        steps = self._steps
        for position, shape, dtype in self._unread:
            if arguments[position].shape != shape or arguments[position].dtype != dtype:
                return None
        if not guards.hold() or not steps.is_current():
            return None
        return raws

    def forward(self, arrays: Sequence[numpy.ndarray]) -> Any:
        """Return what the function returns, raw; `NOT_GONE` if there is no native code."""
        try:
            heads = self._program.run(arrays)
        except ArgumentMismatch:
            return NOT_GONE
        if self._changes is None:
            return self._answer(heads)
        values = [
            arrays[position] if is_given else heads[position] if heads[position].ndim else heads[position][()]
            for is_given, position in self._places
        ]
        answer = values[0] if self._rebuild is None else self._rebuild(values)
        self._changes.store(heads, arrays, self._stored)  # last: what fails before goes the long way
        return answer

    def gradients(self, arrays: Sequence[numpy.ndarray]) -> tuple[Any, list[numpy.ndarray]] | None:
        """Return (what the function returns, the gradients of its sum); None if there is no native code."""
        found = self._program.run_with_gradients(arrays)
        return None if found is None else (self._answer(found[0]), [found[1][place] for place in self._order])

    def _answer(self, heads: Sequence[Any]) -> Any:
        """Return heads as the function returns them: arrays, and scalars for those without axes."""
        values = [head if head.ndim else head[()] for head in heads]
        assemble = self._graph.assemble
        return values[0] if assemble is None else assemble(values)


class Directs:
    """The direct ways of one function, by the kinds of arrays, and how they are found.

    Parameters
    ----------
    graphs : Graphs
        Of the block that the function is.
    """

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs
        # None stands for what has none.
        self._known: dict[Any, Direct | None] = {}
        self._latest: dict[Any, Direct] = {}
        self._guards: Guards | None = None  # those that the ways were found with

    def find(self, arguments: Sequence[Any], wanted: tuple[int, ...]) -> tuple[Direct, list[numpy.ndarray]] | None:
        """Return the way for such arguments, and the arrays to go it with; None if there is none.

        Parameters
        ----------
        arguments : sequence
            By position.
        wanted : tuple of int
            The positions of the arguments whose gradients are asked for; none: it is only called.
        """
        latest = self._latest.get(wanted)
        if latest is None:
            return None
        arrays = latest.arrays_of(arguments, self._graphs.guards)
        if arrays is not None:
            return latest, arrays
        if set(map(type, arguments)) != {numpy.ndarray}:
            return None
        other = self._known.get(_key(arguments, wanted))
        if other is None or other is latest:
            return None
        arrays = other.arrays_of(arguments, self._graphs.guards)
        if arrays is None:
            return None
        self._latest[wanted] = other
        return other, arrays

    def note(self, arguments: Sequence[Any], wanted: tuple[int, ...]) -> None:
        """Find the way for arguments with which the function has just been called the long way, if there is one."""
        if not arguments or set(map(type, arguments)) != {numpy.ndarray} or not is_enabled():
            return
        if self._guards is not self._graphs.guards:  # what the graphs were is forgotten
            self._known, self._latest, self._guards = {}, {}, self._graphs.guards
        key = _key(arguments, wanted)
        if self._known.get(key, self) is None:
            return
        found = self._found(arguments, wanted)
        if found is NotImplemented:  # not yet
            return
        while len(self._known) >= _MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = found
        if found is not None:
            self._latest[wanted] = found

    def _found(self, arguments: Sequence[Any], wanted: tuple[int, ...]) -> Any:
        """Return the way; None, if there is none, or NotImplemented, if there may be one later."""
        graphs, guards = self._graphs, self._graphs.guards
        leaves = [new_array(FRONT_ENDS["numpy"], argument) for argument in arguments]
        # Derivatives are asked of arrays of ours, with NumPy's beside them.
        before, of_numpy.ids = of_numpy.ids, {id(one) for place, one in enumerate(arguments) if place not in wanted}
        key = graphs.key(len(leaves), leaves)
        of_numpy.ids = before
        graph = None if graphs.asks_for_recording or guards is None else graphs.get(key)
        if graph is None or guards is None or not graph.is_settled or graph.compiled.keeping is not None:
            return None
        captured = [source for source in graph.sources if type(source) is not int]
        if not all(isinstance(source, Array) and source._node is None for source in captured):
            return None
        positions = _positions(graph)
        if not all(position in positions for position in wanted):
            return None
        if not all(arguments[position].dtype.kind == "f" for position in wanted):
            return None
        raws = [leaves[source]._data if type(source) is int else source._data for source in graph.sources]
        # Native code looks at whether its variables share memory; at nothing else.
        if graph.changes is not None and (wanted or guards.arrays() or not all(is_singular(raw.dtype) for raw in raws)):
            return None
        needed = None
        if wanted and graph.repeats:  # the gradient of each head does not begin with ones
            return None
        if wanted:
            needed = tuple([position in wanted for position in positions[: len(graph.compiled.arguments)]])
            if sum(needed) != len(wanted):
                return None
        program = graph.operator.program(raws, needed)
        if program.steps.states:  # which calls move, and that is noted
            return None
        if program.executable() is None:
            return NotImplemented if program.may_improve else None
        facts = program.facts or {}
        if wanted and not all(facts[value.node].dtype.kind == "f" for value in program.steps.head_gradients):
            return None
        return Direct(graph, guards, program, raws, arguments, wanted)


def _positions(graph: CachedGraph) -> list[int | None]:
    """Return the position of the argument that each variable stands for; None for others."""
    return [source if type(source) is int else None for source in graph.sources]


def _modes() -> tuple[Any, ...]:
    return state.training, is_np_array()


def _key(arguments: Sequence[Any], wanted: tuple[int, ...]) -> Any:
    return wanted, _modes(), tuple([(argument.shape, argument.dtype) for argument in arguments])
