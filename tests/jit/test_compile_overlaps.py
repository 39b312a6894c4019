"""Arguments of different lengths that lie anywhere in one piece of memory, one of which is changed."""

from __future__ import annotations

import numpy as np
import pytest

import minpy as mx

pytest.importorskip("llvmlite")

COMPILES = True
LONG, SHORT, FIRST, STEP = 1000, 10, 100, 5


def first_changed(x, y):
    x *= 2
    x += y.sum()
    return y * 3


def second_changed(y, x):
    x *= 2
    x += y.sum()
    return y * 3


@pytest.mark.parametrize("lengths", [(LONG, SHORT), (SHORT, LONG), (SHORT, SHORT)])
@pytest.mark.parametrize("function", [first_changed, second_changed])
def test_arguments_that_lie_side_by_side_or_overlap(function, lengths):
    length, other = lengths
    compiled = mx.compile(function)

    def called(how, memory, begin):
        x, y = memory[begin : begin + length], memory[LONG + FIRST : LONG + FIRST + other]
        return how(x, y) if function is first_changed else how(y, x)

    far = 0 if length < LONG else LONG + FIRST + other
    for _ in range(4):
        called(compiled, np.ones(4 * LONG), far)
    assert "native code" in str(compiled.explain())
    # Close to each other first: where that is taken for sharing memory, the function is given up.
    beside = [LONG + FIRST - length, LONG + FIRST + other]
    for begin in [*beside, *range(FIRST, 2 * LONG + 2 * FIRST, STEP)]:
        memory = np.arange(4.0 * LONG)
        expected = memory.copy()
        np.testing.assert_allclose(called(compiled, memory, begin), called(function, expected, begin), rtol=1e-12)
        np.testing.assert_allclose(memory, expected, rtol=1e-12, err_msg=f"{begin}")
    assert compiled.reason is None
