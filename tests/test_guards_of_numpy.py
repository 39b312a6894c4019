"""What compiled functions and blocks refer to is changed behind their back: answers are the function's as written."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from compiling import both_kinds_of_program

import minpy as mx
from minpy import gluon
from minpy.compiling import CompileWarning

COMPILES = True
ROUNDS = 5

native = both_kinds_of_program(autouse=True)


def _require_live(function: Any, change: Any) -> None:
    compiled = mx.compile(function)
    x = np.arange(3.0)
    for _ in range(ROUNDS):
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)
        change()
    assert compiled.reason is None


def test_what_is_computed_of_arrays_of_numpy() -> None:
    weights = np.array([1.0, 4.0, 9.0])
    _require_live(lambda x: x * np.sqrt(weights) + weights[1] + weights[:1], lambda: weights.__imul__(4))


def test_what_changes_before_each_call_is_given_up() -> None:
    step = np.array([0.0])
    compiled = mx.compile(lambda x: x * np.exp(step))
    for _ in range(15):
        step += 0.1
        np.testing.assert_allclose(compiled(np.ones(3)), np.exp(step) * np.ones(3), rtol=1e-6)
    assert compiled.reason is None
    step += 0.1
    compiled(np.ones(3))
    compiled(np.ones(3))  # unchanged: the count begins anew
    for _ in range(15):
        step += 0.1
        np.testing.assert_allclose(compiled(np.ones(3)), np.exp(step) * np.ones(3), rtol=1e-6)
    step += 0.1
    with pytest.warns(CompileWarning, match="before each of the last 16 calls .* Give what changes as an argument"):
        compiled(np.ones(3))
    step += 0.1
    np.testing.assert_allclose(compiled(np.ones(3)), np.exp(step) * np.ones(3), rtol=1e-15)
    assert compiled.reason is not None


def test_a_large_array_of_numpy_and_one_that_is_not_contiguous() -> None:
    large = np.ones((40000, 3))
    part = large.T[:, ::7]
    _require_live(lambda x: x * large.sum() + part.mean(), lambda: large.__iadd__(1))


def test_members_of_objects() -> None:
    class Settings:
        factor = 2.0

        def __init__(self) -> None:
            self.scale, self.weights, self.inner = 1.0, np.ones(2), types.SimpleNamespace()

        @property
        def doubled(self) -> float:
            return self.hidden * 2

        hidden = 1.0

        def applied(self, x: Any) -> Any:
            return x * self.factor + self.weights[1]

    settings = Settings()

    def change() -> None:
        settings.scale += 1
        settings.weights += 1
        settings.hidden = settings.hidden + 3

    _require_live(lambda x: settings.applied(x) * settings.scale + settings.doubled, change)
    settings = Settings()
    changes = iter([lambda: setattr(settings, "factor", 5.0), lambda: setattr(Settings, "hidden", 7.0)] * ROUNDS)
    _require_live(lambda x: settings.applied(x) + settings.doubled, lambda: next(changes)())


def test_members_of_modules() -> None:
    module = types.ModuleType("settings_of_a_user")
    vars(module).update(scale=1.0, weights=np.ones(3))
    _require_live(
        lambda x: x * module.scale + module.weights.sum(),
        lambda: (setattr(module, "scale", module.scale + 1), module.weights.__iadd__(1)),
    )


def test_a_block_that_is_referred_to() -> None:
    class Scaled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 1.0

        def forward(self, x: Any) -> Any:
            return x * self.scale

    block = Scaled()
    compiled = mx.compile(lambda x: block(x) + 1)
    x = mx.np.arange(3.0)
    for scale in (1.0, 2.0, 3.0, 4.0):
        block.scale = scale
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x).asnumpy(), np.arange(3.0) * scale + 1)


def test_an_object_and_an_array_that_a_block_holds() -> None:
    class Scaled(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.settings = types.SimpleNamespace(scale=1.0)
            self.weights = np.ones(3, "float32")

        def forward(self, x: Any) -> Any:
            return x * self.settings.scale + self.weights.max()

    block = Scaled()
    block.hybridize()
    x = mx.np.arange(3.0)
    for scale in (1.0, 2.0, 3.0, 4.0):
        block.settings.scale = scale
        if scale == 3.0:
            block.weights += 1
        for _ in range(2):
            expected = np.arange(3.0) * scale + block.weights.max()
            np.testing.assert_array_equal(block(x).asnumpy(), expected)
