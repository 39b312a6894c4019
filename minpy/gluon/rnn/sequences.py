"""Sequences as cells take and return them: lists of steps, or arrays with a time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy import ndarray as nd
from minpy import symbol
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = [
    "in_mode",
    "is_merged",
    "last_valid_states",
    "masked",
    "merged",
    "require_lengths",
    "reversed_in_time",
    "steps_of",
    "time_axis",
]


def time_axis(layout: str, name: str) -> int:
    """Return the place of the time axis in a layout."""
    if not isinstance(layout, str) or "T" not in layout or "N" not in layout:
        raise ArgumentValueError(
            f"{name}: layout is {layout!r}; expected one with T (time) and N (batch), such as 'NTC' or 'TNC'."
        )
    return layout.index("T")


def functions_of(values: Any) -> Any:
    """Return the functions for these values: `mx.sym` for symbols, else `mx.nd`."""
    return symbol if isinstance(values, Symbol) else nd


def is_merged(inputs: Any) -> bool:
    """Tell whether a sequence is one array or symbol, not a list of steps."""
    return isinstance(inputs, (NDArray, Symbol))


def steps_of(length: int, inputs: Any, layout: str, name: str) -> tuple[list[Any], Any, int]:
    """Return the steps of a sequence in a list, the functions for them, and how many sequences the batch has."""
    axis = time_axis(layout, name)
    if isinstance(inputs, Symbol):
        if len(inputs.values) > 1:
            raise ArgumentError(
                f"{name}.unroll: the inputs are a symbol of {len(inputs.values)} outputs. Give list(inputs), one "
                "symbol for each step, or one symbol with a time axis."
            )
        # A number, as MXNet's files have it.
        steps = symbol.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1)  # type: ignore[arg-type]
        return [steps] if length == 1 else list(steps), symbol, 0
    if isinstance(inputs, NDArray):
        if inputs.ndim <= axis or inputs.shape[axis] != length:
            raise ShapeError(
                f"{name}.unroll: length is {length}, and the inputs have shape {inputs.shape} with layout {layout!r}, "
                f"so {inputs.shape[axis] if inputs.ndim > axis else 'no'} steps. Give the length that they have, or "
                "another layout."
            )
        batch = inputs.shape[layout.index("N")]
        steps = nd.split(inputs, axis=axis, num_outputs=length, squeeze_axis=True)
        return list(steps) if isinstance(steps, (list, tuple)) else [steps], nd, batch
    if not isinstance(inputs, (list, tuple)) or not all(is_merged(step) for step in inputs):
        raise ArgumentError(
            f"{name}.unroll: the inputs are {describe(inputs)}; expected an array with a time axis, or a list of "
            "arrays, one for each step."
        )
    if len(inputs) != length:
        raise ShapeError(
            f"{name}.unroll: length is {length}, and there are {len(inputs)} inputs; give one for each step."
        )
    functions = functions_of(inputs[0]) if inputs else nd
    batch_axis = layout.replace("T", "").index("N")
    return list(inputs), functions, 0 if functions is symbol or not inputs else inputs[0].shape[batch_axis]


def require_lengths(valid_length: Any, length: int, batch_size: int, name: str) -> None:
    """See that `valid_length` is a number of steps for each sequence, as far as that is known."""
    if valid_length is None or isinstance(valid_length, Symbol):
        return
    if not isinstance(valid_length, NDArray):
        raise ArgumentError(
            f"{name}.unroll: valid_length is {describe(valid_length)}; expected an array of shape (batch,), the number "
            "of steps of each sequence."
        )
    if batch_size and valid_length.shape != (batch_size,):
        raise ShapeError(
            f"{name}.unroll: valid_length has shape {valid_length.shape}; expected ({batch_size},), the number of "
            "steps of each sequence of the batch."
        )
    counts = valid_length.asnumpy()
    if counts.size and not 0 <= counts.min() <= counts.max() <= length:
        raise ArgumentError(
            f"{name}.unroll: valid_length holds {counts.min() if counts.min() < 0 else counts.max()}; expected numbers "
            f"from 0 to {length}, the length."
        )


def merged(inputs: Any, layout: str, name: str) -> Any:
    """Return a sequence as one array, its steps stacked along the time axis."""
    if is_merged(inputs):
        return inputs
    return functions_of(inputs[0]).stack(*inputs, axis=time_axis(layout, name))


def merged_or_split(length: int, outputs: Any, layout: str, merge: bool | None, name: str) -> Any:
    """Return a sequence merged, as a list of steps, or (merge is None) as it is."""
    if merge is None:
        return outputs
    return merged(outputs, layout, name) if merge else steps_of(length, outputs, layout, name)[0]


def masked(outputs: Any, valid_length: Any, layout: str, name: str) -> Any:
    """Return a sequence as one array, with zeros in the steps after the end of each."""
    outputs = merged(outputs, layout, name)
    return functions_of(outputs).SequenceMask(
        outputs, sequence_length=valid_length, use_sequence_length=True, axis=time_axis(layout, name)
    )


def last_valid_states(first: Sequence[Any], later: Sequence[Sequence[Any]], valid_length: Any) -> list[Any]:
    """Return the states at the end of each sequence, of those after every step; of an empty one, the first."""
    functions = functions_of(valid_length)
    return [
        functions.SequenceLast(
            functions.stack(*steps, axis=0), sequence_length=valid_length + 1, use_sequence_length=True, axis=0
        )
        for steps in zip(first, *later, strict=True)
    ]


def reversed_in_time(steps: Sequence[Any], valid_length: Any) -> list[Any]:
    """Return steps from the last to the first; with `valid_length` only those inside each sequence change places."""
    if valid_length is None:
        return list(reversed(steps))
    functions = functions_of(steps[0])
    merged_steps = functions.SequenceReverse(
        functions.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True
    )
    reversed_steps = functions.split(merged_steps, axis=0, num_outputs=len(steps), squeeze_axis=1)
    return [reversed_steps] if len(steps) == 1 else list(reversed_steps)


def in_mode(values: Any) -> Any:
    """Return nested symbols as the thread's semantics have them: those of `mx.np` under `set_np`."""
    if not is_np_array():
        return values
    if isinstance(values, Symbol):
        return values.as_np_ndarray()
    if isinstance(values, (list, tuple)):
        return type(values)([in_mode(value) for value in values])
    return values
