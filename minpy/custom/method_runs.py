"""Runs a method of a custom operator, guards its arguments, and collects its results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.context import CPU
from minpy.core.array import now
from minpy.core.buffers import SOLE_ITEM, SOLE_SLOT, loans
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    MutationError,
    MXNetError,
    describe,
    in_place_of,
    operator_error,
)
from minpy.core.source_lines import warn_at_program
from minpy.core.state import state
from minpy.custom.method_captures import method_of
from minpy.custom.output_buffers import Buffer, Undeclared, memory_of

__all__ = ["run_method"]

# The (operator, argument) pairs about whose unwritten gradients there was a warning.
_WARNED: set[tuple[str, str]] = set()


def run_method(
    operator: Any,
    method: str,
    arguments: list[Any],
    buffers: list[Buffer],
    required: Sequence[int],
    shown: list[Any],
    originals: Sequence[Any],
) -> list[numpy.ndarray]:
    """Run a method of the operator object, and return the contents of the buffers at the positions `required`.

    `arguments` are the method's except the buffers and the auxiliary states, which follow, and belong to this call. If
    it keeps a buffer, or an array in `shown`, that is copied afterwards.
    """
    outer, recording = loans.current, state.recording
    on_cpu = operator.context is CPU
    try:
        if recording:
            state.recording = False
        arguments += [*buffers], [*operator.auxiliary_arrays]
        # On other devices `nd.array` depends on the current context.
        call, capture = method_of(operator.op, method, arguments, on_cpu and operator.is_large)
        if capture is not None:
            loans.current = capture.code, sys._getframe(), capture.any_layout
        else:
            if outer is not None:
                loans.current = None
            if method == "backward" and operator.is_large:  # it may write to the gradients that it gets
                for array in arguments[1]:
                    array._data = array._data.copy()
        started = now()
        if on_cpu:
            call(*arguments)
        else:
            with operator.context:
                call(*arguments)
    except Exception as error:
        _copy_memory(shown)  # the error's traceback refers to them, and hides other references
        failure = _error_of(operator, method, originals, error)
        if failure is error:
            raise
        raise in_place_of(failure, error) from None
    finally:  # these belong to the thread: a look costs less than a write
        if recording:
            state.recording = True
        if loans.current is not outer:
            loans.current = outer
    arguments.clear()  # so that only `shown` and `buffers` refer to the arrays, unless the method keeps one
    if capture is None:
        for array in shown:
            if sys.getrefcount(array) > SOLE_ITEM:
                _copy_memory([array])
    results = []
    for index in required:
        buffer = buffers[index]
        if not buffer.is_assigned and not buffer.written(started):
            if method == "forward" or "label" not in operator.arguments[index]:
                raise _unwritten(operator, method, index)
            _warn_of_unwritten(operator, index)
            results.append(numpy.zeros_like(buffer._data))
            continue
        if not buffer.allocated:
            results.append(buffer._data)
            continue
        is_kept = sys.getrefcount(memory_of(buffer)) > SOLE_SLOT
        if is_kept or (capture is None and sys.getrefcount(buffer) > SOLE_ITEM):
            results.append(memory_of(buffer).copy())
        else:
            results.append(memory_of(buffer))
    return results


def _unwritten(operator: Any, method: str, index: int) -> MXNetError:
    method_name = f"{type(operator.op).__name__}.{method}"
    if method == "forward":
        return ArgumentError(
            f"{method_name} left output {operator.outputs[index]!r} unwritten. Assign it: "
            f"self.assign(out_data[{index}], req[{index}], value)."
        )
    return GradientError(
        f"{method_name} left the gradient of {operator.arguments[index]!r} unwritten, and it is needed. Assign it: "
        f"self.assign(in_grad[{index}], req[{index}], value); for a zero gradient assign 0."
    )


def _warn_of_unwritten(operator: Any, index: int) -> None:
    """Warn, once for each operator and argument, that the gradient of a label is treated as zero."""
    method_name, name = f"{type(operator.op).__name__}.backward", operator.arguments[index]
    if (operator.__name__, name) not in _WARNED:
        _WARNED.add((operator.__name__, name))
        warn_at_program(
            f"{method_name} left the gradient of {name!r} unwritten: it is taken for zero (in MXNet it is whatever the "
            f"memory holds). Assign it: self.assign(in_grad[{index}], req[{index}], value), or 0."
        )


def _error_of(operator: Any, method: str, arguments: Sequence[Any], error: Exception) -> Exception:
    """Return the error to raise for a method's error: the same, if it already names the method."""
    if isinstance(error, MXNetError) and error.located:
        return error
    where = f"{type(operator.op).__name__}.{method}"
    if isinstance(error, ValueError) and "read-only" in str(error):
        return MutationError(
            f"Custom operator {operator.__name__!r}: {where} changes one of its inputs in place; in_data (and "
            "out_data in backward) are read-only, as others still use them. Start with a copy: "
            "x = in_data[0].copy()."
        )
    names = ", ".join(f"{name} {describe(value)}" for name, value in zip(operator.arguments, arguments, strict=False))
    return operator_error(error, f"Custom operator {operator.__name__!r}: {where} failed ({names})")


def _copy_memory(arrays: Sequence[Any]) -> None:
    """Copy the memory of arrays that a method has seen."""
    for array in arrays:
        if type(array) is not Undeclared:
            array._data = array._data.copy()
