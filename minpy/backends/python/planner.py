"""Where the values of a program live: which arrays share memory, how long they are needed, and what may be reused.

The facts come from running the program once: for given shapes an operator's result always has the same layout, and is
a view of the same inputs. The forward part is planned as soon as it has run, the backward part when that has.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from minpy.backends.protocol import ArrayFact
from minpy.graph.ir import CONSTANT, Node
from minpy.graph.steps import Steps, is_trusted

__all__ = ["Block", "Placement", "Plan", "Planner"]


@dataclass(frozen=True, slots=True)
class Block:
    """Where an answer lies in a frame's buffers: the number of a buffer, and the array that is laid into it."""

    number: int
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]

    def laid(self, buffers: Sequence[numpy.ndarray]) -> numpy.ndarray:
        """Return the array in the buffers of one frame."""
        return numpy.ndarray(self.shape, self.dtype, buffers[self.number], strides=self.strides)


@dataclass(slots=True)
class Placement:
    """Where a step puts its answer.

    'fresh' memory, a block of the frame's buffers ('arena'), the memory of an earlier answer that nobody needs any more
    ('reuse'), or the array that a gradient is asked into ('gradient').
    """

    kind: str = "fresh"
    block: Block | None = None
    source: Node | None = None


@dataclass(slots=True)
class Plan:
    """A placement for each step, and what it amounts to.

    Attributes
    ----------
    buffers : list of int
        The sizes of the buffers that a frame has, in bytes.
    roots, root_end : dict
        The step in whose memory each step's answer lies, and when all that lies there has been read.
    """

    placements: dict[Node, Placement] = field(default_factory=dict)
    roots: dict[Node, Node] = field(default_factory=dict)
    root_end: dict[Node, int] = field(default_factory=dict)
    buffers: list[int] = field(default_factory=list)
    unshared_bytes: int = 0

    @property
    def arena_bytes(self) -> int:
        """How much memory the buffers of a frame take."""
        return sum(self.buffers)

    @property
    def reused(self) -> int:
        """How many answers are computed in the memory of another."""
        return sum(placement.kind == "reuse" for placement in self.placements.values())


class Planner:
    """Goes through the steps once, and decides about each where its answer is computed.

    Attributes
    ----------
    needed : dict
        Owner of memory to the number of the last step that reads any answer in it.
    seen : set of Node
        Owners whose memory users' operators have seen, and may keep, or that are needed once more: nothing else is
        computed there.
    own : set of Node
        Owners whose memory others keep beyond the call: callers the heads, users' operators what they have seen. It is
        never a frame's, which is used again.
    ending : dict
        Number of a step to the owners whose buffer is free after it.
    blocks : dict
        Owner to its block in the arena.
    heirs : dict
        Node that is computed in the memory of another to the owner of that.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.plan = Plan()
        self.facts: dict[Node, ArrayFact] = {}
        self.into_gradient: Mapping[Node, Node] = {}
        self._ends = _last_reads(steps)
        self.needed: dict[Node, int] = {}
        self.seen: set[Node] = set()
        self.own: set[Node] = set()
        self.free = _Free()
        self.ending: dict[int, dict[Node, None]] = {}
        self.blocks: dict[Node, Block] = {}
        self.heirs: dict[Node, Node] = {}

    def place_forward(self, facts: Mapping[Node, ArrayFact]) -> None:
        """Plan the forward part, from the facts about its steps and the variables."""
        self.facts.update(facts)
        self._look()
        self._place(self.steps.forward, 0)

    def place_backward(self, facts: Mapping[Node, ArrayFact], into_gradient: Mapping[Node, Node]) -> None:
        """Plan the backward part, from the facts about its steps.

        `into_gradient` are the steps that may write their answer where a variable's gradient is asked for.
        """
        self.facts.update(facts)
        self.into_gradient = into_gradient
        self._look()
        start = len(self.steps.forward)
        self.ending = {}
        for owner in self.blocks:
            if self.needed[owner] >= start - 1:
                self._end(owner)
        self._place(self.steps.backward, start)

    def _look(self) -> None:
        """Note what the facts tell about the memory of the steps that have some."""
        steps, facts = self.steps, self.facts
        self.needed = {}
        for node in steps.all:
            if node in facts:
                for owner in self._owners([node]):
                    self.needed[owner] = max(self.needed.get(owner, 0), self._ends[node])
                if node.operator is not None and not is_trusted(node):
                    self.seen |= self._owners(value.node for value in node.inputs)
        for node in steps.backward:
            if not is_trusted(node):
                self.seen |= self._owners(value.node for value in node.inputs if value.node in facts)
        self.own |= self.seen | self._owners(head.node for head in steps.heads)
        lasting = self._owners(steps.lasting)
        self.seen |= lasting
        self.own |= lasting

    def _owners(self, nodes: Iterable[Node]) -> set[Node]:
        """Return the owners of the memory of some answers; those that took it over, and those that had it first."""
        found = {owner for node in nodes for owner in self.facts[node].shares}
        return found | {self.heirs[owner] for owner in found if owner in self.heirs}

    def _place(self, steps: Sequence[Node], start: int) -> None:
        plan = self.plan
        for number, node in enumerate(steps, start):
            for owner in self.ending.pop(number - 1, ()):
                self.free.give(self.blocks[owner].number, plan.buffers[self.blocks[owner].number])
            plan.placements[node] = self._placement(number, node)
        for node in plan.placements:
            placement = plan.placements[node]
            reused = placement.source if placement.kind == "reuse" else None
            root = plan.roots[node] = node if reused is None else plan.roots[reused]
            plan.root_end[root] = max(plan.root_end.get(root, 0), self._ends[node])

    def _placement(self, number: int, node: Node) -> Placement:
        fact = self.facts[node]
        if not _writes_into(node, fact, [self.facts[value.node] for value in node.inputs]):
            return Placement()
        if node in self.into_gradient and node not in self.own:
            return Placement("gradient", source=self.into_gradient[node])
        source = self._dying(node, number, fact)
        if source is not None:
            self._hand_over(source, node, fact)
            return Placement("reuse", source=source)
        if node in self.own:
            return Placement()
        return Placement("arena", block=self._block(node, fact))

    def _hand_over(self, source: Node, node: Node, fact: ArrayFact) -> None:
        """Let `node` compute in the memory of `source`, which is then needed as long as the answer of `node`."""
        (owner,) = self.facts[source].shares
        self.ending.get(self.needed[owner], {}).pop(owner, None)
        self.needed[owner] = self.needed[node]
        for kept in (self.seen, self.own):
            if node in kept:
                kept.add(owner)
        if owner in self.blocks:
            self._end(owner)
        self.heirs[node] = owner
        self.facts[node] = replace(fact, shares=frozenset([owner]), nbytes=0)

    def _block(self, node: Node, fact: ArrayFact) -> Block:
        """Return memory of the arena for an answer."""
        assert fact.shape is not None
        size = math.prod(fact.shape) * fact.dtype.itemsize
        self.plan.unshared_bytes += size
        number = self.free.take(size)
        if number is None:
            number = len(self.plan.buffers)
            self.plan.buffers.append(size)
        block = self.blocks[node] = Block(number, fact.shape, fact.dtype, fact.strides)
        self._end(node)
        return block

    def _end(self, owner: Node) -> None:
        """Note when the buffer of an owner is free, if it ever is."""
        if owner not in self.seen:
            self.ending.setdefault(self.needed[owner], {})[owner] = None

    def _dying(self, node: Node, number: int, fact: ArrayFact) -> Node | None:
        """Return an input in whose memory the answer may be computed: of the same layout, and needed by nobody else."""
        if not node.operator.elementwise or fact.shape == ():  # NumPy answers with scalars, which nothing is written to
            return None
        for value in node.inputs:
            source = value.node
            known = self.facts[source]
            if (
                source.operator is not None
                and source.operator is not CONSTANT
                and (known.shape, known.dtype, known.strides) == (fact.shape, fact.dtype, fact.strides)
                and len(known.shares) == 1
                and self._may_be_overwritten(source, number, ("fresh",) if node in self.own else ("fresh", "arena"))
            ):
                return source
        return None

    def _may_be_overwritten(self, source: Node, number: int, kinds: Collection[str]) -> bool:
        """Tell whether nobody reads the memory of `source` after the step of this number, and it is the program's."""
        (owner,) = self.facts[source].shares
        placed = self.plan.placements.get(owner)
        return (
            self.needed.get(owner) == number
            and owner not in self.seen
            and owner.operator is not None
            and placed is not None
            and placed.kind in kinds
            and is_trusted(owner)
            and (owner is source or self.plan.placements[source].kind == "reuse")
        )


