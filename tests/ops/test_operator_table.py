"""Every row of the operator table, in every mode; and that every operator has a row, an example, and its gradients."""

from __future__ import annotations

import doctest
import fnmatch
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import autograd as hips
import numpy as np
import pytest
from calling_rows import (
    call,
    chosen,
    operator_of,
    raw_weights,
    scope,
    tape_gradients,
    weights_for,
)
from many import each
from operator_table import ALL_ROWS
from operator_table.exceptions import EXCEPTIONS
from operator_table.row import Row

import minpy as mx
from minpy import nd
from minpy.checking import MODES, SECOND_ORDER, Report, check_operator
from minpy.core import Operator
from minpy.ops.registry import OPERATORS

PUBLIC = {operator.__name__: (operator,) for operator in OPERATORS.values()}
ROWS = {row.id: (row,) for row in ALL_ROWS}

# Every row is compiled, too: one of the modes.
COMPILES = True


def close(got: Any, expected: Any, tolerance: float) -> None:
    scale = max(1.0, float(np.nanmax(np.abs(expected), initial=0)))
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale)


def test_rows_have_names_of_their_own() -> None:
    assert len(ROWS) == len(ALL_ROWS)


@each(ROWS)
def test_values(row: Row) -> None:
    """NumPy arrays and NDArrays give the reference's values, in float64, float32 and float16."""
    inputs = row.draw()
    copies = [value.copy() for value in inputs]
    with scope(row):
        expected = call(row, inputs)
        on_arrays = call(row, [nd.array(value, dtype="float64") for value in copies])
    for output, array in zip(expected, on_arrays, strict=True):
        if inputs:  # without, there is no kind of array to answer in
            assert isinstance(array, nd.NDArray)
            array = array.asnumpy()
        np.testing.assert_array_equal(array, output)
    operator = operator_of(row)
    for name, value, copy in zip(operator.argument_names(len(inputs)), inputs, copies, strict=True):
        if name not in operator.auxiliary:
            np.testing.assert_array_equal(value, copy, err_msg="the operator changed its input")
    if row.reference is not None and not row.random:
        reference = row.reference(*copies, **row.attributes)
        reference = reference if isinstance(reference, tuple) else (reference,)
        for output, wanted in zip(expected, reference, strict=True):
            assert output.shape == np.shape(wanted)
            close(output, wanted, row.tolerance)


@each({row.id: (row,) for row in ALL_ROWS if row.dtypes})
def test_dtypes(row: Row) -> None:
    """Narrow inputs give narrow results, the right ones to within their precision."""
    for dtype in row.dtypes:
        inputs = row.draw(dtype)
        with scope(row):
            outputs = call(row, [nd.array(value, dtype=dtype) for value in inputs])
            expected = call(row, [value.astype("float64") for value in inputs])
        for output, wanted in zip(outputs, expected, strict=True):
            if np.dtype(wanted.dtype).kind == "f":
                assert output.dtype == np.dtype(dtype).type
            if not row.random:
                close(output.asnumpy().astype("float64"), wanted, row.float16_tolerance if dtype == "float16" else 1e-4)
        if row.order:
            gradients = tape_gradients(row, inputs, weights_for(chosen(row, outputs)))
            assert {gradient.dtype for gradient in gradients} == {np.dtype(dtype)}


# -- op.check, in every mode -------------------------------------------------------------------------------------------


REPORTS: dict[str, Report] = {}


def checked(row: Row) -> Report:
    """Return the report of `op.check` on a row's inputs: of one run, for all tests of a process that read it."""
    if row.id not in REPORTS:
        options: dict[str, Any] = {"rtol": row.tolerance, "ulps": row.ulps, "gradient_of": row.loss}
        with scope(row):
            if row.random:
                mx.random.seed(7)
            REPORTS[row.id] = check_operator(operator_of(row), row.draw(), row.attributes, **options)
    return REPORTS[row.id]


def skipped_by_nature(row: Row) -> set[str]:
    """Return the checks that do not apply to calls without inputs, or to inputs without names."""
    modes = {*MODES, "gradients", "non-contiguous inputs", "zero-size inputs"}
    if not row.specs:
        return modes
    return {"by keyword"} if operator_of(row).signature.variadic is not None else set()


@functools.cache
def patterns(rows: str) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, rows.split())))


def reason_to_skip(row: Row, what: str) -> str | None:
    """Return why the table says that a check does not apply to a row; None if it does not say so."""
    reasons = [
        reason
        for check, rows, reason in EXCEPTIONS
        if fnmatch.fnmatchcase(what, check) and patterns(rows).match(row.id)
    ]
    assert len(reasons) <= 1, f"{row.id}, {what}: several exceptions, {reasons}"
    return reasons[0] if reasons else None


