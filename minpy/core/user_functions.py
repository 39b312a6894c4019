"""The guards around users' functions: inputs are read-only, results are checked, errors say where.

Built-in operators are trusted, and run without guards.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy

from minpy.core.array import Array, raw_of
from minpy.core.buffers import SOLE_LOCAL, SOLE_OUTPUT
from minpy.core.errors import (
    ArgumentError,
    MutationError,
    describe,
    describe_arguments,
    in_place_of,
    operator_error,
)
from minpy.core.state import state

__all__ = ["call_line", "guarded_input", "read_only", "run_guarded", "user_error"]


_OWNED = 0x004 | 0x400  # NumPy's flags OWNDATA and WRITEABLE


def read_only(value: Any) -> Any:
    """Return an array around a buffer that cannot be written; anything else as it is."""
    if type(value) is numpy.ndarray:
        value = value.view()
        value.setflags(False)  # write=False: by position it costs less
    elif isinstance(value, Array):
        value = value._like(read_only(value._data), value._node)
    return value


def guarded_input(value: Any) -> Any:
    """Return an input of a user's function as the function gets it: lists of numbers as read-only arrays."""
    return read_only(numpy.array(value) if type(value) in (list, tuple) and _are_numbers(value) else value)


def _are_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_are_numbers, value))
    return isinstance(value, (int, float, complex, numpy.generic))


def run_guarded(operator: Any, views: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Run a user's forward function on read-only inputs; errors and results are checked."""
    try:
        if operator.kind == "mxnet":
            recording, state.recording = state.recording, False
            try:
                result = operator.forward(*map(operator.wrap_raw, views), **attributes)
            finally:
                state.recording = recording
            result = tuple(map(raw_of, result)) if isinstance(result, (tuple, list)) else raw_of(result)
        else:
            result = operator.forward(*views, **attributes)
    except Exception as error:
        raise in_place_of(user_error(operator, error, "forward", views), error) from None
    if type(result) is numpy.ndarray:
        if operator.notes_arrays:
            operator.note_outputs(0, attributes)
        return result if getrefcount(result) <= SOLE_LOCAL and _is_fresh(operator, result) else result.copy()
    if isinstance(result, (tuple, list)):
        # Arrays that only this tuple refers to are fresh if only we refer to the tuple.
        sole = type(result) in (tuple, list) and getrefcount(result) <= SOLE_LOCAL
        if len(result) != operator.usual_outputs or not result:
            operator.note_outputs(len(result), attributes)
        return tuple([_checked_output(operator, value, index, sole) for index, value in enumerate(result)])
    result = _checked_output(operator, result, None, False)
    if operator.notes_arrays:
        operator.note_outputs(0, attributes)
    return result


def _is_fresh(operator: Any, value: numpy.ndarray) -> bool:
    """Tell whether an array without other references cannot get any later, either."""
    # An 'mxnet' function has no buffers, and cannot have weak references to them: the log of writes has those.
    return value.flags.num & _OWNED == _OWNED and (operator.kind == "mxnet" or not getweakrefcount(value))


def _checked_output(operator: Any, value: Any, index: int | None, sole: bool) -> Any:
    if type(value) is numpy.ndarray:
        fresh = sole and getrefcount(value) <= SOLE_OUTPUT and _is_fresh(operator, value)
        return value if fresh else value.copy()
    if isinstance(value, (numpy.ndarray, numpy.generic, float, int, complex)):
        if isinstance(value, numpy.ndarray):  # of a subclass, whose methods may return anything
            return numpy.array(value)
        return numpy.asarray(value) if index is not None else value
    place = "its forward" if index is None else f"output {index} of its forward"
    if isinstance(value, Array):
        raise ArgumentError(
            f"{operator.__name__}: {place} is an array of minpy's, {type(value).__name__} {describe(value)}; what is "
            "made with @customop('numpy') is given NumPy arrays, and returns them. Write it with NumPy's functions, or "
            "with nd's as a @customop('mxnet')."
        )
    raise ArgumentError(
        f"{operator.__name__}: {place} is {describe(value)}; expected an array, a number, or a tuple of arrays. "
        "Does every path of the function return its result?"
    )


def user_error(
    operator: Any, error: Exception, role: str, inputs: Sequence[Any], upstream: str = "", advice: str = ""
) -> Exception:
    """Return the error to raise for an exception inside a user's forward or rule.

    For rules, `upstream` describes the upstream gradient. `advice` says what to do.
    """
    if isinstance(error, ValueError) and "read-only" in str(error):
        shown = describe_arguments(operator.argument_names(len(inputs)), inputs)
        return MutationError(
            f"{operator.__name__} {role}: it changes one of its inputs in place "
            f"({shown}{', ' if upstream else ''}{upstream}); inputs are read-only, as others "
            "still use them. Write `x = x + 1` instead of `x += 1`, or start with x = x.copy()."
        )
    mode = "NDArrays" if operator.kind == "mxnet" else "NumPy arrays"
    line = call_line(operator, role, inputs, mode, bool(upstream))
    return operator_error(error, line, advice or _advice(operator, error, inputs))


def _advice(operator: Any, error: Exception, inputs: Sequence[Any]) -> str:
    """Return advice for an exception that a usual mistake causes; an empty text for others."""
    texts = [
        name for name, value in zip(operator.argument_names(len(inputs)), inputs, strict=True) if type(value) is str
    ]
    if texts:
        return (
            f"Inputs are arrays and numbers. What is a string is an attribute, after the star: "
            f"def {operator.__name__}(..., *, {texts[0]})."
        )
    if isinstance(error, AttributeError) and error.name == "asnumpy" and operator.kind == "numpy":
        return "What is made with @customop('numpy') is given NumPy arrays: leave out asnumpy()."
    return ""


def call_line(operator: Any, role: str, inputs: Sequence[Any], mode: str, rule: bool = False) -> str:
    """Return the line in front of an error: the operator, the part of it, the mode, and the inputs."""
    shown = describe_arguments(operator.argument_names(len(inputs)), inputs)
    if rule:
        when = "backward, recorded for second order" if state.recording else "backward"
        when = f"{when}, under HIPS autograd" if state.bridging else when
    else:
        when = "recording" if state.recording else "not recording"
    return f"{operator.__name__}: {role} failed on {mode} ({when}): {shown}"
