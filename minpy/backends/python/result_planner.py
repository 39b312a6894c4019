"""Where the results of steps lie: how long each is needed, and in what memory it may be computed.

The facts come from running the program once: for given shapes an operator's result always has the same layout, and is
a view of the same inputs. The forward part is planned as soon as it has run, the backward part when that has; where in
the buffers results lie is the matter of `minpy.backends.memory_planner`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from minpy.backends.memory_planner import MemoryPlan
from minpy.backends.protocol import ArrayFact
from minpy.backends.source_parts import StridedView
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.schedule import Steps, is_trusted

__all__ = ["Placement", "Plan", "Planner"]


@dataclass(slots=True)
class Placement:
    """Where a step puts its result.

    'fresh' memory, a block of the context's buffers ('arena'), the memory of an earlier result that nobody needs any
    more ('reuse'), or the array that a gradient is asked into ('gradient').
    """

    kind: str = "fresh"
    block: StridedView | None = None
    source: Node | None = None


@dataclass(slots=True)
class Plan:
    """A placement for each step, and what it amounts to.

    `unshared_bytes` is how much the results take that lie in the buffers, those in the memory of another left out;
    `buffers` are the sizes of a context's buffers, in bytes.
    """

    placements: dict[Node, Placement] = field(default_factory=dict)
    # The step in whose memory each step's result lies, and when all that lies there has been read.
    roots: dict[Node, Node] = field(default_factory=dict)
    root_end: dict[Node, int] = field(default_factory=dict)
    buffers: list[int] = field(default_factory=list)
    unshared_bytes: int = 0

    @property
    def arena_bytes(self) -> int:
        """How much memory the buffers of a context take."""
        return sum(self.buffers)

    @property
    def reused(self) -> int:
        """How many results are computed in the memory of another."""
        return sum(placement.kind == "reuse" for placement in self.placements.values())


class Planner:
    """Decides about each step where its result is computed: first of the forward part, then of the backward part.

    Owners of memory are the steps that have results of their own; which of them a result may share memory with is
    among the facts.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.plan = Plan()
        self.facts: dict[Node, ArrayFact] = {}
        self._ends = _last_reads(steps)
        self._memory: MemoryPlan[Node] | None = None
        # Steps whose results have memory of their own, and those that may be computed in buffers.
        self._outside: set[Node] = set()
        self._inside: set[Node] = set()

    def place_forward(self, facts: Mapping[Node, ArrayFact]) -> None:
        """Plan the forward part, from the facts about its steps and the variables."""
        self.facts.update(facts)
        self._place(self.steps.forward, 0, {})

    def place_backward(self, facts: Mapping[Node, ArrayFact], into_gradient: Mapping[Node, Node]) -> None:
        """Plan the backward part, from the facts about its steps.

        `into_gradient` are the steps that may write their result where a variable's gradient is asked for.
        """
        self.facts.update(facts)
        self._place(self.steps.backward, len(self.steps.forward), into_gradient)

    def _place(self, steps: Sequence[Node], start: int, into_gradient: Mapping[Node, Node]) -> None:
        facts, plan, size = self.facts, self.plan, partial(_size, self.facts)
        last_reads, own = self._last_reads_of_owners()
        in_place: list[tuple[int, Node, Node]] = []
        for number, node in enumerate(steps, start):
            fact = facts[node]
            if not _can_write_into(node, fact, [facts[value.node] for value in node.inputs]):
                self._outside.add(node)
                continue
            if node in into_gradient and node not in own:
                plan.placements[node] = Placement("gradient", source=into_gradient[node])
                continue
            (self._outside if node in own else self._inside).add(node)
            in_place += [(number, node, source) for source in self._in_place_inputs(node, fact)]
        numbers = {node: number for number, node in enumerate(self.steps.all)}
        owners = [node for node in (*self._outside, *self._inside) if node in last_reads]
        spans = {node: (numbers[node], last_reads[node]) for node in sorted(owners, key=numbers.__getitem__)}
        before = self._memory
        memory = self._memory = MemoryPlan(spans, size, in_place, self._outside, before=before)
        if memory.nbytes > sum(plan.buffers):
            plan.buffers.append(memory.nbytes - sum(plan.buffers))
        for node in steps:
            placement = plan.placements.setdefault(node, self._placement(node, memory))
            if placement.kind == "arena":
                plan.unshared_bytes += size(node)
        for node in steps:
            root = plan.roots[node] = memory.heirs.get(node, node)
            plan.root_end[root] = max(plan.root_end.get(root, 0), self._ends[node])

    def _placement(self, node: Node, memory: MemoryPlan[Node]) -> Placement:
        if node in memory.heirs:
            return Placement("reuse", source=memory.heirs[node])
        offset = memory.offsets.get(node)
        if offset is None:
            return Placement()
        number = 0
        while offset >= self.plan.buffers[number]:  # no result lies across two buffers
            offset -= self.plan.buffers[number]
            number += 1
        fact = self.facts[node]
        assert fact.shape is not None
        return Placement("arena", block=StridedView(offset, fact.shape, fact.dtype, fact.strides, number))

    def _last_reads_of_owners(self) -> tuple[dict[Node, int], set[Node]]:
        """Return the number of the last step that reads the memory of each owner; and owners that others keep.

        These are never computed in buffers, which are used again: callers keep outputs, users' operators what they have
        seen. Nothing else is computed where users' operators have looked, or in what is needed once more: these owners
        are needed for ever.
        """
        steps, facts = self.steps, self.facts
        last_reads: dict[Node, int] = {}
        seen: set[Node] = set()
        for node in steps.all:
            if node in facts:
                for owner in facts[node].shares:
                    last_reads[owner] = max(last_reads.get(owner, 0), self._ends[node])
            if not is_trusted(node):
                seen |= self._owners(value.node for value in node.inputs if value.node in facts)
        seen |= self._owners(steps.saved_for_replay)
        last_reads.update(dict.fromkeys(seen, len(steps.all) + 1))
        return last_reads, seen | self._owners(output.node for output in steps.outputs)

    def _owners(self, nodes: Iterable[Node]) -> set[Node]:
        """Return the owners of the memory of some results."""
        return {owner for node in nodes for owner in self.facts[node].shares}

    def _in_place_inputs(self, node: Node, fact: ArrayFact) -> Iterable[Node]:
        """Return the inputs in whose memory a result may be computed if nobody needs them any more: of its layout."""
        if not node.operator.elementwise or fact.shape == ():  # NumPy returns scalars, which nothing is written to
            return
        for value in node.inputs:
            source = value.node
            source_fact = self.facts[source]
            if (
                source.operator is not None
                and source.operator is not CONSTANT
                and (source_fact.shape, source_fact.dtype, source_fact.strides)
                == (fact.shape, fact.dtype, fact.strides)
                and source_fact.shares == {source}
                and is_trusted(source)
            ):
                yield source


