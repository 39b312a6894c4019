"""Hybridized cells that remember more than their states, which become further inputs and outputs of the graph."""

from __future__ import annotations

from typing import Any

from minpy.gluon.block import HybridBlock
from minpy.symbol import Symbol

__all__ = ["Stepper", "recalled", "remembering_cells"]


def remembering_cells(cell: Any) -> list[Any]:
    """Return the cells that remember something between steps: of a cell and those inside it."""
    cells = [cell] if getattr(cell, "_memory", ()) else []
    return cells + [inner for child in cell._children.values() for inner in remembering_cells(child)]


def recalled(value: Any, like: Any) -> Any:
    """Return what a cell remembers, unless it is left over from a graph (or, in a graph, from arrays)."""
    return value if isinstance(value, Symbol) == isinstance(like, Symbol) else None


class Stepper(HybridBlock):
    """A hybridized cell, with what the cells inside remember as further inputs and outputs."""

    def __init__(self, cell: Any, cells: list[Any]) -> None:
        super().__init__(prefix="")
        self._active = True
        self.register_child(cell, "cell")
        # By pairs, not in lists: blocks in lists look like children that were forgotten.
        self._places = {f"{index}.{name}": (index, name) for index, inner in enumerate(cells) for name in inner._memory}

    def _cells(self) -> list[Any]:
        return remembering_cells(self._children["cell"])

    def step(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """Do one step; the cells remember what they did."""
        memory = self._read(inputs)
        output, states, memory = self(inputs, states, memory)
        self._write(memory)
        return output, states

    def optimize(self, inputs: Any, states: Any) -> Any:
        """Let the graph of a step go through the backends; return it."""
        return self._optimize((inputs, states, self._read(inputs)))

    def _read(self, like: Any) -> dict[str, Any]:
        cells = self._cells()
        memory = {key: recalled(getattr(cells[index], name), like) for key, (index, name) in self._places.items()}
        return {key: value for key, value in memory.items() if value is not None}

    def _write(self, memory: dict[str, Any]) -> None:
        cells = self._cells()
        for key, (index, name) in self._places.items():
            vars(cells[index])[name] = memory.get(key)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, memory: dict[str, Any]) -> Any:
        """Return the output, the states, and what is remembered."""
        self._write(memory)
        output, states = self._children["cell"].forward(inputs, states)
        return output, states, self._read(output)
