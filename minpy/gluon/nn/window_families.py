"""Families of layers with windows, one class for each number of axes, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, TypeVar

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, ShapeError
from minpy.core.families import constructor_defaults
from minpy.gluon.block.constructing import block_with_defaults

__all__ = ["CHANNELS_FIRST", "CHANNELS_LAST", "of_axes", "per_axis", "require_groups", "require_layout"]

Layer = TypeVar("Layer", bound=type)

CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


_AXES = {1: "width", 2: "height, width", 3: "depth, height, width"}


def of_axes(count: int, repeated: Iterable[str], **texts: str) -> Callable[[Layer], Layer]:
    """Return a decorator for the class of a family whose data have so many axes beside batch and channels.

    The class gets the `__init__` that it inherits with the defaults for so many axes: those of `repeated` once for each
    axis, and a layout. The texts fill its docstring, and so do {axes}, {ones}, {first} and {last}: what the
    axes are called, their lengths if all are 1, and the two layouts. Texts may have places, too.
    """
    texts |= {
        "axes": _AXES[count],
        "ones": ", ".join("1" * count),
        "first": CHANNELS_FIRST[count],
        "last": CHANNELS_LAST[count],
    }

    def complete(layer: Layer) -> Layer:
        layer._axes = count  # type: ignore[attr-defined]
        if "__init__" not in vars(layer):
            inherited = constructor_defaults(layer)
            defaults = {
                name: (value if isinstance(value, tuple) else (value,)) * count
                for name, value in inherited.items()
                if count > 1 and name in repeated
            }
            layouts = dict.fromkeys(inherited.keys() & {"layout", "conv_layout"}, CHANNELS_FIRST[count])
            block_with_defaults(**layouts, **defaults)(layer)
        for _ in range(2):
            described = layer.__doc__ or ""
            fillings = {name: text for name, text in texts.items() if f"{{{name}}}" in described}
            documented(**fillings)(layer)
        return layer

    return complete


def per_axis(layer: str, argument: str, value: Any, count: int, least: int, too_many: bool = False) -> tuple[int, ...]:
    """Return one number for each of `count` axes; one alone is for all, and with `too_many` the first are taken."""
    several = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,) * count
    try:
        numbers = tuple(map(index, several))
    except TypeError:
        numbers = ()
    if too_many:
        numbers = numbers[:count]
    if len(numbers) != count or min(numbers) < least:
        expected = "one whole number" if count == 1 else f"a whole number or {count} of them"
        raise ArgumentValueError(f"{layer}: {argument} is {value!r}; expected {expected}, >= {least}.")
    return numbers


def require_layout(layer: str, layout: Any, count: int, channels_last: bool) -> None:
    """See that a layout is one that the layer has."""
    first, last = CHANNELS_FIRST[count], CHANNELS_LAST[count]
    if layout == first or (channels_last and layout == last):
        return
    if layout == last:
        order, back = (0, count + 1, *range(1, count + 1)), (0, *range(2, count + 2), 1)
        raise ArgumentValueError(
            f"{layer}: layout is {layout!r}, which convolutions do not have here; expected {first!r}. Transpose the "
            f"data with x.transpose({order}), and the output with transpose({back}) if it has to be {last!r} again."
        )
    expected = f"{first!r} or {last!r}" if channels_last else repr(first)
    raise ArgumentValueError(f"{layer}: layout is {layout!r}; expected {expected} for data of {count + 2} axes.")


def require_groups(layer: str, groups: int, **lengths: int) -> None:
    """See that groups divide numbers of channels; 0 is one that is not known yet."""
    for argument, length in lengths.items():
        if length % groups:
            raise ShapeError(f"{layer}: groups is {groups}, which does not divide {argument}={length}.")
