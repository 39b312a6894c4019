"""A nest while it grows: which steps may join it, and what they need."""

from __future__ import annotations

import math

from minpy.backends.native.fusing.cost_model import CACHED_ROW, DEAR_FUNCTIONS, MAX_POINTERS, MAX_STEPS, STRIDED_SPACE
from minpy.backends.native.fusing.loop_nest import Level, Nest, aligned_strides, reduced_axes
from minpy.backends.native.language import Array, Elementwise, Layout, Reduce, contiguous
from minpy.backends.native.language.layout_algebra import stripped

__all__ = ["Growing", "space_of"]

Shape = tuple[int, ...]
Axes = frozenset[int]
Loops = Elementwise | Reduce


def space_of(step: Loops) -> Shape:
    """Return the iteration space of a step alone, without axes of length 1 in front.

    >>> import numpy
    >>> space_of(Elementwise.of("exp", Array((1, 1, 3), numpy.dtype("float32"))).step)
    (3,)
    """
    if isinstance(step, Reduce):
        shape = step.operands[0].shape
        return shape if _is_trivial_search(step) else stripped(shape)
    return stripped(step.output.shape)


def _is_trivial_search(step: Reduce) -> bool:
    """Whether it is an argument search among one element: all axes stay then, so that its own can be an inner one."""
    return step.function.startswith("arg") and not reduced_axes(step, step.operands[0].shape)


