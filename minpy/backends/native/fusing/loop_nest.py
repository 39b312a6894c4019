"""`Nest`: steps that run in one loop nest; and `Schedule`: what a part of a routine becomes, in the order it runs.

A nest has one iteration space. Its *inner* axes are those along which it reduces for each point of the others, which
are the *outer* axes. For each outer point the inner loops run once a *phase*: the row's largest element first, say,
then the sum of the exponentials, then the quotients. A step is on one of three levels.

======== ==============================================================================================================
level    what it gives
======== ==============================================================================================================
`FULL`   a value at every point of the space
`ROW`    a value at every outer point: reductions along all inner axes, and elementwise steps of such values
`COLUMN` reductions along some outer axes: summed up in memory while the nest runs, read only by later items
======== ==============================================================================================================

`COLUMN` reductions are along some outer axes, and along no inner axis (they take in every point) or along all of them
(the sum of a row is taken first, in registers; it is then added to memory). Their operand may be a `ROW` value, too:
then they take in something once an outer point. They never are 'argmax' or 'argmin'. Where nothing is read inside that
a reduction gives, it is a matter of speed alone which axes are inner: those of the shortest reduction along the last
axis, if there is one.

Inner axes need not be the last ones: a batch norm of (N, C, H, W) has the inner axes 0, 2, 3. They need not have the
last axis among them, either: a small batch norm of (N, C) has the inner axis 0.

The axes of a `Reduce` are those of its operand, which can have fewer axes than the space, or more: axes of length 1 in
front. `reduced_axes` gives those of the space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from minpy.backends.native.language import Array, Assembly, Call, Elementwise, Layout, Product, Reduce

__all__ = ["Item", "Level", "Nest", "Place", "Schedule", "aligned_strides", "reduced_axes"]


class Level(Enum):
    """What a step of a nest gives: see the module."""

    FULL = "full"
    ROW = "row"
    COLUMN = "column"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array lies that is computed in the memory of another: a piece of an assembly, or in place."""

    root: Array
    layout: Layout


@dataclass(eq=False, slots=True)
class Nest:
    """One loop nest.

    Attributes
    ----------
    shape : tuple of int
        The iteration space. What its steps give, and what they read, broadcasts to it (trailing axes together).
    inner : frozenset of int
        The inner axes; empty, if nothing is reduced for each outer point: then there is one phase.
    steps : list of Elementwise or Reduce
        Each after those that it reads.
    levels : dict of Array to Level
        Of what its steps give.
    phases : dict of Array to int
        In which run of the inner loops it is computed. What a `ROW` reduction of phase p gives can be read from
        phase p + 1 on; a `FULL` value that is read in a later phase is computed again, or kept: the printer's choice.
        `ROW` elementwise steps of phase p, and `COLUMN` reductions of `ROW` values, run once before the inner loops
        of phase p, and can be read there; the last of them may come after all inner loops.
    stored : dict of Array to Place or None
        Which of them are to be in memory when it is done, and where: None, as an array of its own. `COLUMN` always are.
        A place may be in memory that the nest reads, too, at the same point and no later: one pointer for both, then.
    """

    shape: tuple[int, ...]
    inner: frozenset[int]
    steps: list[Elementwise | Reduce]
    levels: dict[Array, Level]
    phases: dict[Array, int]
    stored: dict[Array, Place | None] = field(default_factory=dict)

    @property
    def outer(self) -> tuple[int, ...]:
        """The axes that are not inner."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.inner)

    def reads(self) -> dict[Array, None]:
        """Return the arrays from outside that its steps read, views as they are; numbers are not among them."""
        return dict.fromkeys(
            operand
            for step in self.steps
            for operand in step.operands
            if operand.root not in self.levels and not operand.is_number
        )


def aligned_strides(shape: Sequence[int], strides: Sequence[int], space: Sequence[int]) -> tuple[int, ...]:
    """Return the strides over an iteration space of an array that broadcasts to it.

    Raises
    ------
    ValueError
        If it does not.

    Examples
    --------
    >>> aligned_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    lead = len(space) - len(shape)
    if lead < 0 and all(length == 1 for length in shape[:-lead]):
        shape, strides, lead = shape[-lead:], strides[-lead:], 0
    fits = lead >= 0 and all(length in (1, whole) for length, whole in zip(shape, space[lead:], strict=True))
    if not fits:
        raise ValueError(f"{tuple(shape)} does not broadcast to {tuple(space)}")
    moved = [0 if length == 1 else stride for length, stride in zip(shape, strides, strict=True)]
    return (*[0] * lead, *moved)


def reduced_axes(step: Reduce, space: Sequence[int]) -> frozenset[int]:
    """Return the axes of an iteration space along which a step reduces that runs at each of its points.

    Axes of length 1 are not among them.

    Examples
    --------
    >>> import numpy
    >>> x = Array((1, 2, 3), numpy.dtype("float32"))
    >>> sorted(reduced_axes(Reduce((x,), "sum", (0, 2)), (2, 3)))
    [1]
    """
    (operand,) = step.operands
    lead = len(space) - len(operand.shape)
    return frozenset(axis + lead for axis in step.axes if operand.shape[axis] != 1)


Item = Nest | Product | Call | Assembly


@dataclass(eq=False, slots=True)
class Schedule:
    """What a part becomes.

    Attributes
    ----------
    items : list
        Nests, products and calls in the order in which they run. An assembly is here only where its pieces could not be
        computed in its memory: then it copies them.
    places : mapping of Array to Place
        Arrays that lie in the memory of others, such as the pieces of assemblies, and what is computed in place.
    """

    items: list[Item]
    places: Mapping[Array, Place]
