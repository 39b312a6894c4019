"""What tests share that run both as Python programs, which are exact, and as native code, which rounds otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from minpy.backends.native.machine import llvm
from minpy.backends.switches import disabled, is_enabled

__all__ = ["ROUNDS", "both_kinds_of_program", "require_same"]

# A program is native code from this round on.
ROUNDS = 3


def both_kinds_of_program(*, autouse: bool = False) -> Any:
    """Return a fixture that runs a test twice: with native code switched off, and on."""

    @pytest.fixture(autouse=autouse, params=[False, True], ids=["python", "native"])
    def native(request: pytest.FixtureRequest) -> Iterator[bool]:
        if not request.param:
            with disabled():
                yield False
        elif not llvm.available():
            pytest.skip("llvmlite is not installed")
        else:
            yield True

    return native


def require_same(found: Any, expected: Any, message: str = "") -> None:
    """Compare what a program gives with eager's: to the last bit, or, of native code, but for rounding."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), message
    if not is_enabled() or expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected, err_msg=message)
        return
    epsilon = np.finfo(expected.dtype).eps
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(found, expected, rtol=64 * epsilon, atol=16 * epsilon * scale, err_msg=message)
