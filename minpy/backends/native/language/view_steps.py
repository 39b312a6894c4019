"""Steps that compute nothing: `View`, memory read through a layout, and `Assembly`, memory written through several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy

from minpy.backends.native.language.array_and_step import Array, Layout, Origin, Step

__all__ = ["Assembly", "Piece", "View", "broadcast", "viewed"]


@dataclass(eq=False, slots=True)
class View(Step):
    """The memory of another array, which is no view, read through a layout: any shape, offset and strides."""

    kind: ClassVar[str] = "view"

    shape: tuple[int, ...]
    layout: Layout

    def __post_init__(self) -> None:
        self._set_outputs((self.shape, self.operands[0].dtype))

    @classmethod
    def of(cls, root: Array, shape: Sequence[int], layout: Layout, *, origin: Origin = Origin()) -> Array:  # noqa: B008
        """Return a view of an array that is no view; the array itself, if that is what would be seen.

        See `viewed` for views of any array, made by a function of NumPy's.
        """
        assert not root.is_view
        if tuple(shape) == root.shape and layout == root.layout:
            return root
        return cls((root,), tuple(shape), layout, origin=origin).output

    @property
    def view_layout(self) -> Layout:
        """The layout."""
        return self.layout

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return the view."""
        view = self.layout.window(numpy.ascontiguousarray(operands[0]).reshape(-1), self.shape)
        view.flags.writeable = False
        return (view,)

    def label(self) -> str:
        """Return shape and layout."""
        return f"view {self.shape} at {self.layout.offset} by {self.layout.strides}"


def viewed(array: Array, function: Callable[[numpy.ndarray], numpy.ndarray], origin: Origin = Origin()) -> Array:  # noqa: B008
    """Return the view of an array that a function of NumPy's gives: `transpose`, a slice, a reshape that moves nothing.

    Raises
    ------
    ValueError
        If what the function gives is no view: the elements have to be copied first, in their order.

    Examples
    --------
    >>> x = Array((2, 3), numpy.dtype("float32"))
    >>> viewed(viewed(x, numpy.transpose), lambda a: a[1:]).layout
    Layout(offset=1, strides=(1, 3))
    """
    root, layout = array.root, array.layout
    # Memory of the root that takes no pages: only addresses are looked at.
    memory = numpy.empty(max(root.size, 1), numpy.int8)
    view = function(layout.window(memory, array.shape))
    if view.size and not numpy.may_share_memory(view, memory):
        raise ValueError(f"{getattr(function, '__name__', 'the function')} of {array.shape} is no view")
    offset = view.__array_interface__["data"][0] - memory.__array_interface__["data"][0] if view.size else 0
    return View.of(root, view.shape, Layout(offset, view.strides), origin=origin)


def broadcast(array: Array, shape: Sequence[int]) -> Array:
    """Return a view of an array with another shape, by NumPy's rules for broadcasting.

    >>> broadcast(Array((3, 1), numpy.dtype("float32")), (2, 3, 4)).layout
    Layout(offset=0, strides=(0, 1, 0))
    """
    return viewed(array, lambda values: numpy.broadcast_to(values, tuple(shape)))


class Piece(NamedTuple):
    """Where an operand of an `Assembly` is written to: as the elements of its shape lie in the memory of the output."""

    layout: Layout


@dataclass(eq=False, slots=True)
class Assembly(Step):
    """An array put together of pieces, written one after the other: a concatenation, a padded or a scattered slice.

    Operands are the pieces, in the order of `pieces`. Where none is written, it is `fill`; None says that all is
    written. A first piece that covers everything makes the others stores into a copy.
    """

    kind: ClassVar[str] = "view"

    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]
    fill: Any = None

    def __post_init__(self) -> None:
        self._set_outputs((self.shape, self.operands[0].dtype))

    @classmethod
    def of(
        cls,
        operands: Sequence[Array],
        shape: Sequence[int],
        layouts: Sequence[Layout],
        fill: Any = None,
        *,
        origin: Origin = Origin(),  # noqa: B008
    ) -> Array:
        """Return the array that a new step gives.

        >>> x = Array((2, 3), numpy.dtype("float32"))
        >>> Assembly.of([x], (4, 5), [Layout(6, (5, 1))], fill=0).shape  # padded by one on every side
        (4, 5)
        """
        return cls(tuple(operands), tuple(shape), tuple(map(Piece, layouts)), fill, origin=origin).output

    def evaluate(self, *operands: numpy.ndarray) -> tuple[Any, ...]:
        """Return a new array with the pieces in it."""
        result = numpy.empty(self.shape, self.output.dtype)
        if self.fill is not None:
            result.fill(self.fill)
        flat = result.reshape(-1)
        for operand, piece in zip(operands, self.pieces, strict=True):
            piece.layout.window(flat, operand.shape)[...] = operand
        return (result,)

    def label(self) -> str:
        """Return how many pieces there are, and what is between."""
        between = "" if self.fill is None else f", else {self.fill}"
        return f"assembly of {len(self.pieces)}{between}"