def _last_reads(steps: Steps) -> dict[Node, int]:
    """Return the number of the last step that reads each node's result; for outputs one that never comes."""
    last_reads: dict[Node, int] = {}
    steps_in_order = steps.all
    first = len(steps.forward)
    for number, node in enumerate(steps_in_order):
        for value in node.inputs:
            last_reads[value.node] = number
    for number, node in enumerate(steps_in_order):
        last_reads.setdefault(node, number)
    for value in steps.gradients.values():  # what is there before the backward part is copied at its start
        if last_reads.get(value.node, first) < first:
            last_reads[value.node] = first
    for node in steps.saved_for_replay:
        last_reads[node] = max(last_reads[node], first)
    for output in steps.outputs:
        last_reads[output.node] = len(steps_in_order)
    return last_reads


def _can_write_into(node: Node, fact: ArrayFact, inputs: Sequence[ArrayFact]) -> bool:
    """Tell whether the step can write its result into given memory."""
    if node.operator is CONSTANT or fact.shape is None or fact.dtype is None or node not in fact.shares:
        return False
    operator = node.operator
    if operator.into is None or not _is_dense(fact):
        return False
    if not operator.keeps_dtype:
        return True
    # Of integers and booleans it gives another dtype than the ufunc does.
    return fact.dtype.kind not in "iub" and any(source.dtype is None or source.dtype.kind in "fc" for source in inputs)


def _size(facts: Mapping[Node, ArrayFact], node: Node) -> int:
    """Return how many bytes a result has."""
    fact = facts[node]
    return math.prod(fact.shape or ()) * int(fact.dtype.itemsize)


def _is_dense(fact: ArrayFact) -> bool:
    """Tell whether the array fills its memory, in whatever order of axes."""
    assert fact.shape is not None
    expected_stride = fact.dtype.itemsize
    for stride, length in sorted(zip(fact.strides, fact.shape, strict=True)):
        if length == 0:
            return False
        if length > 1:
            if stride != expected_stride:
                return False
            expected_stride *= length
    return True
