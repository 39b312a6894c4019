"""Gradients of NumPy's functions in graphs: each is made of the rules of its parts, and not one call of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy.capture.abstract_evaluation import VALUE_BASED

COMPILES = True

RANDOM = np.random.RandomState(3)
X, W = RANDOM.normal(size=(4, 6)), RANDOM.normal(size=(6, 3))

FUNCTIONS = {
    "tanh": lambda x, w: np.tanh(x).sum(),
    "arithmetic": lambda x, w: (x * x * 2 + x / 3 - x).sum(),
    "matmul": lambda x, w: (x @ w).sum(),
    "matmul twice": lambda x, w: ((x @ w) @ w.T * x).sum(),
    "dot": lambda x, w: np.dot(x, w).sum(),
    "mean": lambda x, w: (x.mean(axis=0) ** 2).sum(),
    "reshape": lambda x, w: (x.reshape(-1) ** 2).sum(),
    "transpose": lambda x, w: (np.transpose(x, (1, 0)) * x.T).sum(),
    "slices": lambda x, w: (x[1:, ::2] ** 2).sum() + (x[1] ** 2).sum(),
    "max": lambda x, w: x.max(axis=1).sum(),
    "where": lambda x, w: np.where(x > 0, x, 0.1 * x).sum(),
    "softmax": lambda x, w: (np.exp(x - x.max(1, keepdims=True)) / np.exp(x).sum(1, keepdims=True)).sum(),
    "powers": lambda x, w: (np.abs(x) ** 1.5).sum() + np.sqrt(x * x + 1).sum(),
    "moments": lambda x, w: x.var(axis=1).sum() + x.std(axis=0).sum(),
    "limits": lambda x, w: np.clip(x, -1, 1).sum() + np.maximum(x, 0).sum(),
    "shapes": lambda x, w: (np.broadcast_to(np.expand_dims(x, 0), (2, 4, 6)) ** 2).sum() + np.swapaxes(x, 0, 1).sum(),
    "split": lambda x, w: sum((part**2).sum() for part in np.split(x, 2)),
    "logaddexp": lambda x, w: np.logaddexp(x, 0).sum(),
    "prod": lambda x, w: np.prod(x, axis=1).sum(),
    "flip and tile": lambda x, w: (np.flip(x, 0) * x).sum() + (np.tile(x, (2, 1)) ** 2).sum(),
    "dtypes": lambda x, w: x.astype("float32").sum(),
    "one array at both places": lambda x, w: np.multiply(x, x).sum() + np.matmul(x, x.T).sum(),
}
# Those whose gradients are still called as a whole, by what stands in the way.
CALLED = {
    "concatenate": lambda x, w: (np.concatenate([x, x * 2], axis=1) ** 2).sum(),
    "norm": lambda x, w: np.linalg.norm(x),
    "einsum": lambda x, w: (np.einsum("ij,jk->ik", x, w) ** 2).sum(),
    "pad": lambda x, w: (np.pad(x, 1) ** 2).sum(),
    "new axes": lambda x, w: (x[:, None] ** 2).sum(),
}


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), *CALLED.values()], ids=[*FUNCTIONS, *CALLED])
def test_gradients_are_those_of_the_tape(function: Any) -> None:
    expected = mx.value_and_grad(function, (0, 1))(X, W)
    derivative = mx.compile(mx.value_and_grad(function, (0, 1)))
    for _ in range(4):
        found = derivative(X, W)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
        for one, other in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_no_part_is_called(function: Any) -> None:
    pytest.importorskip("llvmlite")
    compiled = mx.compile(function)
    for _ in range(3):
        mx.value_and_grad(compiled, (0, 1))(X, W)
    programs = [one for one in compiled.explain() if len(one.parts) == 2]
    assert programs
    # Before NumPy 2 the dtype of a sum of two numbers depends on their values, which stays a call.
    assert programs[0].count("call") <= (2 if VALUE_BASED else 0), str(programs[0])
