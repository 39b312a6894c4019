"""Where the values of a program live: which arrays share memory, how long they are needed, and what may be reused.

The facts come from running the program once: for given shapes an operator's result always has the same layout, and is
a view of the same inputs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    count: int = 1
    c_contiguous: bool = True


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
    end = len(steps)
    position = {node: number for number, node in enumerate(steps)}
    plan = Plan()
    for node in steps:
        for value in node.inputs:
            plan.last_use[value.node] = position[node]
    for node in steps:
        plan.last_use.setdefault(node, position[node])
    for node, number in ends.items():
        plan.last_use[node] = max(plan.last_use[node], number)
    for head in heads:
        plan.last_use[head.node] = end
    # Memory is needed as long as any of the answers in it.
    needed: dict[Node, int] = {}
    for node in steps:
        for owner in facts[node].shares:
            needed[owner] = max(needed.get(owner, 0), plan.last_use[node])
    seen_by_users = {
        owner
        for node in steps
        if node.operator is not None and not _trusted(node)
        for value in node.inputs
        for owner in facts[value.node].shares
    }
    facts = dict(facts)
    free = _Free()
    holds: dict[Node, numpy.ndarray] = {}  # the block of bytes behind an owner
    ending: dict[int, dict[Node, None]] = {}
    for number, node in enumerate(steps):
        for owner in ending.pop(number - 1, ()):
            free.give(holds[owner])
        placement = plan.placements[node] = Placement()
        fact = facts[node]
        if not _writes_into(node, fact):
            continue
        if node in into_gradient:
            placement.kind, placement.source = "gradient", into_gradient[node]
            continue
        source = _dying(node, number, fact, facts, needed, seen_by_users, plan)
        if source is not None:
            placement.kind, placement.source = "reuse", source
            (owner,) = facts[source].shares
            ending.get(needed[owner], {}).pop(owner, None)
            needed[owner] = needed[node]
            if node in seen_by_users:
                seen_by_users.add(owner)
            if owner in holds and needed[owner] < end and owner not in seen_by_users:
                ending.setdefault(needed[owner], {})[owner] = None
            facts[node] = Fact(fact.shape, fact.dtype, fact.strides, frozenset([owner]), 0)
            continue
        size = math.prod(fact.shape or ()) * fact.dtype.itemsize
        plan.unshared_bytes += size
        block = free.take(size)
        if block is None:
            block = numpy.empty(max(size, 1), numpy.uint8)
            plan.arena_bytes += size
        holds[node] = block
        placement.kind, placement.buffer = "arena", _view(block, fact)
        if needed[node] < end and node not in seen_by_users:
            ending.setdefault(needed[node], {})[node] = None
    for node in steps:
        placement = plan.placements[node]
        root = plan.roots[placement.source] if placement.kind == "reuse" and placement.source is not None else node
        plan.roots[node] = root
        plan.root_end[root] = max(plan.root_end.get(root, 0), plan.last_use[node])
    return plan


def _trusted(node: Node) -> bool:
    operator = node.operator
    return bool(operator.node.operator.builtin if isinstance(operator, PullBack) else operator.builtin)


def _writes_into(node: Node, fact: Fact) -> bool:
    """Tell whether the step can write its answer into given memory."""
    if node.operator is CONSTANT or fact.shape is None or fact.dtype is None or node not in fact.shares:
        return False
    operator = node.operator
    if operator.into is None or not _contiguous(fact):
        return False
    return not (operator.keeps_dtype and fact.dtype.kind in "iu")


def _contiguous(fact: Fact) -> bool:
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


def _dying(
    node: Node,
    number: int,
    fact: Fact,
    facts: Mapping[Node, Fact],
    needed: Mapping[Node, int],
    seen_by_users: set[Node],
    plan: Plan,
) -> Node | None:
    """Return an input in whose memory the answer may be computed: of the same layout, and needed by nobody else."""
    if not node.operator.elementwise:
        return None
    for value in node.inputs:
        source = value.node
        known = facts[source]
        if (
            source.operator is not None
            and source.operator is not CONSTANT
            and (known.shape, known.dtype, known.strides) == (fact.shape, fact.dtype, fact.strides)
            and len(known.shares) == 1
        ):
            (owner,) = known.shares
            placed = plan.placements.get(owner)
            if (
                needed.get(owner) == number
                and owner not in seen_by_users
                and owner.operator is not None
                and placed is not None
                and placed.kind in ("fresh", "arena")
                and _trusted(owner)
                and (owner is source or plan.placements[source].kind == "reuse")
            ):
                return source
    return None


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


def _view(block: numpy.ndarray, fact: Fact) -> numpy.ndarray:
    assert fact.shape is not None
    return numpy.ndarray(fact.shape, fact.dtype, block, strides=fact.strides)
