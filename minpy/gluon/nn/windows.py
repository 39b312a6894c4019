"""What the layers of windows, convolutions and pooling, are given: numbers for each axis, and a layout."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from minpy.core.errors import ArgumentValueError, ShapeError

__all__ = ["CHANNELS_FIRST", "CHANNELS_LAST", "per_axis", "require_groups", "require_layout"]

CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def per_axis(layer: str, argument: str, given: Any, count: int, least: int, too_many: bool = False) -> tuple[int, ...]:
    """Return one number for each of `count` axes; one alone is for all, and with `too_many` the first are taken.

    Raises
    ------
    ArgumentError
        If they are more or fewer, no whole numbers, or below `least`; `layer` is the name of the class.
    """
    numbers = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,) * count
    try:
        found = tuple(map(index, numbers))
    except TypeError:
        found = ()
    if too_many:
        found = found[:count]
    if len(found) != count or min(found) < least:
        several = "one whole number" if count == 1 else f"a whole number or {count} of them"
        raise ArgumentValueError(f"{layer}: {argument} is {given!r}; expected {several}, >= {least}.")
    return found


def require_layout(layer: str, layout: Any, count: int, channels_last: bool) -> None:
    """See that a layout is one that the layer has.

    Raises
    ------
    ArgumentError
        If it is not; `layer` is the name of the class.
    """
    first, last = CHANNELS_FIRST[count], CHANNELS_LAST[count]
    if layout == first or (channels_last and layout == last):
        return
    if layout == last:
        there, back = (0, count + 1, *range(1, count + 1)), (0, *range(2, count + 2), 1)
        raise ArgumentValueError(
            f"{layer}: layout is {layout!r}, which convolutions do not have here; expected {first!r}. Transpose the "
            f"data with x.transpose({there}), and the output with transpose({back}) if it has to be {last!r} again."
        )
    expected = f"{first!r} or {last!r}" if channels_last else repr(first)
    raise ArgumentValueError(f"{layer}: layout is {layout!r}; expected {expected} for data of {count + 2} axes.")


def require_groups(layer: str, groups: int, **lengths: int) -> None:
    """See that groups divide numbers of channels; 0 is one that is not known yet.

    Raises
    ------
    ShapeError
        If they do not; `layer` is the name of the class.
    """
    for argument, length in lengths.items():
        if length % groups:
            raise ShapeError(f"{layer}: groups is {groups}, which does not divide {argument}={length}.")
