"""Functions captured: run once on proxies, so that what they compute becomes nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.capture import numpy_functions, operator_calls
from minpy.capture.abstract_evaluation import Fact
from minpy.capture.noting import constant, operand, steps_of
from minpy.capture.places import CaptureRefused, SourceLocation
from minpy.capture.proxy import ArrayProxy
from minpy.capture.recorder import Recorder
from minpy.core.sums import sum_to

__all__ = ["FILLED", "conformed", "run_captured"]

FILLED = (numpy_functions, operator_calls)  # imported for what they register


def run_captured(recorder: Recorder, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Return what a function returns for proxies; refuse one that fails, or does what cannot be noted."""
    try:
        result = function(*arguments, **keywords)
    except CaptureRefused:
        pass
    except Exception as error:  # whatever it is, it is raised again when the function runs on arrays
        recorder.refuse(f"{type(error).__name__}: {error}", _place_of(error, recorder)).__cause__ = error
    if recorder.refusal is not None:
        try:
            raise recorder.refusal.with_traceback(None)
        finally:
            recorder.refusal = None  # it knows this call, and all that wait for it
    return result


def _place_of(error: BaseException, recorder: Recorder) -> SourceLocation | None:
    place = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in recorder.codes:
            place = SourceLocation(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def conformed(recorder: Recorder, part: Any, answer_shape: Any, shape: tuple[int, ...], dtype: Any) -> ArrayProxy:
    """Return a gradient in its input's shape and dtype, as `minpy.core.tape_walk.conform` does with arrays.

    What is no array, or of a shape that is not due to broadcasting, is refused: the rule is called, and raises then.
    """
    if part is None or isinstance(part, (str, list, tuple)):
        raise recorder.refuse("a gradient is no array")
    part = operand(recorder, part)
    if not isinstance(part, ArrayProxy):
        part = constant(recorder, numpy.asarray(part))
    if part.shape != shape:
        lead = part.ndim - len(shape)
        if part.size == 1 and shape in ((), (1,)):
            part = part.reshape(shape)
        elif part.shape == answer_shape and lead >= 0 and _broadcasts(shape, part.shape[lead:]):
            part = steps_of(recorder, sum_to, (part, shape), {}, "reduce", Fact(shape, part.dtype, False))
        else:
            raise recorder.refuse(f"a gradient has shape {part.shape}, and its argument {shape}")
    if part.dtype == dtype:
        return part
    if part.dtype.kind == "c" and dtype.kind != "c":
        part = numpy.real(part)
    return part.astype(dtype)


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    return all(length in (1, target_length) for length, target_length in zip(shape, to, strict=True))
