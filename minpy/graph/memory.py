"""Where the values of a program live: which arrays share memory, how long they are needed, and what may be reused.

The facts come from running the program once: for given shapes an operator's result always has the same layout, and is
a view of the same inputs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from minpy.graph.gradient import PullBack
from minpy.graph.ir import CONSTANT, Node, Value

__all__ = ["Fact", "Placement", "observe", "place"]


@dataclass(frozen=True, slots=True)
class Fact:
    """What one run told about a node's answer: its shape and layout, and whose memory it shares.

    `shape` is None if the answer is a tuple, of `count` arrays. `shares` are the nodes, itself included if it has
    memory of its own.
    """

    shape: tuple[int, ...] | None
    dtype: Any
    strides: tuple[int, ...]
    shares: frozenset[Node]
    nbytes: int
    count: int
    c_contiguous: bool


@dataclass(slots=True)
class Placement:
    """Where a step puts its answer.

    'fresh' memory, a buffer ('arena'), the memory of an earlier answer that nobody needs any more ('reuse'), or the
    array that a gradient is asked into ('gradient').
    """

    kind: str = "fresh"
    buffer: numpy.ndarray | None = None
    source: Node | None = None


@dataclass(slots=True)
class Plan:
    """A placement for each step, and what it amounts to."""

    placements: dict[Node, Placement] = field(default_factory=dict)
    last_use: dict[Node, int] = field(default_factory=dict)
    # The step in whose memory each step's answer lies, and when all that lies there has been read.
    roots: dict[Node, Node] = field(default_factory=dict)
    root_end: dict[Node, int] = field(default_factory=dict)
    arena_bytes: int = 0
    unshared_bytes: int = 0


def observe(
    node: Node, answer: Any, inputs: Sequence[Node], facts: Mapping[Node, Fact], env: Mapping[Node, Any]
) -> Fact:
    """Return the facts about an answer that has just been computed, beside its inputs'."""
    arrays = [array for array in (answer if isinstance(answer, tuple) else (answer,)) if _is_array(array)]
    shares: set[Node] = set()
    foreign = not _trusted(node)
    for source in dict.fromkeys(inputs):
        if source in facts and (foreign or any(_may_share(array, env[source]) for array in arrays)):
            shares |= facts[source].shares
    own = sum(array.nbytes for array in arrays) if not shares or foreign else 0
    if not shares or foreign:
        shares.add(node)
    single = answer if _is_array(answer) else None
    return Fact(
        None if isinstance(answer, tuple) else numpy.shape(answer),
        getattr(answer, "dtype", None),
        single.strides if single is not None else (),
        frozenset(shares),
        own,
        len(answer) if isinstance(answer, tuple) else 1,
        single is not None and single.flags.c_contiguous,
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray)


def _may_share(array: numpy.ndarray, other: Any) -> bool:
    others = other if isinstance(other, tuple) else (other,)
    return any(_is_array(one) and numpy.may_share_memory(array, one) for one in others)


def last_uses(steps: Sequence[Node], ends: Mapping[Value, int]) -> dict[Value, int]:
    """Return the number of the step that reads each value last.

    `ends` says how long some values are needed beyond that. Of nodes with several outputs, each is a value of its own;
    where a step reads all of them together, that is the last use of `Value(node, ANSWER)`.
    """
    found: dict[Value, int] = {}
    for number, node in enumerate(steps):
        for value in node.inputs:
            found[value] = number
    for value, number in ends.items():
        found[value] = max(found.get(value, 0), number)
    return found


def place(
    steps: Sequence[Node],
    heads: Sequence[Value],
    ends: Mapping[Node, int],
    facts: Mapping[Node, Fact],
    into_gradient: Mapping[Node, Node],
) -> Plan:
    """Return the plan for the steps of a program.

    Parameters
    ----------
    steps : sequence of Node
        In the order in which they run.
    heads : sequence of Value
        What callers see: it stays until the next run.
    ends : mapping of Node to int
        How long the answers of some steps are needed in any case.
    facts : mapping of Node to Fact
        Of the steps and the variables.
    into_gradient : mapping of Node to Node
        Steps that may write their answer where a variable's gradient is asked for.
    """
    return _Placer(steps, heads, ends, facts, into_gradient).run()


