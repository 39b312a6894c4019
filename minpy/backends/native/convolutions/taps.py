"""Which rows and columns of taps find data: the arithmetic of `problem.Axis` on values known only when code runs."""

from __future__ import annotations

from minpy.backends.native.convolutions.problem import Axis
from minpy.backends.native.convolutions.vector_writer import Emitter, Integer

__all__ = ["bounds", "positions_of", "source_row"]


def source_row(code: Emitter, axes: tuple[Axis, ...], row: Integer) -> tuple[Integer, Integer, Integer]:
    """Return (which axis, t, the source's row of the first tap) of a row of results."""
    phase, t = code.remainder(row, len(axes)), code.quotient(row, len(axes))
    offset = code.choose(phase, [axis.offset for axis in axes])
    return phase, t, code.add(code.multiply(t, axes[0].step), offset)


def bounds(code: Emitter, axes: tuple[Axis, ...], phase: Integer, t: Integer, base: Integer) -> tuple[Integer, Integer]:
    """Return the range of taps whose elements exist; `base` is the source's element of the first tap."""
    taps = code.choose(phase, [axis.taps for axis in axes])
    if all(axis.is_whole for axis in axes):
        return 0, taps
    reaches = {axis.reach for axis in axes if axis.taps > 1} or {1}
    assert len(reaches) == 1, "the remainders of one stride reach equally far"
    (reach,) = reaches
    missing = code.larger(code.subtract(0, base), 0)
    begin = code.quotient(code.add(missing, reach - 1), reach)
    room = code.larger(code.add(code.subtract(axes[0].length, base), reach - 1), 0)
    return begin, code.smaller(code.quotient(room, reach), taps)


def positions_of(code: Emitter, axis: Axis, offset: Integer) -> tuple[Integer, Integer]:
    """Return the range of positions at which a tap finds data: `offset` elements from `t * step` on."""
    if axis.is_whole:
        return 0, axis.count
    missing = code.larger(code.subtract(0, offset), 0)
    first = code.quotient(code.add(missing, axis.step - 1), axis.step)
    room = code.larger(code.add(code.subtract(axis.length, offset), axis.step - 1), 0)
    return first, code.smaller(code.quotient(room, axis.step), axis.count)
