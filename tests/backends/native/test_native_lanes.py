"""What remains of rows that are no whole vectors, and asking for the next row ahead: against NumPy."""

from __future__ import annotations

import numpy
import pytest

pytest.importorskip("llvmlite")

from native_kernels import nest_of, run_nest

from minpy.backends.native.kernels.codegen import kernel_of
from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer
from minpy.backends.native.kernels.strips import Strips
from minpy.backends.native.language import Array, Elementwise, Reduce

LENGTHS = [1, 2, 3, 5, 7, 8, 10, 12, 15, 16, 17, 21, 31, 39, 40, 63, 64, 65, 79, 100, 127, 207, 1000]


def outputs_of(x: Array, gain: Array) -> list[Array]:
    """A value at every point, and reductions along rows and columns of it and of what comes after a row is known."""
    total = Reduce.of("sum", x, (1,))
    centred = Elementwise.of("subtract", Elementwise.of("multiply", x, gain), total)
    return [
        centred,
        Reduce.of("max", centred, (1,)),
        Reduce.of("argmin", x, (1,)),
        Reduce.of("sum", centred, (0,)),
        Reduce.of("sum", Elementwise.of("square", x), (0,)),
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_any_length(length: int, dtype: str) -> None:
    numbers = numpy.random.default_rng(length)
    shape = (37, length)
    x, gain = Array(shape, numpy.dtype(dtype)), Array((1, length), numpy.dtype(dtype))
    memory = {one: numbers.integers(-9, 9, one.shape).astype(dtype) for one in (x, gain)}  # whose sums are exact
    values = memory[x]
    centred = values * memory[gain] - values.sum(1, keepdims=True)
    expected = [
        centred,
        centred.max(1, keepdims=True),
        values.argmin(1, keepdims=True),
        centred.sum(0, keepdims=True),
        (values**2).sum(0, keepdims=True),
    ]
    for found, one in zip(run_nest(outputs_of(x, gain), shape, (1,), memory), expected, strict=True):
        numpy.testing.assert_array_equal(found, one)


@pytest.mark.parametrize("whole", [False, True])
def test_parts_make_up_what_remains(whole: bool) -> None:
    """In their order, vectors first; all lanes of each have elements, where that is asked for."""
    x = Array((4,), numpy.dtype("float32"))
    step = Elementwise.of("square", x).step
    assert isinstance(step, Elementwise)
    writer = Writer()
    strips = Strips(writer, Cursor(writer, []), [step])
    for rest in range(4 * strips.piece):
        parts = strips.parts(rest, whole)
        assert sum(parts) == rest
        assert len(parts) <= (1 + 4 if whole else 3)
        for part in parts:
            assert part > 0
            if whole or len(parts) > 1 + (rest >= strips.piece):
                assert strips.whole(part) == part


def test_columns_are_added_to_without_gathering() -> None:
    """With lanes that are not filled LLVM would gather and scatter them, ten times slower."""
    x, gain = Array((37, 1000), numpy.dtype("float32")), Array((1, 1000), numpy.dtype("float32"))
    outputs = [one for one in outputs_of(x, gain) if not isinstance(one.step, Reduce) or one.step.function == "sum"]
    assert "mul nuw nsw i64 %v" not in kernel_of(nest_of(outputs, x.shape, (1,))).body  # squares of lanes' numbers