def _last_reads(steps: Steps) -> dict[Node, int]:
    """Return the number of the last step that reads each node's answer; for heads one that never comes."""
    found: dict[Node, int] = {}
    every = steps.all
    first = len(steps.forward)
    for number, node in enumerate(every):
        for value in node.inputs:
            found[value.node] = number
    for number, node in enumerate(every):
        found.setdefault(node, number)
    for value in steps.gradients.values():  # what is there before the backward part is copied at its start
        if found.get(value.node, first) < first:
            found[value.node] = first
    for node in steps.lasting:
        found[node] = max(found[node], first)
    for head in steps.heads:
        found[head.node] = len(every)
    return found


def _writes_into(node: Node, fact: ArrayFact, inputs: Sequence[ArrayFact]) -> bool:
    """Tell whether the step can write its answer into given memory."""
    if node.operator is CONSTANT or fact.shape is None or fact.dtype is None or node not in fact.shares:
        return False
    operator = node.operator
    if operator.into is None or not _is_dense(fact):
        return False
    if not operator.keeps_dtype:
        return True
    # Of integers and booleans it answers otherwise than the ufunc does.
    return fact.dtype.kind not in "iub" and any(one.dtype is None or one.dtype.kind in "fc" for one in inputs)


def _is_dense(fact: ArrayFact) -> bool:
    """Tell whether the array fills its memory, in whatever order of axes."""
    assert fact.shape is not None
    expected = fact.dtype.itemsize
    for stride, length in sorted(zip(fact.strides, fact.shape, strict=True)):
        if length == 0:
            return False
        if length > 1:
            if stride != expected:
                return False
            expected *= length
    return True


class _Free:
    """Buffers that nobody needs, by size."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._blocks: dict[int, list[int]] = {}

    def give(self, number: int, size: int) -> None:
        """Add a buffer."""
        if not self._blocks.setdefault(size, []):
            insort(self._sizes, size)
        self._blocks[size].append(number)

    def take(self, size: int) -> int | None:
        """Return the number of the smallest buffer that holds `size` bytes, wasting few: it is no longer free."""
        position = bisect_left(self._sizes, size)
        if position == len(self._sizes) or self._sizes[position] > 2 * size + 4096:
            return None
        blocks = self._blocks[self._sizes[position]]
        block = blocks.pop()
        if not blocks:
            del self._sizes[position]
        return block