class _Placer:
    """Goes through the steps once, and decides about each where its answer is computed.

    Attributes
    ----------
    needed : dict
        Owner of memory to the number of the last step that reads any answer in it.
    seen : set of Node
        Owners whose memory users' operators have seen, and may keep: it is not used again within a run.
    ending : dict
        Number of a step to the owners whose block is free after it.
    blocks : dict
        Owner to its block of bytes in the arena.
    """

    def __init__(
        self,
        steps: Sequence[Node],
        heads: Sequence[Value],
        ends: Mapping[Node, int],
        facts: Mapping[Node, Fact],
        into_gradient: Mapping[Node, Node],
    ) -> None:
        self.steps = steps
        self.facts = dict(facts)
        self.into_gradient = into_gradient
        self.plan = Plan()
        self.plan.last_use = _last_reads(steps, heads, ends)
        self.needed: dict[Node, int] = {}
        self.seen: set[Node] = set()
        for node in steps:
            for owner in facts[node].shares:
                self.needed[owner] = max(self.needed.get(owner, 0), self.plan.last_use[node])
            if node.operator is not None and not _trusted(node):
                self.seen.update(owner for value in node.inputs for owner in facts[value.node].shares)
        self.free = _Free()
        self.ending: dict[int, dict[Node, None]] = {}
        self.blocks: dict[Node, numpy.ndarray] = {}

    def run(self) -> Plan:
        """Return the plan."""
        plan = self.plan
        for number, node in enumerate(self.steps):
            for owner in self.ending.pop(number - 1, ()):
                self.free.give(self.blocks[owner])
            plan.placements[node] = self._placement(number, node)
        for node in self.steps:
            placement = plan.placements[node]
            reused = placement.source if placement.kind == "reuse" else None
            root = plan.roots[node] = node if reused is None else plan.roots[reused]
            plan.root_end[root] = max(plan.root_end.get(root, 0), plan.last_use[node])
        return plan

    def _placement(self, number: int, node: Node) -> Placement:
        fact = self.facts[node]
        if not _writes_into(node, fact, [self.facts[value.node] for value in node.inputs]):
            return Placement()
        if node in self.into_gradient:
            return Placement("gradient", source=self.into_gradient[node])
        source = self._dying(node, number, fact)
        if source is not None:
            self._hand_over(source, node, fact)
            return Placement("reuse", source=source)
        return Placement("arena", buffer=self._buffer(node, fact))

    def _hand_over(self, source: Node, node: Node, fact: Fact) -> None:
        """Let `node` compute in the memory of `source`, which is then needed as long as the answer of `node`."""
        (owner,) = self.facts[source].shares
        self.ending.get(self.needed[owner], {}).pop(owner, None)
        self.needed[owner] = self.needed[node]
        if node in self.seen:
            self.seen.add(owner)
        if owner in self.blocks:
            self._end(owner)
        self.facts[node] = replace(fact, shares=frozenset([owner]), nbytes=0)

    def _buffer(self, node: Node, fact: Fact) -> numpy.ndarray:
        """Return memory of the arena for an answer."""
        assert fact.shape is not None
        size = math.prod(fact.shape) * fact.dtype.itemsize
        self.plan.unshared_bytes += size
        block = self.free.take(size)
        if block is None:
            block = numpy.empty(max(size, 1), numpy.uint8)
            self.plan.arena_bytes += size
        self.blocks[node] = block
        self._end(node)
        return numpy.ndarray(fact.shape, fact.dtype, block, strides=fact.strides)

    def _end(self, owner: Node) -> None:
        """Note when the block of an owner is free, if it ever is."""
        if self.needed[owner] < len(self.steps) and owner not in self.seen:
            self.ending.setdefault(self.needed[owner], {})[owner] = None

    def _dying(self, node: Node, number: int, fact: Fact) -> Node | None:
        """Return an input in whose memory the answer may be computed: of the same layout, and needed by nobody else."""
        if not node.operator.elementwise:
            return None
        for value in node.inputs:
            source = value.node
            known = self.facts[source]
            if (
                source.operator is not None
                and source.operator is not CONSTANT
                and (known.shape, known.dtype, known.strides) == (fact.shape, fact.dtype, fact.strides)
                and len(known.shares) == 1
                and self._may_be_overwritten(source, number)
            ):
                return source
        return None

    def _may_be_overwritten(self, source: Node, number: int) -> bool:
        """Tell whether nobody reads the memory of `source` after the step of this number, and it is the program's."""
        (owner,) = self.facts[source].shares
        placed = self.plan.placements.get(owner)
        return (
            self.needed.get(owner) == number
            and owner not in self.seen
            and owner.operator is not None
            and placed is not None
            and placed.kind in ("fresh", "arena")
            and _trusted(owner)
            and (owner is source or self.plan.placements[source].kind == "reuse")
        )


def _last_reads(steps: Sequence[Node], heads: Sequence[Value], ends: Mapping[Node, int]) -> dict[Node, int]:
    """Return the number of the last step that reads each node's answer; for heads one that never comes."""
    found: dict[Node, int] = {}
    for number, node in enumerate(steps):
        for value in node.inputs:
            found[value.node] = number
    for number, node in enumerate(steps):
        found.setdefault(node, number)
    for node, number in ends.items():
        found[node] = max(found[node], number)
    for head in heads:
        found[head.node] = len(steps)
    return found


def _trusted(node: Node) -> bool:
    operator = node.operator
    return bool(operator.node.operator.builtin if isinstance(operator, PullBack) else operator.builtin)


def _writes_into(node: Node, fact: Fact, inputs: Sequence[Fact]) -> bool:
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


def _is_dense(fact: Fact) -> bool:
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
    """Blocks of memory that nobody needs, by size."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._blocks: dict[int, list[numpy.ndarray]] = {}

    def give(self, block: numpy.ndarray) -> None:
        """Add a block."""
        if not self._blocks.setdefault(block.size, []):
            insort(self._sizes, block.size)
        self._blocks[block.size].append(block)

    def take(self, size: int) -> numpy.ndarray | None:
        """Return the smallest block that holds `size` bytes and wastes few, which is then no longer free."""
        position = bisect_left(self._sizes, size)
        if position == len(self._sizes) or self._sizes[position] > 2 * size + 4096:
            return None
        blocks = self._blocks[self._sizes[position]]
        block = blocks.pop()
        if not blocks:
            del self._sizes[position]
        return block
