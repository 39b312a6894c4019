"""How long each node of a program took, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from minpy.graph.gradient import VjpNode
from minpy.graph.ir import CONSTANT
from minpy.graph.timing import Timing

if TYPE_CHECKING:
    from minpy.backends.native.reports.profile_kernels import NativeTiming

__all__ = ["Profile", "Row"]


class Row(NamedTuple):
    """One step: the node's name, its operator, 'forward' or 'backward', and the seconds that it took."""

    name: str
    operator: str
    part: str
    seconds: float


class Profile:
    """The medians of several runs; iterates over rows in the order of the steps, and prints as a table.

    Of native code a row is a kernel, a product or a call; its name are the operators that it does, or a part of them.
    """

    def __init__(self, runs: Sequence[Sequence[Timing | NativeTiming]]) -> None:
        self.rows: list[Row] = []
        for steps in zip(*runs, strict=True):
            first = steps[0]
            if not isinstance(first, Timing):
                seconds = median(step.seconds for step in steps)
                self.rows.append(Row(", ".join(first.operators), first.what, first.part, seconds))
                continue
            node, part, _ = first
            if node.operator is CONSTANT:
                continue
            of = node.operator.node if isinstance(node.operator, VjpNode) else node
            name = of.name.removeprefix("gradient of ")
            self.rows.append(Row(name, of.kind, part, median(step.seconds for step in steps)))

    @property
    def seconds(self) -> float:
        """The time of all steps."""
        return sum(row.seconds for row in self.rows)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        total = self.seconds or 1.0
        width = max([4, *(len(row.name) for row in self.rows)])
        kinds = max([8, *(len(row.operator) for row in self.rows)])
        lines = [f"{'node':<{width}}  {'operator':<{kinds}}  {'part':<8}  {'time':>10}  {'share':>6}"]
        for row in self.rows:
            lines.append(
                f"{row.name:<{width}}  {row.operator:<{kinds}}  {row.part:<8}  {1e6 * row.seconds:>7.1f} us  "
                f"{100 * row.seconds / total:>5.1f}%"
            )
        lines.append(f"{'total':<{width}}  {'':<{kinds}}  {'':<8}  {1e6 * self.seconds:>7.1f} us  100.0%")
        return "\n".join(lines)
