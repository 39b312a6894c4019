"""Gradients of compositions of NumPy's functions in graphs: those of their parts, as steps, equal to the tape's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import ROUNDS, both_kinds_of_program
from traces import Trace

import minpy as mx
from minpy.capture.abstract_evaluation import VALUE_BASED
from minpy.capture.captured_run import run_captured
from minpy.capture.numpy_functions import changed, filled
from minpy.capture.steps import Slot, fill, make_step, power
from minpy.capture.storage import as_dtype, item_of, with_item
from minpy.capture.ufuncs import computed_at
from minpy.differentiation.trees import leaves_of
from minpy.graph.step_rules import has_step_rule, step_gradients

COMPILES = True
native = both_kinds_of_program()
trapezoid = getattr(np, "trapezoid" if hasattr(np, "trapezoid") else "trapz")  # NumPy 1's name

CASES: dict[str, Callable[..., Any]] = {
    "concatenate": lambda x, y, t: np.concatenate([x * 2, y * x, y], axis=1),
    "concatenate, flat": lambda x, y, t: np.concatenate([x * 2, t], axis=None),
    "stack": lambda x, y, t: np.stack([x * 2, y], axis=1),
    "stack of one twice": lambda x, y, t: np.stack([x, x], axis=-1) * 2,
    "vstack": lambda x, y, t: np.vstack([x * 2, y[0]]),
    "hstack": lambda x, y, t: np.hstack([x * 2, y]),
    "dstack": lambda x, y, t: np.dstack([x * 2, y]),
    "column_stack": lambda x, y, t: np.column_stack([x[:, 0], y * 2]),
    "concatenate with a constant": lambda x, y, t: np.concatenate([np.ones((1, 6)), x * 2, np.zeros((2, 6))]),
    "outer with a constant": lambda x, y, t: np.outer(np.arange(3.0), x[0] * 2),
    "einsum with a constant": lambda x, y, t: np.einsum("ij,jk->ik", np.ones((2, 4)), x * 2),
    "select of a number": lambda x, y, t: np.select([x > 0, y > 0], [1.5, y * x], x),
    "append": lambda x, y, t: np.append(x * 2, y, axis=0),
    "pad": lambda x, y, t: np.pad(x * 2, ((1, 2), (0, 1))),
    "pad, edge": lambda x, y, t: np.pad(x * 2, ((1, 2), (0, 1)), mode="edge"),
    "pad, reflect": lambda x, y, t: np.pad(x * 2, ((1, 2), (0, 1)), mode="reflect"),
    "einsum": lambda x, y, t: np.einsum("ij,kj->ik", x * 2, y),
    "einsum of three": lambda x, y, t: np.einsum("ij,kj,kl->il", x, y, y),
    "einsum that sums": lambda x, y, t: np.einsum("ij->j", x * 2),
    "einsum, implicit": lambda x, y, t: np.einsum("ij,jk", x, y.T),
    "tensordot": lambda x, y, t: np.tensordot(x * 2, t, axes=([1], [2])),
    "tensordot of two axes": lambda x, y, t: np.tensordot(t * 2, t, axes=([0, 2], [0, 2])),
    "tensordot, turned": lambda x, y, t: np.tensordot(x @ x.T @ x, x.T, axes=([1, 0], [0, 1])),
    "inner": lambda x, y, t: np.inner(x * 2, y),
    "outer": lambda x, y, t: np.outer(x[0], y[1] * 2),
    "new axes": lambda x, y, t: x[:, None] - x[None, :],
    "a new axis at the end": lambda x, y, t: x[..., None] * 2,
    "norm": lambda x, y, t: np.linalg.norm(x * 2),
    "norm of rows": lambda x, y, t: np.linalg.norm(x * 2, axis=1),
    "norm, 3": lambda x, y, t: np.linalg.norm(x * 2, ord=3, axis=1),
    "take": lambda x, y, t: np.take(x * 2, [0, 0, 3], axis=0),
    "rows": lambda x, y, t: (x * 2)[np.array([0, 0, -1])],
    "where": lambda x, y, t: np.where(y > 0, x * 2, y * x),
    "select": lambda x, y, t: np.select([x > 0, y > 0], [x * 2, y * x], 0.0),
    "split": lambda x, y, t: np.split(x * 2, 2)[1] * np.split(x * 3, 2)[0],
    "array_split": lambda x, y, t: np.array_split(x * 2, 3, axis=1)[0] * 3,
    "roll": lambda x, y, t: np.roll(x * 2, 2, axis=1),
    "cumsum": lambda x, y, t: np.cumsum(x * 2, axis=1),
    "diff": lambda x, y, t: np.diff(x * 2, n=2, axis=1),
    "diag": lambda x, y, t: np.diag(x * 2),
    "diag beside": lambda x, y, t: np.diag(x[0] * 2, k=-1),
    "diagonal": lambda x, y, t: np.diagonal(t * 2, 1, 2, 0),
    "triu": lambda x, y, t: np.triu(x * 2, 1),
    "tril": lambda x, y, t: np.tril(x * 2),
    "trace": lambda x, y, t: np.trace(x * 2),
    "rot90": lambda x, y, t: np.rot90(x * 2, 3),
    "flip": lambda x, y, t: np.flip(x * 2, 1),
    "tile": lambda x, y, t: np.tile(x * 2, (2, 1)),
    "repeat": lambda x, y, t: np.repeat(x * 2, 3, axis=1),
    "fliplr": lambda x, y, t: np.fliplr(x * 2) * y,
    "rollaxis": lambda x, y, t: np.rollaxis(t * 2, 2),
    "hsplit": lambda x, y, t: np.hsplit(x * 2, 2)[1],
    "atleast_3d": lambda x, y, t: np.atleast_3d(x * 2),
    "meshgrid": lambda x, y, t: np.meshgrid(x[0] * 2, y[1])[1],
    "meshgrid of one": lambda x, y, t: np.meshgrid(x[0] * 2)[0] * y,
    "split into one": lambda x, y, t: np.hsplit(x * 2, 1)[0] * y,
    "repeat, one by one": lambda x, y, t: np.repeat(x * 2, [1, 0, 2, 3], axis=0),
    "delete": lambda x, y, t: np.delete(x * 2, [1, 3], axis=1),
    "resize": lambda x, y, t: np.resize(x * 2, (5, 7)),
    "ediff1d": lambda x, y, t: np.ediff1d(x * 2),
    "kron": lambda x, y, t: np.kron(x[:2] * 2, y[1:]),
    "cross": lambda x, y, t: np.cross(x[:, :3] * 2, y[:, 3:]),
    "var": lambda x, y, t: np.var(x * 2, axis=1, ddof=1),
    "std": lambda x, y, t: np.std(x * 2, axis=0),
    "trapezoid": lambda x, y, t: trapezoid(x * 2, dx=0.5, axis=0),
    "vander": lambda x, y, t: np.vander(x[0] * 2, 4),
    "polyval": lambda x, y, t: np.polyval(x[0], y * 2),
    "unwrap": lambda x, y, t: np.unwrap(x * 4),
    "convolve": lambda x, y, t: np.convolve(x[0] * 2, y[0, :3], "same"),
    "inv": lambda x, y, t: np.linalg.inv(x @ x.T + np.eye(4)),
    "solve": lambda x, y, t: np.linalg.solve(x @ x.T + np.eye(4), y),
    "slogdet": lambda x, y, t: np.linalg.slogdet(x @ x.T + np.eye(4))[1],
    "nansum": lambda x, y, t: np.nansum(np.where(x > 0, x, np.nan), axis=0),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_compositions_are_steps(name: str, native: bool) -> None:
    draw = np.random.RandomState(2)
    arrays = [draw.normal(size=shape) for shape in ((4, 6), (4, 6), (3, 5, 6))]

    def total(*values: Any) -> Any:
        return np.sum(np.sin(CASES[name](*values)))

    expected = mx.grad(total, argnum=[0, 1, 2])(*arrays)
    gradient = mx.compile(mx.grad(total, argnum=[0, 1, 2]))
    for _ in range(ROUNDS):
        found = gradient(*arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    if native and not VALUE_BASED:  # some stay calls where values decide about dtypes
        items = [item for part in gradient.explain()[0].parts for item in part.items]
        assert not [item.what for item in items if item.kind == "call" and "gradient" in item.what]


def test_what_is_called_stands_between_steps(native: bool) -> None:
    """`sort` is called, and its gradient; what stands around it is not."""
    given = np.random.RandomState(0).normal(size=(3, 3))

    def total(x: Any) -> Any:
        return np.sum(np.sin(np.einsum("ij,ij->i", x, np.sort(x, axis=1))))

    expected = mx.grad(total)(given)
    gradient = mx.compile(mx.grad(total))
    for _ in range(ROUNDS):
        found = gradient(given)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_rules_of_steps_answer_for_what_they_know() -> None:
    step = make_step(np.concatenate, ([Slot(0), Slot(1), Slot(0)],), {"axis": 0})
    assert has_step_rule(step)
    assert not has_step_rule(make_step(np.sort, (Slot(0),), {}))
    arrays = [np.ones((1, 2)), np.ones((2, 2))]
    gradient = np.arange(8.0).reshape(4, 2)
    first, second = step_gradients(step, np.concatenate([arrays[0], *arrays]), arrays, gradient) or []
    np.testing.assert_array_equal(first, gradient[:1] + gradient[3:])
    np.testing.assert_array_equal(second, gradient[1:3])
    (zeros,) = step_gradients(make_step(np.fix, (Slot(0),), {}), np.ones(2), [np.ones(2)], np.ones(2)) or []
    np.testing.assert_array_equal(zeros, np.zeros(2))
    diagonals = make_step(np.einsum, ("ii->i", Slot(0)), {})
    assert step_gradients(diagonals, np.ones(2), [np.ones((2, 2))], np.ones(2)) is None


A, B = Slot(0), Slot(1)
ROWS_OF_2 = np.array([2, 0])
# Steps that captures make of stores, casts and powers: (function, arguments), of two arrays of 3 rows and 4 columns.
MADE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "item": (item_of, (A, (slice(1, None), 2))),
    "item by arrays": (item_of, (A, (ROWS_OF_2, slice(None)))),
    "store": (with_item, (A, (1, slice(None)), 3.0)),
    "store of rows": (with_item, (A, slice(None), B)),
    "store by arrays": (with_item, (A, (np.array([0, 2, 1]), slice(None)), B)),
    "store twice at a place": (with_item, (A, (np.array([0, 2, 0]),), B)),
    "copyto": (changed, (np.copyto, A, (B,), {})),
    "copyto where": (changed, (np.copyto, A, (B,), {"where": np.arange(12).reshape(3, 4) % 3 == 0})),
    "fill_diagonal": (changed, (np.fill_diagonal, A, (2.0,), {})),
    "put": (changed, (np.put, A, ([0, 5, 5], B), {})),
    "putmask": (changed, (np.putmask, A, (np.arange(12).reshape(3, 4) % 2 == 0, B), {})),
    "place": (changed, (np.place, A, (np.arange(12).reshape(3, 4) % 2 == 0, B), {})),
    "put_along_axis": (changed, (np.put_along_axis, A, (np.array([[1], [0], [3]]), 0.5, 1), {})),
    "add.at": (computed_at, (np.add, A, (np.array([0, 2, 0]),), (B,))),
    "cast": (as_dtype, (A, np.dtype("float64"))),
    "power": (power, (A, 3)),
    "power of arrays": (power, (A, B)),
    "flatten": (np.ndarray.flatten, (A, "F")),
    "filled": (filled, (Slot(2), (2, 3), np.dtype("float64"))),
}


@pytest.mark.parametrize("name", MADE)
def test_gradients_of_what_captures_make(name: str) -> None:
    """They are those of finite differences; and captured they are the same."""
    function, arguments = MADE[name]
    step = make_step(function, arguments, {})
    assert has_step_rule(step)
    draw = np.random.RandomState(5)
    arrays: list[Any] = [draw.uniform(0.5, 1.5, (3, 4)), draw.uniform(0.5, 1.5, (3, 4)), np.array(0.75)]
    arrays = arrays[: 1 + max(leaf.index for leaf in leaves_of(arguments) if isinstance(leaf, Slot))]
    answer = function(*fill(arguments, arrays))
    gradient = draw.normal(size=answer.shape)
    found = step_gradients(step, answer, arrays, gradient) or []
    trace = Trace()
    given = [trace.given(array) for array in arrays]
    captured = run_captured(trace.recorder, step_gradients, step, trace.given(answer), given, trace.given(gradient))
    for place, array in enumerate(arrays):
        if found[place] is None:
            continue
        np.testing.assert_allclose(trace.compute(captured[place]), found[place], rtol=1e-12)
        direction = draw.normal(size=array.shape) * 1e-6
        ends = [
            function(*fill(arguments, [*arrays[:place], array + sign * direction, *arrays[place + 1 :]]))
            for sign in (1, -1)
        ]
        expected = np.sum(gradient * (ends[0] - ends[1])) / 2
        np.testing.assert_allclose(np.sum(found[place] * direction), expected, rtol=1e-5, atol=1e-12)
    assert sum(part is not None for part in found) == len(arrays) - ("filled" in name) * 2