@pytest.mark.parametrize("row", ALL_ROWS, ids=ROWS)
def test_op_check(row: Row) -> None:
    """`op.check` passes in every mode, and checks all that the row promises."""
    report = checked(row)
    results = {line.what: line.result for line in report.rows}
    by_nature = skipped_by_nature(row)
    for line in report.rows:
        if line.result != "ok" and line.what not in by_nature:
            assert reason_to_skip(row, line.what), f"{row.id} skips {line.what!r}: {line.note}"
    operator = operator_of(row)
    names = [operator.argument_name(position) for position in row.differentiable]
    if row.order >= 1 or row.loss is not None:
        assert all(results[f"gradient of {name}"] == "ok" for name in names)
    if row.order >= 2:
        nonzero = [position for position in row.differentiable if not operator.is_zero(position)]
        assert all(results[f"second order, {operator.argument_name(position)}"] == "ok" for position in nonzero)
        assert all(results[f"second order, {mode}"] == "ok" for mode in SECOND_ORDER)


def test_every_exception_is_one() -> None:
    """No entry of the list of exceptions names checks that every row passes."""
    needed = set()
    for row in ALL_ROWS:
        entries = [entry for entry in EXCEPTIONS if patterns(entry[1]).match(row.id)]
        if entries and not all(entry in needed for entry in entries):
            skipped = [line.what for line in checked(row).rows if line.result == "skipped"]
            needed |= {entry for entry in entries if any(fnmatch.fnmatchcase(what, entry[0]) for what in skipped)}
    assert not [entry for entry in EXCEPTIONS if entry not in needed]


def boxed_scalar(row: Row, weights: list[np.ndarray]) -> Callable[..., Any]:
    """Return the weighted sum of a row's outputs as a function for HIPS autograd."""

    def scalar(*inputs: Any) -> Any:
        outputs = chosen(row, call(row, inputs))
        return sum(hips.numpy.sum(weight * output) for weight, output in zip(weights, outputs, strict=True))

    return scalar


@each({row.id: (row,) for row in ALL_ROWS if row.order == 0})
def test_no_gradient(row: Row) -> None:
    """What is not differentiable says why, and where its gradient is zero, it is."""
    assert row.reason
    operator = operator_of(row)
    inputs = row.draw()
    for position in range(len(inputs)):
        if operator.is_zero(position):
            weights = raw_weights(row, inputs)
            assert not hips.grad(
                lambda *v, weights=weights: boxed_scalar(row, weights)(*v) + 0 * sum(map(hips.numpy.sum, v)), position
            )(*inputs).any()
    if inputs and all(map(operator.is_zero, range(len(inputs)))):
        arrays = [nd.array(value) for value in inputs]
        for array in arrays:
            array.attach_grad()
            array.grad[:] = 9
        with mx.autograd.record():
            heads = [output for output in call(row, arrays) if output._node is not None]
        if heads:
            mx.autograd.backward(heads)
            assert not any(array.grad.asnumpy().any() for array in arrays)


# -- the registry ------------------------------------------------------------------------------------------------------


ROWS_OF: dict[int, list[Row]] = {}
for _row in ALL_ROWS:
    ROWS_OF.setdefault(id(operator_of(_row)), []).append(_row)


@each(PUBLIC)
def test_every_operator_has_a_row_and_its_gradients(operator: Operator) -> None:
    rows = ROWS_OF.get(id(operator))
    assert rows, f"{operator.__name__} has no row in tests/support/operator_table"
    for row in rows:
        if row.order:
            assert all(operator.has_rule(position) for position in row.differentiable), row.id
        else:
            assert row.reason, f"{row.id} is not differentiated, and says not why"
    for position in range(len(operator.signature.inputs)):
        integer = all(position >= len(row.specs) or row.specs[position].integers for row in rows)
        stated = integer or operator.has_rule(position) or all(row.order == 0 for row in rows)
        assert stated, f"{operator.__name__}: argument {position} has no gradient, and no row says why"


@each(PUBLIC)
def test_every_operator_is_documented(operator: Operator) -> None:
    """A docstring with a summary, the arguments, what is returned, and an example that runs."""
    text = inspect.getdoc(operator) or ""
    assert text.split("\n\n")[0].endswith("."), "the first paragraph is a sentence"
    assert "Returns\n-------" in text
    names = [*operator.signature.inputs, *operator.signature.attributes]
    missing = [name for name in names if name not in text]
    assert not missing, f"{operator.__name__}: {missing} are not explained"
    examples = doctest.DocTestParser().get_doctest(text, {}, operator.__name__, None, 0)
    assert examples.examples, f"{operator.__name__} has no example"
    report: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(examples, out=report.append)
    assert not report, "".join(report)
