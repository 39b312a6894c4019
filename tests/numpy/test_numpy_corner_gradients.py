"""Gradients of NumPy's functions in corners: `einsum` in all its forms, and roots of sums of squares at 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy
import minpy.numpy as mnp
from minpy import autograd

EINSUMS: dict[str, tuple[Any, ...]] = {
    "one axis of length 1": ("ij,ij->j", (1, 1), (2, 3)),
    "the first of length 1": ("ij,ij->ij", (1, 3), (2, 3)),
    "summed as well": ("ij,ij->", (1, 3), (2, 3)),
    "each of another one": ("ij,ij->i", (2, 1), (1, 3)),
    "a product": ("ij,jk->ik", (2, 1), (3, 2)),
    "of length 1 everywhere": ("ij,ij->ij", (1, 3), (1, 3)),
    "an answer left out": ("ij,ij", (1, 1), (2, 3)),
    "an answer left out, of a product": ("ij, jk", (2, 1), (3, 2)),
    "an ellipsis": ("...i,...i", (1, 3), (2, 3)),
    "an ellipsis of other axes": ("...i,...i->...", (3,), (4, 2, 3)),
    "an ellipsis in front": ("i...,i...->...", (1, 3), (2, 3)),
    "an ellipsis of nothing": ("...ij,jk...->...ik", (2, 3), (3, 2)),
    "an ellipsis and a transpose": ("...ij->...ji", (2, 3, 4)),
    "an ellipsis in the answer alone": ("i...->i...", (2, 3)),
    "a diagonal": ("ii->i", (3, 3)),
    "a trace": ("ii", (3, 3)),
    "a diagonal of a batch": ("bii->bi", (2, 3, 3)),
    "a diagonal of three axes": ("iii->i", (2, 2, 2)),
    "a diagonal beside another": ("ii,ij->j", (3, 3), (3, 2)),
    "a diagonal of length 1": ("ii,ij->j", (1, 1), (3, 2)),
    "summed alone": ("ij,k->k", (2, 3), (4,)),
    "summed alone, everything": ("ij->", (2, 3)),
    "three": ("ij,ij,i->j", (1, 3), (2, 1), (2,)),
    "four": ("a,ab,bc,c->", (2,), (2, 3), (1, 4), (4,)),
    "a number": (",ij->ij", (), (2, 3)),
    "labels in pairs": ((1, 1), [0, 1], (2, 3), [0, 1], [1]),
    "labels in pairs, an answer left out": ((2, 1), [1, 0], (3, 2), [0, 2]),
    "labels in pairs, an ellipsis": ((1, 3), [Ellipsis, 0], (2, 3), [Ellipsis, 0], [Ellipsis]),
    "labels in pairs, a diagonal": ((3, 3), [5, 5], [5]),
}


def drawn(form: tuple[Any, ...]) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """Return einsum as a function of its arrays, and arrays."""
    draw = np.random.default_rng(3)
    shapes = [part for part in form if isinstance(part, tuple)]
    arrays = [draw.normal(size=shape) for shape in shapes]

    def function(*values: Any) -> Any:
        left = list(values)
        return mnp.einsum(*(left.pop(0) if isinstance(part, tuple) else part for part in form))

    return function, arrays


def numeric(function: Callable[..., Any], arrays: list[np.ndarray], position: int, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of what is linear in each of its arrays."""
    found = np.zeros(arrays[position].shape)
    for index in np.ndindex(found.shape):
        unit = np.zeros(found.shape)
        unit[index] = 1
        found[index] = np.sum(weights * np.asarray(function(*arrays[:position], unit, *arrays[position + 1 :])))
    return found


def raw_einsum(form: tuple[Any, ...]) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        left = list(values)
        return np.einsum(*(left.pop(0) if isinstance(part, tuple) else part for part in form))

    return function


@pytest.mark.parametrize("name", EINSUMS)
def test_the_gradient_of_einsum(name: str) -> None:
    form = EINSUMS[name]
    function, arrays = drawn(form)
    raw = raw_einsum(form)
    weights = np.random.default_rng(4).normal(size=np.shape(raw(*arrays)))
    for position, array in enumerate(arrays):
        expected = numeric(raw, arrays, position, weights)

        def loss(*values: Any) -> Any:
            return mnp.sum(function(*values) * weights)

        def squared(*values: Any) -> Any:
            return mnp.sum(function(*values) ** 3)

        np.testing.assert_allclose(np.asarray(minpy.grad(loss, position)(*arrays)), expected, rtol=1e-10, atol=1e-12)

        recorded = [minpy.np.array(one, dtype="float64") for one in arrays]
        recorded[position].attach_grad()
        with autograd.record():
            answer = mnp.sum(function(*recorded) * minpy.np.array(weights, dtype="float64"))
        answer.backward()
        np.testing.assert_allclose(recorded[position].grad.asnumpy(), expected, rtol=1e-10, atol=1e-12)

        # The second order, along a direction.
        direction = np.random.default_rng(5).normal(size=array.shape)
        slope = minpy.grad(squared, position)

        def along(value: Any) -> Any:
            return mnp.sum(slope(*arrays[:position], value, *arrays[position + 1 :]) * direction)

        step = 1e-5 * direction
        ahead, behind = (
            np.asarray(slope(*arrays[:position], array + sign * step, *arrays[position + 1 :])) for sign in (1, -1)
        )
        np.testing.assert_allclose(
            np.asarray(minpy.grad(along)(array)), (ahead - behind) / 2e-5, rtol=2e-4, atol=1e-5 * np.abs(ahead).max()
        )


@pytest.mark.parametrize(
    "name",
    ["one axis of length 1", "an ellipsis", "a diagonal", "three", *(name for name in EINSUMS if "in pairs" in name)],
)
def test_the_gradient_of_einsum_compiled(name: str) -> None:
    form = EINSUMS[name]
    function, arrays = drawn(form)
    loss = minpy.compile(lambda *values: mnp.sum(function(*values) ** 2))
    for position in range(len(arrays)):
        expected = np.asarray(minpy.grad(lambda *values: mnp.sum(function(*values) ** 2), position)(*arrays))
        for _ in range(4):
            recorded = [minpy.np.array(one, dtype="float64") for one in arrays]
            recorded[position].attach_grad()
            with autograd.record():
                answer = loss(*recorded)
            answer.backward()
            np.testing.assert_allclose(recorded[position].grad.asnumpy(), expected, rtol=1e-9)
    assert loss.reason is None


ROOTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "std": (lambda x: mnp.std(x), [2.0, 2.0, 2.0]),
    "std of columns": (lambda x: mnp.sum(mnp.std(x, axis=0)), [[1.0, 1.0], [1.0, 1.0]]),
    "std that keeps axes": (lambda x: mnp.sum(mnp.std(x, axis=1, keepdims=True, ddof=1)), [[1.0, 1.0], [1.0, 1.0]]),
    "std of one": (lambda x: mnp.std(x), [3.0]),
    "nanstd": (lambda x: mnp.nanstd(x), [2.0, 2.0, 2.0]),
    "norm": (lambda x: mnp.linalg.norm(x), [0.0, 0.0]),
    "norm of rows": (lambda x: mnp.sum(mnp.linalg.norm(x, axis=1)), [[0.0, 0.0], [0.0, 0.0]]),
    "norm of a matrix": (lambda x: mnp.linalg.norm(x, "fro"), [[0.0, 0.0], [0.0, 0.0]]),
    "norm of order 3": (lambda x: mnp.linalg.norm(x, 3), [0.0, 0.0]),
    "norm of order 1": (lambda x: mnp.linalg.norm(x, 1), [0.0, 0.0]),
    "var": (lambda x: mnp.var(x), [2.0, 2.0, 2.0]),
}


@pytest.mark.parametrize("name", ROOTS)
def test_the_gradient_of_a_root_at_zero_is_zero(name: str) -> None:
    """It has a kink there, and 0 is its smallest subgradient; a division of 0 by 0 would spoil a whole training."""
    function, value = ROOTS[name]
    x = np.array(value)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(np.asarray(minpy.grad(function)(x)), np.zeros(x.shape))
        assert np.isfinite(np.asarray(minpy.hessian(function)(x))).all()
        compiled = minpy.compile(function)
        for _ in range(4):
            recorded = minpy.np.array(x, dtype="float64")
            recorded.attach_grad()
            with autograd.record():
                answer = compiled(recorded)
            answer.backward()
            np.testing.assert_array_equal(recorded.grad.asnumpy(), np.zeros(x.shape))


def test_roots_beside_one_that_is_zero_keep_their_gradients() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = np.asarray(minpy.grad(lambda x: mnp.sum(mnp.linalg.norm(x, axis=1)))(x))
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8]])
    found = np.asarray(minpy.grad(lambda x: mnp.sum(mnp.std(x, axis=1)))(np.array([[1.0, 1.0], [1.0, 3.0]])))
    np.testing.assert_allclose(found, [[0, 0], [-0.5, 0.5]])


@pytest.mark.parametrize("order", [None, 1, 3, 0.5])
def test_recorded_norms_keep_their_dtype(order: float | None) -> None:
    x = mnp.array([1.0, 2.0, 4.0])
    x.attach_grad()
    with autograd.record():
        norm = mnp.linalg.norm(x, order)
    assert norm.dtype == np.float32
    norm.backward()
    assert x.grad.dtype == np.float32
