"""Sequences as one symbol or as a symbol for each step, and from the one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy import symbol
from minpy.core.errors import ArgumentValueError, describe
from minpy.symbol import Symbol

__all__ = ["normalized", "steps_of"]


def steps_of(sequence: Symbol, length: int, axis: int) -> list[Symbol]:
    """Return the steps of a sequence."""
    squeezed: Any = 1  # as files of MXNet's have it
    return list(symbol.split(sequence, axis=axis, num_outputs=length, squeeze_axis=squeezed))


def normalized(
    length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int]:
    """Return a sequence as one symbol, as one a step, or as it is; and the axis of time in a layout."""
    if inputs is None:
        raise ArgumentValueError(
            "unroll(inputs=None): give a symbol for the whole sequence, or a list of one symbol a step: "
            f"[mx.sym.var(f't{{i}}_data') for i in range({length})]."
        )
    axis = layout.find("T")
    in_axis = in_layout.find("T") if in_layout is not None else axis
    if axis < 0:
        raise ArgumentValueError(f"unroll: the layout {layout!r} has no axis of time; expected 'NTC' or 'TNC'.")
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs.list_outputs()) != 1:
                raise ArgumentValueError(
                    f"unroll doesn't allow grouped symbol as input: it has the outputs "
                    f"{', '.join(inputs.list_outputs())}. Convert it to a list with list(inputs) first, or let unroll "
                    "split a symbol of one output."
                )
            assert length is not None
            inputs = steps_of(inputs, length, in_axis)
    else:
        if not isinstance(inputs, Sequence):
            raise ArgumentValueError(f"unroll: inputs is {describe(inputs)}; expected a Symbol or a list of them.")
        if length is not None and len(inputs) != length:
            raise ArgumentValueError(f"unroll: inputs has {len(inputs)} symbols; expected {length}, one for each step.")
        if merge is True:
            inputs = symbol.concat(*[symbol.expand_dims(step, axis=axis) for step in inputs], dim=axis)
            in_axis = axis
    if isinstance(inputs, Symbol) and axis != in_axis:
        inputs = symbol.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis
