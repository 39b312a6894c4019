"""The checks other than gradients: the forward function, other dtypes and memory layouts, mutation, modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from minpy.checking.case import Arrays, Case, Point, as_outputs, failure, skip
from minpy.checking.differences import Tolerance, equal, repeats
from minpy.checking.execution_modes import Runner, Unsupported
from minpy.core.errors import MutationError, describe, is_quitting
from minpy.core.reports import OK, Row
from minpy.differentiation import recorded_run

__all__ = [
    "RANDOM",
    "check_dtype",
    "check_empty",
    "check_forward",
    "check_mode",
    "check_mutation",
    "check_shape_rule",
    "check_strides",
    "compared",
]

RANDOM = "random: two calls differ, so nothing can be compared (fix it by an attribute)"
COPY_ADVICE = " Write `x = x + 1` instead of `x += 1`, or start with x = x.copy()."


def check_forward(case: Case) -> Row:
    """The forward function runs, leaves its inputs alone, and repeats itself."""
    copy = case.mapped(numpy.copy)
    first = as_outputs(copy.call())
    changed = _changed(case, copy)
    if changed:
        return failure("forward", f"changes {changed}", f"forward changes its {changed} in place.{COPY_ADVICE}")
    if not repeats(lambda: as_outputs(copy.call()), first):
        return _unrepeated(case)
    if any(value.dtype.kind == "c" for value in [*first, *case.arrays.values()]):
        return skip("forward", "complex numbers are not checked")
    draws_note = "; random, so every call repeats the same draws" if case.generators is not None else ""
    return Row("forward", OK, note=f"returns {', '.join(map(describe, first))}{draws_note}")


def _unrepeated(case: Case) -> Row:
    """Say why two calls differ: random numbers, or a dtype other than the one that forward reads."""
    if case.generators is not None:  # both calls drew the same: does the difference come from elsewhere?
        try:
            small = case.cast("float32")
            is_repeated = repeats(lambda: as_outputs(small.call()))
        except Exception as error:
            if is_quitting(error):
                raise
            is_repeated = False
        if is_repeated:
            return failure(
                "forward",
                "two calls differ in float64, and not in float32",
                "two calls with the same float64 inputs differ, and with float32 inputs they do not: forward is "
                "written for float32, and reads and writes others as if they were. Let it take float64, or refuse it.",
            )
    return skip("forward", RANDOM)


def _changed(case: Case, copy: Case) -> str:
    """Return which array of a copy of the case differs from the original; "" if none does."""
    arrays = copy.arrays
    return next((case.title(slot) for slot, value in case.arrays.items() if not equal(value, arrays[slot])), "")


def check_mutation(point: Point) -> Row:
    """The gradient rules change neither the inputs, nor the output, nor the upstream gradient."""
    check_name = "inputs unchanged"
    for position, slot in enumerate(point.case.slots):
        changed = _changed_by_rule(point, position)
        if changed:
            return failure(
                check_name,
                f"the rule of {point.case.name(slot)} changes {changed}",
                f"the gradient rule of {point.case.title(slot)} changes {changed} in place.{COPY_ADVICE}",
            )
    return Row(check_name, OK)


def _changed_by_rule(point: Point, position: int) -> str:
    """Return what the gradient rule of one variable changes in place; "" if nothing."""
    copy = point.case.mapped(numpy.copy)
    upstream = [value.copy() for value in point.upstream]
    result, pull = recorded_run.vjp(copy.function, copy.variables, [position])
    outputs = as_outputs(result)
    before = [value.copy() for value in outputs]
    try:
        pull(upstream if isinstance(result, (tuple, list)) else upstream[0])
    except MutationError:
        raise
    except Exception as error:
        if is_quitting(error):
            raise
        return ""  # the check of this gradient will say what is wrong
    if not all(map(equal, upstream, point.upstream)):
        return "the upstream gradient g"
    if not all(map(equal, outputs, before)):
        return "the output ans"
    return _changed(point.case, copy)


def check_shape_rule(point: Point) -> Row:
    """The shape rule gives the shapes that the forward function returns."""
    case = point.case
    shapes = case.operator.shape_rule(*map(numpy.shape, case.inputs[case.operator.is_method :]), **case.attributes)
    several = bool(shapes) and isinstance(shapes[0], (tuple, list))
    expected = [tuple(shape) for shape in shapes] if several else [tuple(shapes)]
    actual = [y.shape for y in point.outputs]
    if expected == actual:
        return Row("shape rule", OK)
    text = f"the shape rule says {_listed(expected)}, forward returns {_listed(actual)}"
    return failure("shape rule", text, f"{text}.")


def _listed(shapes: list[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes))


def check_dtype(point: Point, dtype: str) -> Row:
    """In a smaller float, outputs have the same shapes, and are of that dtype if float64 gives float64."""
    case = point.case.cast(dtype)
    try:
        outputs = as_outputs(case.call())
    except MutationError:
        raise
    except Exception as error:
        if is_quitting(error):
            raise
        return skip(dtype, f"forward does not take it: {_reason(error)}")
    for number, (y, reference) in enumerate(zip(outputs, point.outputs, strict=True)):
        which = f"output {number}" if len(outputs) > 1 else "the output"
        if y.shape != reference.shape:
            text = f"{which} has shape {y.shape}; with float64 it has {reference.shape}"
            return failure(dtype, text, f"with {dtype} inputs {text}.")
        expected = numpy.dtype(dtype) if reference.dtype == numpy.float64 else reference.dtype
        follows_inputs = "dtype" not in case.attributes and any(v.dtype.kind == "f" for v in case.arrays.values())
        if follows_inputs and y.dtype != expected:
            text = f"{which} is {y.dtype}; expected {expected}"
            return failure(dtype, text, f"with {dtype} inputs {text}. Does forward mix in float64 numbers?")
    _gradients(point, case, outputs)
    return Row(dtype, OK)


def _reason(error: Exception) -> str:
    cause = getattr(error, "original", None) or error.__cause__ or error
    return f"{type(cause).__name__}: {cause}".partition("\n")[0][:100]


def _gradients(point: Point, case: Case, outputs: Arrays) -> Arrays:
    """Return the gradients of a variation of the point's case, in its outputs' dtypes."""
    upstream = [
        (g if g.shape == y.shape else numpy.ones(y.shape)).astype(y.dtype if y.dtype.kind == "f" else numpy.float64)
        for y, g in zip(outputs, point.upstream, strict=True)
    ]
    return as_outputs(tuple(case.gradients(upstream)))


def check_strides(point: Point) -> Row:
    """Inputs in Fortran order and with gaps between elements give the same numbers."""
    check_name = "non-contiguous inputs"
    case = point.case.mapped(_strided)
    if all(value.flags.c_contiguous for value in case.arrays.values()):
        return skip(check_name, "no input has more than one element")
    outputs = as_outputs(case.call())
    return _compare_results(point, check_name, outputs, _gradients(point, case, outputs))


def _strided(value: numpy.ndarray) -> numpy.ndarray:
    """Return an equal array with gaps between its elements in memory, and its axes in Fortran order."""
    if not value.ndim:
        return value
    buffer = numpy.empty((*value.shape[:0:-1], 2 * value.shape[0]), value.dtype)
    view = buffer[..., ::2].T
    view[...] = value
    return view


def check_empty(point: Point) -> Row:
    """If the forward function takes arrays without elements, so do the rules."""
    reason = "no input has an axis"
    for case in _empty_cases(point.case):
        try:
            outputs = as_outputs(case.call())
        except Exception as error:
            if is_quitting(error):
                raise
            reason = f"forward does not take them: {_reason(error)}"
            continue
        _gradients(point, case, outputs)
        return Row("zero-size inputs", OK, note=_listed([value.shape for value in case.arrays.values()]))
    return skip("zero-size inputs", reason)


def _empty_cases(case: Case) -> Iterator[Case]:
    """Yield the case with its first axis empty: in all inputs as long as the first, or in the first alone."""
    arrays = {slot: value for slot, value in case.arrays.items() if value.ndim}
    if arrays:
        first, value = next(iter(arrays.items()))
        length = value.shape[0]
        yield case.replaced({slot: v[:0].copy() for slot, v in arrays.items() if v.shape[0] == length})
        yield case.replaced({first: value[:0].copy()})


def check_mode(point: Point, name: str, runner: Runner) -> Row:
    """A mode gives the same outputs and gradients as plain NumPy arrays."""
    try:
        outputs, gradients = runner(point.case, point.upstream)
    except Unsupported as error:
        return skip(name, str(error))
    return _compare_results(point, name, outputs, gradients)


def _compare_results(point: Point, check_name: str, outputs: Arrays, gradients: Arrays | None) -> Row:
    """Return the row that compares outputs and gradients with those of plain NumPy arrays.

    The outputs may be followed by the auxiliary states after the call; the gradients may be None: not computed.
    """
    case = point.case
    expected = list(point.outputs)
    names = [f"output {number}" for number in range(len(point.outputs))]
    if len(outputs) > len(expected):
        expected += point.states
        names += [f"the state {case.name(slot)} after the call" for slot in case.states]
    if gradients is not None:
        expected += as_outputs(tuple(case.gradients(point.upstream)))
        names += [f"the gradient of {case.title(slot)}" for slot in case.slots]
    return compared(check_name, names, [*outputs, *(gradients or ())], expected, point.tolerance)


def compared(check_name: str, names: Sequence[str], got: Arrays, expected: Arrays, tolerance: Tolerance) -> Row:
    """Return the row that compares arrays, one for each name, with those that plain NumPy arrays give."""
    if len(got) != len(expected):
        text = f"{len(got)} outputs and gradients; expected {len(expected)}"
        return failure(check_name, text, f"{check_name}: {text}: {', '.join(names)}.")
    worst = 0.0
    for name, a, b in zip(names, got, expected, strict=True):
        if a.shape != b.shape and {a.shape, b.shape} != {(), (1,)}:
            text = f"{name} has shape {a.shape}; NumPy arrays give {b.shape}"
            return failure(check_name, text, f"{check_name}: {text}.")
        a, b = a.astype(numpy.float64).ravel(), b.astype(numpy.float64).ravel()
        error = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0, numpy.abs(a - b))
        error[numpy.isnan(error)] = numpy.inf
        largest = float(numpy.abs(b).max(initial=0, where=numpy.isfinite(b)))
        if (error > 1e-12 + 30 * tolerance.epsilon * largest).any():
            place = int(numpy.argmax(error))
            note = f"{name}, element {place}: got {a[place]:.6g}, NumPy arrays give {b[place]:.6g}"
            return failure(check_name, note, f"{check_name}: {note}.", float(error[place]))
        worst = max(worst, float(error.max(initial=0)))
    return Row(check_name, OK, worst)