class Growing:
    """A nest that steps join, one after the other: `shape` is its iteration space.

    `required` are the inner axes, once a step inside reads a reduction along them; None until then. `reads` are the
    layouts that are read, each with the array in whose memory it lies.
    """

    def __init__(self, shape: Shape, required: Axes | None = None) -> None:
        self.shape = shape
        self.size = math.prod(shape)
        self.required = required
        self.steps: list[Loops] = []
        self.phases: dict[Array, int] = {}
        self.reads: dict[tuple[Array, Layout], None] = {}
        self._reductions: dict[Array, Axes] = {}
        self._rows: set[Array] = set()
        self._costly: set[Array] = set()
        # Bytes read from arrays that are as large as the space, at each of its points.
        self._width = 0

    def __contains__(self, array: Array) -> bool:
        return array in self.phases

    def join(self, step: Loops) -> bool:
        """Add a step after all others, if it can run here. What it reads is in this nest, or in memory."""
        fitted = self._fitted(step) if len(self.steps) < MAX_STEPS else None
        if fitted is None:
            return False
        self.required, phase, is_row = fitted
        output = step.output
        self.steps.append(step)
        self.phases[output] = phase
        if is_row:
            self._rows.add(output)
        if isinstance(step, Reduce):
            self._reductions[output] = self._axes(step)
        elif step.function in DEAR_FUNCTIONS or any(operand.root in self._costly for operand in step.operands):
            self._costly.add(output)
        for operand in step.operands:
            if operand.root in self.phases or operand.is_number:
                continue
            key = (operand.root, operand.layout)
            if key not in self.reads:
                self.reads[key] = None
                if operand.size == self.size:
                    self._width += operand.dtype.itemsize
        return True

    @staticmethod
    def joined(first: Growing, second: Growing) -> Growing | None:
        """Return a nest with the steps of one nest, and then of another; None if they cannot be one."""
        if len(first.steps) + len(second.steps) > MAX_STEPS:
            return None
        larger, smaller = (first, second) if first.size >= second.size else (second, first)
        # Results of the smaller one can be values of the larger one's rows, if it has rows.
        required = larger.required if larger.required is not None else smaller.required
        both = Growing(larger.shape, larger.inner or None if larger.size > smaller.size else required)
        return both if all(map(both.join, (*first.steps, *second.steps))) else None

    def nest(self) -> Nest:
        """Return the nest, with nothing stored."""
        inner = self.inner
        row = self._row_shape(inner)
        levels = {}
        for step in self.steps:
            output = step.output
            axes = self._reductions.get(output)
            if axes is not None:
                is_row = axes == inner and output not in self._rows
                levels[output] = Level.ROW if is_row else Level.COLUMN
            else:
                levels[output] = Level.ROW if output in self._rows else Level.FULL
        assert all(stripped(array.shape) == row or array in self._reductions for array in self._rows)
        return Nest(self.shape, inner, list(self.steps), levels, dict(self.phases))

    @property
    def inner(self) -> Axes:
        """The inner axes, as far as they are known: those required, or those of the shortest reduction of rows."""
        if self.required is not None:
            return self.required
        last = self._last_axis
        sets = {axes for axes in self._reductions.values() if axes}
        # Argument searches need their axes to be inner ones, and have them in `required`.
        candidates = [inner for inner in sets if last in inner and all(_agree(inner, axes) for axes in sets)]
        lengths = self.shape
        return min(
            candidates, key=lambda axes: (math.prod(lengths[axis] for axis in axes), sorted(axes)), default=frozenset()
        )

    def _axes(self, step: Reduce) -> Axes:
        return frozenset(step.axes) if _is_trivial_search(step) else reduced_axes(step, self.shape)

    @property
    def _last_axis(self) -> int:
        return max((axis for axis, length in enumerate(self.shape) if length != 1), default=0)

    def _row_shape(self, inner: Axes) -> Shape:
        return stripped(tuple(1 if axis in inner else length for axis, length in enumerate(self.shape)))

    def _fitted(self, step: Loops) -> tuple[Axes | None, int, bool] | None:
        """Return the inner axes that the step calls for, its phase, and whether it runs once an outer point."""
        domain = stripped(space_of(step))
        required = self.required
        if domain == stripped(self.shape):
            is_row = False
        else:
            is_row, required = True, self._rows_of(domain, step)
            if required is None:
                return None
        for operand in step.operands:
            axes = self._reductions.get(operand.root)
            if axes is None:
                continue
            if required is None:
                required = axes
            elif required != axes:
                return None
            if operand.root in self._rows:
                return None
        if isinstance(step, Reduce):
            axes = self._axes(step)
            if step.function.startswith("arg"):
                begins = not self.steps and self.shape == space_of(step)
                if is_row or (required is not None and required != axes) or (_is_trivial_search(step) and not begins):
                    return None
                required = axes
            elif required is not None and not _agree(required, axes):
                return None
        if required != self.required and not self._may_be_inner(required):
            return None
        phase = self._phase(step)
        if phase is None or not self._within_pointers(step):
            return None
        if phase > 0 and not is_row and not self._worth_another_run(step, phase, required or frozenset()):
            return None
        return required, phase, is_row

    def _rows_of(self, domain: Shape, step: Loops) -> Axes | None:
        """Return the inner axes for which a step is one of rows: those that are, or of what it reads."""
        candidates = [self.inner]
        if self.required is None:
            read = (self._reductions.get(operand.root) for operand in step.operands)
            candidates.extend(axes for axes in read if axes is not None)
        return next((axes for axes in candidates if domain == self._row_shape(axes)), None)

    def _may_be_inner(self, required: Axes | None) -> bool:
        """Tell whether some axes may be the inner ones, for the reductions so far, and for the cache."""
        if required is None:
            return True
        if (not required and self.steps) or not all(_agree(required, axes) for axes in self._reductions.values()):
            return False
        return self._last_axis in required or self.size * self._width <= STRIDED_SPACE

    def _phase(self, step: Loops) -> int | None:
        """Return the run of the inner loops for a step; None, if what it reads does not lie at its point."""
        phase = 0
        for operand in step.operands:
            root = operand.root
            if root not in self.phases:
                continue
            if operand is not root:
                root_strides = aligned_strides(root.shape, contiguous(root.shape), self.shape)
                if operand.layout.offset or not self._lies_at(operand, root_strides):
                    return None
            after = root in self._reductions and root not in self._rows
            phase = max(phase, self.phases[root] + after)
        return phase

    def _lies_at(self, view: Array, root_strides: tuple[int, ...]) -> bool:
        try:
            return aligned_strides(view.shape, view.layout.strides, self.shape) == root_strides
        except ValueError:
            return False

    def _within_pointers(self, step: Loops) -> bool:
        if len(self.reads) + len(step.operands) <= MAX_POINTERS:
            return True
        more = {
            (operand.root, operand.layout)
            for operand in step.operands
            if operand.root not in self.phases and not operand.is_number
        }
        return len(more - self.reads.keys()) + len(self.reads) <= MAX_POINTERS

    def _worth_another_run(self, step: Loops, phase: int, inner: Axes) -> bool:
        """Tell whether another run over the rows pays: not over long rows whose values are expensive."""
        row = math.prod(self.shape[axis] for axis in inner)
        if row * self._width <= CACHED_ROW:
            return True
        if row == self.size:
            # One row is all: two nests can each be done by two threads.
            return False
        return not any(operand.root in self._costly and self.phases[operand.root] < phase for operand in step.operands)


def _agree(inner: Axes, axes: Axes) -> bool:
    """Tell whether a nest with some inner axes can hold a reduction along others."""
    return inner <= axes or not inner & axes
