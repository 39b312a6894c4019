"""The checks of gradient rules, JVP rules and second order, against central differences."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from minpy.checking.case import Arrays, Point, as_outputs, attempt, failure, skip
from minpy.checking.checks import compared
from minpy.checking.differences import MOST_ELEMENTS, Comparison, Derivatives, Tolerance, compare, flat
from minpy.checking.execution_modes import SECOND_ORDER, SecondOrder, Unsupported
from minpy.core.errors import GradientError, is_quitting
from minpy.core.reports import FAILED, OK, SKIPPED, Row
from minpy.differentiation import recorded_run

__all__ = ["check_at_zeros", "check_gradient", "check_jvp", "check_second_order", "check_zero"]

DETACHED = (
    " A value in the rule does not follow its arguments: x.item() or x.asnumpy() cut it off; compute it "
    "with NumPy functions of ans and the arguments."
)


def check_gradient(point: Point, position: int) -> Row:
    """One gradient rule agrees with central differences."""
    case, upstream = point.case, point.upstream
    slot = case.slots[position]
    [gradient] = case.gradients(upstream, [position])
    directions = point.directions(case.variables[position])
    outcome = compare(point.derivatives(position), gradient, directions)
    hint = partial(diagnose, point, position, gradient)
    return _row(
        f"gradient of {case.name(slot)}", f"the gradient of {case.title(slot)}", "the rule gives", outcome, hint
    )


def diagnose(point: Point, position: int, got: numpy.ndarray) -> str:
    """Return a guess at what is wrong with a gradient; "" if no usual mistake fits."""
    case = point.case
    expected = numeric_gradient(point, position)
    doubled = case.gradients([2 * value for value in point.upstream], [position])[0]
    if got.any() and is_close(point, doubled, got):
        return " It does not depend on the upstream gradient: does the rule multiply by g?"
    if is_close(point, got, -expected):
        return " It has the wrong sign."
    if got.ndim >= 2 and got.shape[-1] == got.shape[-2] and is_close(point, numpy.swapaxes(got, -1, -2), expected):
        return " It is transposed."
    large = numpy.abs(expected) > 1e-3 * numpy.nanmax(numpy.abs(expected), initial=0)
    factor = float((got[large] / expected[large]).mean()) if large.any() else 1.0
    if abs(factor - 1) > 1e-3 and is_close(point, got, factor * expected):
        return f" It is {factor:.4g} times the right one."
    for other_position, slot in enumerate(case.slots):
        same_shape = other_position != position and got.shape == case.variables[other_position].shape
        if same_shape and is_close(point, got, numeric_gradient(point, other_position)):
            return f" It is the gradient of {case.title(slot)}."
    return ""


def numeric_gradient(point: Point, position: int) -> numpy.ndarray:
    """Return the whole gradient of one variable from central differences; NaN where it is not known."""
    result = numpy.full(point.case.variables[position].shape, numpy.nan)
    indices = range(0, result.size, -(-result.size // MOST_ELEMENTS))
    for index, value, _, smooth in point.derivatives(position).of_elements(indices):
        result[index] = value if smooth else numpy.nan
    return result


def is_close(point: Point, got: numpy.ndarray, expected: numpy.ndarray) -> bool:
    """Tell whether arrays are equal as far as central differences can tell (and where they can)."""
    finite = numpy.isfinite(expected)
    scale = numpy.abs(expected[finite]).max(initial=0)
    return bool(finite.any() and (numpy.abs(got - expected)[finite] <= 100 * point.tolerance.bound(scale)).all())


def check_jvp(point: Point, position: int) -> Row:
    """One JVP rule agrees with central differences, in every output."""
    case = point.case
    slot = case.slots[position]
    worst = 0.0
    for tangent in point.directions(case.variables[position]):
        _, pushed = recorded_run.jvp(case.function, case.variables, [position], [tangent])
        parts = as_outputs(pushed)
        expected, smooth = point.derivatives(position).slopes(tangent)
        error = numpy.where(smooth, numpy.abs(flat(parts) - expected), 0)
        error[numpy.isnan(error)] = numpy.inf
        wrong = error > point.tolerance.bound(numpy.abs(expected), numpy.abs(flat(point.outputs)))
        if wrong.any():
            place = int(numpy.argmax(error))
            note = f"{_place(parts, place)}: got {flat(parts)[place]:.6g}, expected {expected[place]:.6g}"
            detail = f"the jvp rule of {case.title(slot)} is wrong {note} (central differences)."
            return failure(f"jvp of {case.name(slot)}", note, detail, float(error[place]))
        worst = max(worst, float(error.max(initial=0)))
    return Row(f"jvp of {case.name(slot)}", OK, worst)


def _place(outputs: Arrays, place: int) -> str:
    """Return where an element of the flattened outputs is: "at output 1 [0, 2]"."""
    number = 0
    while place >= outputs[number].size:
        place -= outputs[number].size
        number += 1
    index = list(map(int, numpy.unravel_index(place, outputs[number].shape)))
    return f"at output {number} {index}" if len(outputs) > 1 else f"at output {index}"


def check_zero(point: Point, slot: int | str) -> Row:
    """Report whether a gradient that is declared zero is zero; operators that stop gradients declare others so, too."""
    title = f"gradient of {point.case.name(slot)}"
    single = copy(point)
    single.case = replace(point.case, slots=(slot,))
    [value] = single.case.variables
    zeros = numpy.zeros(value.shape)
    directions = list(point.directions(value))
    shapes = {tuple(y.shape for y in single.evaluate(value + 1e-6 * step)) for step in (zeros, *directions)}
    if len(shapes) > 1:
        return skip(title, "said to be zero; the shape of the result changes with it")
    outcome = compare(single.derivatives(0), zeros, directions)
    if outcome.result == OK:
        return Row(title, OK, outcome.error, "said to be zero")
    reason = outcome.note if outcome.result == SKIPPED else "central differences are not"
    return skip(title, f"said to be zero; {reason}")


def check_at_zeros(point: Point) -> Row:
    """Gradients and second order are right where elements of one variable are zero, as far as it is smooth there.

    A rule that divides by what it should leave out of a product is right anywhere else.
    """
    title = "zeros among the inputs"
    case = point.case
    options = replace(point.options, directions=1)
    not_smooth: list[str] = []
    worst = 0.0
    for slot, value in zip(case.slots, case.variables, strict=True):
        zeroed = numpy.where(point.random_mask(value.shape), 0.0, value)
        try:
            at_zeros = Point(case.replaced({slot: zeroed}), options)
            rows = [check_gradient(at_zeros, position) for position in range(len(case.slots))]
            rows = rows if any(row.result == FAILED for row in rows) else [*rows, *check_second_order(at_zeros)]
        except GradientError:
            raise
        except Exception as error:
            if is_quitting(error):
                raise
            not_smooth.append(f"{case.name(slot)} ({type(error).__name__})")
            continue
        for row in rows:
            if row.result == FAILED:
                where = f"where elements of {case.title(slot)} are zero"
                return failure(title, f"{row.what}: {row.note}", f"{where}: {row.detail}", row.error)
            worst = max(worst, row.error or 0.0)
        if all(row.result == SKIPPED for row in rows) or not numpy.isfinite(flat(at_zeros.outputs)).all():
            not_smooth.append(f"{case.name(slot)} (not smooth)")
    note = f"not with zeros in {', '.join(not_smooth)}" if not_smooth else ""
    return skip(title, note) if len(not_smooth) == len(case.slots) else Row(title, OK, worst, note)


def check_second_order(point: Point, modes: bool = False) -> list[Row]:
    """The gradient of the gradient agrees with central differences of the gradient; `modes`: in every mode."""
    case, count = point.case, len(point.case.slots)
    values = [*case.variables, *point.upstream]
    weights = [point.normal(variable.shape) for variable in case.variables]

    def gradient(*values: Any) -> tuple[Any, ...]:
        return tuple(case.with_variables(values[:count]).gradients(values[count:]))

    try:
        _, pull = recorded_run.vjp(gradient, values, range(len(values)))
        second_gradients = as_outputs(tuple(pull(weights)))
    except GradientError:
        raise
    except Exception as error:
        if is_quitting(error):
            raise
        reason = str(error).partition("\n")[0]
        return [skip("second order", f"first order only: {type(error).__name__}: {reason}"[:160])]
    first_gradients = as_outputs(gradient(*values))
    tolerance = point.tolerance_of([*first_gradients, *point.outputs])
    rows = []
    for position, name in enumerate([*map(case.name, case.slots), *_upstream_names(point)]):
        derivatives = Derivatives(lambda *values: as_outputs(gradient(*values)), values, position, tolerance, weights)
        outcome = compare(derivatives, second_gradients[position], point.directions(values[position]))
        title = f"the second-order gradient with respect to {name}"
        rows.append(_row(f"second order, {name}", title, "the rules give", outcome, lambda: DETACHED))
    if modes and not any(row.result == FAILED for row in rows):
        names = [f"the second-order gradient with respect to {case.name(slot)}" for slot in case.slots]
        for mode, runner in SECOND_ORDER.items():
            row_title = f"second order, {mode}"
            compare_mode = partial(
                _second_order_in, row_title, runner, point, weights, names, second_gradients[:count], tolerance
            )
            rows += attempt(row_title, compare_mode)
    return rows


def _second_order_in(
    row_title: str,
    runner: SecondOrder,
    point: Point,
    weights: Arrays,
    names: list[str],
    expected: Arrays,
    tolerance: Tolerance,
) -> Row:
    try:
        return compared(row_title, names, runner(point.case, point.upstream, weights), expected, tolerance)
    except Unsupported as error:
        return skip(row_title, str(error))


def _upstream_names(point: Point) -> list[str]:
    count = len(point.upstream)
    return ["upstream g"] if count == 1 else [f"upstream g[{number}]" for number in range(count)]


def _row(check: str, title: str, says: str, outcome: Comparison, hint: Callable[[], str]) -> Row:
    """Return the row of a gradient that was compared with central differences."""
    if outcome.result == SKIPPED:
        return skip(check, outcome.note)
    if outcome.result != FAILED:
        return Row(check, OK, outcome.error, outcome.note)
    place = outcome.note if outcome.index is None else f"at {list(map(int, outcome.index))}" if outcome.index else ""
    numbers = f"got {outcome.got:.6g}, expected {outcome.expected:.6g}"
    detail = f"{title} is wrong {place}".rstrip()
    detail += f": {says} {outcome.got:.6g}, central differences {outcome.expected:.6g}.{hint()}"
    return failure(check, f"{place}: {numbers}" if place else numbers, detail, outcome.error)
