"""The arrays of the parameters that a captured block reads: looked at again only where something has changed."""

from __future__ import annotations

from typing import Any

from minpy.capture.reads import ArrayKind, kind_of
from minpy.gluon.change_counter import CHANGES
from minpy.graph.ir import Node, variable

__all__ = ["ParameterArrays", "ParameterVariables"]


class ParameterArrays:
    """What a capture reads of parameters, and of the blocks that it goes through.

    It is valid as long as `CHANGES` has counted nothing; else everything is compared.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []  # the variables of the graph, one a parameter and context
        self.arrays: tuple[Any, ...] = ()  # theirs
        self.clock = CHANGES
        self.count = CHANGES.count  # as of when they were compared last
        self._meanings = CHANGES.meanings
        self._rows: list[tuple[Any, Any, ArrayKind]] = []  # parameter, context and kind of each array
        self._guards: list[Any] = []
        # Blocks that define `hybrid_forward` and name something of which no changes are noticed, with their guards.
        self.frozen: list[tuple[Any, Any]] = []
        self._positions: dict[int, int] = {}  # in `arrays`, by id
        # Each block with its class, the blocks inside, and whether it must not have hooks.
        self._blocks: dict[int, tuple[Any, Any, tuple[int, ...], bool]] = {}

    @property
    def kinds(self) -> list[ArrayKind]:
        """What the arrays are."""
        return [kind for _, _, kind in self._rows]

    @property
    def names(self) -> list[str]:
        """What the parameters are called."""
        return [parameter.name for parameter, _, _ in self._rows]

    def variable(self, parameter: Any, context: Any) -> tuple[Node, Any]:
        """Return (the variable of a parameter, its array) on a context."""
        array = parameter._check_and_get(parameter._data, context)
        position = self._positions.get(id(array))
        if position is None:
            position = self._positions[id(array)] = len(self.nodes)
            self.nodes.append(variable(parameter.name).node)
            self.arrays += (array,)
            self._rows.append((parameter, None if len(parameter._data) == 1 else array.context, kind_of(array)))
        return self.nodes[position], self.arrays[position]

    def add_block(self, block: Any, has_no_hooks: bool = True) -> None:
        """Note a block: that it has the same class and the same blocks inside, and no hooks."""
        self._blocks.setdefault(id(block), (block, type(block), _children(block), has_no_hooks))

    def add_guards(self, guards: Any) -> None:
        """Note attributes of a block and of those inside, of which changes are counted."""
        self._guards.append(guards)

    def failure(self) -> str | None:
        """Return in words what has changed; None if nothing has."""
        if self._meanings != CHANGES.meanings:
            return "operators compute otherwise than before (mixed precision)"
        for block, cls, children, has_no_hooks in self._blocks.values():
            if type(block) is not cls:
                return f"the class of {block.name} was {cls.__name__}, is {type(block).__name__}"
            if _children(block) != children:
                return f"the blocks inside {block.name} are others than before"
            if has_no_hooks and (block._forward_hooks or block._forward_pre_hooks):
                return f"{block.name} has hooks now"
        for guards in self._guards:
            reason: str | None = guards.failure()
            if reason is not None:
                return reason
        for (parameter, context, kind), array in zip(self._rows, self._current_arrays(), strict=True):
            if array is None:
                return f"parameter {parameter.name} is not there any more on {context}"
            current_kind = kind_of(array)
            if current_kind != kind:
                return f"parameter {parameter.name}: was {_text(kind)}, is {_text(current_kind)}"
        return None

    def holds(self) -> bool:
        """Tell whether everything is as it was, and look up the arrays anew."""
        count = CHANGES.count
        if self.failure() is not None:
            return False
        self.arrays = tuple(self._current_arrays())
        self.count = count
        return True

    def _current_arrays(self) -> list[Any]:
        return [
            next((array for array in parameter._data or () if context is None or array.context == context), None)
            for parameter, context, _ in self._rows
        ]


class ParameterVariables:
    """The variables of the parameters that a graph of symbols reads, whatever arrays they have, or are to have."""

    frozen: tuple[Any, ...] = ()

    def variable(self, parameter: Any, context: Any) -> tuple[Node, None]:
        """Return (the variable of a parameter, None)."""
        return parameter.var().values[0].node, None

    def add_block(self, block: Any, has_no_hooks: bool = True) -> None:
        """Note nothing: the graph is of what the block is now."""


def _children(block: Any) -> tuple[int, ...]:
    return tuple(map(id, block._children.values()))


def _text(kind: ArrayKind) -> str:
    return f"{kind.cls.__name__} {kind.dtype} {kind.shape}"
