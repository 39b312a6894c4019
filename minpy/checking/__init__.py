"""`op.check`: does an operator do what it says, in every mode?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from minpy.checking.case import Case, Draws, Options, Point, attempt, skip
from minpy.checking.checks import (
    RANDOM,
    check_dtype,
    check_empty,
    check_forward,
    check_mode,
    check_mutation,
    check_shape_rule,
    check_strides,
)
from minpy.checking.execution_modes import MODES, SECOND_ORDER, Unsupported, register_mode
from minpy.checking.gradient_checks import check_at_zeros, check_gradient, check_jvp, check_second_order, check_zero
from minpy.checking.kernel_forms import check_forms
from minpy.core.extensions import extension, import_modules
from minpy.core.reports import FAILED, OK, Report, Row
from minpy.core.state import Scope

__all__ = ["MODES", "SECOND_ORDER", "Case", "Report", "Row", "Unsupported", "check_operator", "register_mode"]


def check_operator(
    operator: Any,
    arguments: Sequence[Any],
    attributes: Mapping[str, Any] | None = None,
    *,
    rtol: float = 1e-6,
    atol: float = 1e-8,
    seed: int = 0,
    directions: int = 3,
    ulps: float = 4.0,
    gradient_of: Callable[..., Any] | None = None,
    frameworks: bool = False,
) -> Report:
    """Check an operator at one point: its gradients against central differences, its other promises, every mode.

    Floating-point inputs are converted to float64, and moved along random directions. Checked are

    - that the forward function repeats itself, and that neither it nor a rule changes its inputs;
    - the shape rule, each gradient rule and each JVP rule, and the second-order gradients where the rules are plain
      NumPy ("first order only" is reported where they are not); all of them again where inputs are zero, as far as
      the function is smooth there;
    - that faster forms (kernels, and forms that compute in given memory) compute what their definitions do;
    - shapes and dtypes in float32 and float16, non-contiguous inputs, inputs without elements;
    - that recorded arrays, calls by keyword, HIPS autograd and every other registered mode give the same numbers.

    With `frameworks=True`, the operator is checked in PyTorch, JAX and PyTensor, too, as `minpy.frameworks` makes it
    one of theirs: values and gradients, second order, batches (`vmap`), and compiled.

    What cannot be checked is reported as skipped, with the reason: a framework that is not installed, inputs at a kink,
    a dtype or an empty array that the forward function does not take. Integer inputs are not differentiated. Random
    operators draw the same numbers at each call, from NumPy's global generator, Python's or minpy's, which are left as
    they were found.

    Parameters
    ----------
    operator : Operator
    arguments : sequence
        Inputs of the call: arrays of any kind, numbers, None. For a method, its instance comes first.
    attributes : mapping, optional
        Inputs and attributes that are given by keyword.
    rtol, atol : float
        Error allowed between a gradient and central differences, relative and absolute.
    seed : int
        Seed of the random directions and upstream gradients.
    directions : int
        How many random directions each gradient is tried along.
    ulps : float
        How far faster forms may be from their definitions, in units in the last place.
    gradient_of : callable, optional
        What the rules give the gradient of, where that is not the forward function (an output layer of a loss, a
        straight-through estimator). It is called as the operator is, and returns arrays like the operator's, which the
        upstream gradients weigh; or one number, for rules that do not read the upstream gradient.
    frameworks : bool
        Whether the operator is checked in other frameworks, too. It takes some seconds.

    Returns
    -------
    Report
        A row for each check; it prints as a table.

    Raises
    ------
    CheckError
        If a check fails: with the worst element, what was got and expected, and the table.

    Examples
    --------
    >>> import numpy as np
    >>> from minpy import customop
    >>> @customop('numpy')
    ... def scaled(x, factor):
    ...     return x * factor
    >>> scaled.def_grad(lambda ans, x, factor: lambda g: g * factor)
    <Operator scaled(x, factor), gradients: x>
    >>> scaled.def_grad(lambda ans, x, factor: lambda g: np.sum(g * ans), argnum=1)  # should be g * x
    <Operator scaled(x, factor), gradients: x, factor>
    >>> scaled.check(np.array([1.0, 2.0]), 3.0)
    Traceback (most recent call last):
    minpy.core.errors.CheckError: scaled.check: the gradient of argument 1 (factor) is wrong: the rule gives ...

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore')  # that a rule is replaced
    ...     scaled.def_grad(lambda ans, x, factor: lambda g: np.sum(g * x), argnum=1)
    <Operator scaled(x, factor), gradients: x, factor>
    >>> scaled.check(np.array([1.0, 2.0]), 3.0)
    scaled(x float64 (2,), factor float64 ())
    check                                result  worst error  note
    forward                              ok                   returns float64 (2,)
    inputs unchanged                     ok
    gradient of x                        ok              ...
    gradient of factor                   ok              ...
    second order, x                      ok              ...
    second order, factor                 ok              ...
    second order, upstream g             ok              ...
    float32                              ok
    float16                              ok
    non-contiguous inputs                ok              ...
    zero-size inputs                     ok                   (0,), ()
    recorded ndarray                     ok              ...
    recorded NDArray                     ok              ...
    by keyword                           ok              ...
    HIPS autograd                        ok              ...
    bound symbol                         ok              ...
    """
    import_modules("Operator.check")
    case = Case.read(operator, arguments, attributes or {})
    report = Report(str(case))
    draws = Draws()
    try:
        with operator.being_checked(), Scope(False, None), numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            point = _run(case, Options(rtol, atol, seed, directions, ulps, gradient_of), report)
            if frameworks and point is not None:
                report.rows += extension("Operator.check frameworks")(point)
    finally:
        draws.rewind()
    return report.require_success(operator.__name__)


def _run(case: Case, options: Options, report: Report) -> Point | None:
    """Do all checks in order, and return the point that they were at; None where one makes later ones meaningless."""

    def add(check_name: str, check: Callable[..., Any], *arguments: Any) -> list[Row]:
        rows = attempt(check_name, partial(check, *arguments))
        report.rows += rows
        return rows

    if case.operator.random:
        case = replace(case, draws=Draws())
    [forward] = add("forward", check_forward, case)
    if forward.note == RANDOM and case.draws is None:
        case = replace(case, draws=Draws())
        report.rows.clear()
        [forward] = add("forward", check_forward, case)
    if forward.result != OK:
        return None
    point = Point(case, options)
    add("inputs unchanged", check_mutation, point)
    if report.failures:
        return None
    if case.operator.shape_rule is not None:
        add("shape rule", check_shape_rule, point)
    report.rows += _without_gradient(point)
    if point.case.slots:
        point.case = replace(case, slots=_check_gradients(point, add))
    add("forms", check_forms, case, point.options.ulps)
    for dtype in ("float32", "float16"):
        add(dtype, check_dtype, point, dtype)
    add("non-contiguous inputs", check_strides, point)
    add("zero-size inputs", check_empty, point)
    for name, runner in MODES.items():
        add(name, check_mode, point, name, runner)
    return point


def _without_gradient(point: Point) -> list[Row]:
    """Return the rows of floating-point inputs that are not differentiated, with the reason."""
    case, operator = point.case, point.case.operator
    real = any(value.dtype.kind == "f" for value in case.arrays.values())
    if real and not any(y.dtype.kind == "f" for y in point.outputs):
        point.case = replace(case, slots=())
        return [skip("gradients", "no output is floating point")]
    rows = []
    for slot, value in case.arrays.items():
        if value.dtype.kind == "f" and slot not in case.slots:
            check_name = f"gradient of {case.name(slot)}"
            if operator.is_zero(slot):
                rows += attempt(check_name, partial(check_zero, point, slot))
            else:
                rows.append(skip(check_name, f"no rule: see {operator.__name__}.def_grad"))
    return rows if real else [skip("gradients", "no input is floating point")]


def _check_gradients(point: Point, add: Callable[..., list[Row]]) -> tuple[int | str, ...]:
    """Check first order, forward mode and second order; return the inputs whose rules run at all."""
    case = point.case
    rows: list[Row] = []
    for position, slot in enumerate(case.slots):
        rows += add(f"gradient of {case.name(slot)}", check_gradient, point, position)
    running = tuple(slot for slot, row in zip(case.slots, rows, strict=True) if row.cause is None)
    for position, slot in enumerate(case.slots):
        if slot in case.operator.jvp_rules:
            rows += add(f"jvp of {case.name(slot)}", check_jvp, point, position)
    if any(row.result == FAILED for row in rows):
        add("second order", skip, "second order", "first order is wrong")
    else:
        add("second order", check_second_order, point, True)
        add("zeros among the inputs", check_at_zeros, point)
    return running
