"""What a case is: its inputs, the numbers to expect, and one builder for each implementation.

Case files are imported by every peer's interpreter, so they import nothing but NumPy before a builder is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Array: TypeAlias = Any  # of any library
Step: TypeAlias = Callable[[], Any]
Checked: TypeAlias = tuple[Step, Callable[[Any], tuple[Array, ...]]]  # a step and a view of its results
Builder: TypeAlias = Callable[..., Any]  # arrays to a step or a `Checked`


@dataclass(frozen=True)
class Implementation:
    """One row of a case's table: `build(*inputs)` returns the function to time."""

    name: str
    peer: str
    build: Builder
    checked: bool = True  # whether it computes what is expected, and not only a part of the work


@dataclass(frozen=True)
class Group:
    """Cases whose ratios are looked at together, by their geometric mean."""

    title: str
    targets: dict[str, float]  # implementation: the largest mean of minpy / implementation


@dataclass
class Case:
    """One thing to measure.

    Builders get the arrays of `inputs()` and return either `step`, the function to time, or the pair `(step, view)`.
    What the last of `check_calls` calls returned, seen through `view` if there is one, must equal `expected(*inputs)`.
    """

    title: str
    inputs: Callable[[], tuple[Array, ...]] = tuple
    expected: Callable[..., tuple[Array, ...]] | None = None
    targets: dict[str, float] = field(default_factory=dict)  # implementation: the largest minpy / implementation
    limit: float | None = None  # the largest time of minpy itself, in seconds
    per: int = 1  # times are divided by this
    self_timed: bool = False  # the step returns what counts
    unit: str = "s"  # of what counts: seconds, or bytes ("B")
    samples: int = 3  # of a round, where the step is self-timed
    most_rounds: int | None = None  # where what counts is nearly the same in every round, and a round is long
    check_calls: int = 1
    rtol: float = 1e-4
    atol: float = 1e-6
    group: Group | None = None
    implementations: dict[str, Implementation] = field(default_factory=dict)

    def implementation(self, name: str, peer: str | None = None, checked: bool = True) -> Callable[[Builder], Builder]:
        """Add the decorated builder as the row `name`, run in the environment of `peer` (default: `name`)."""

        def add(build: Builder) -> Builder:
            self.implementations[name] = Implementation(name, peer or name, build, checked)
            return build

        return add
