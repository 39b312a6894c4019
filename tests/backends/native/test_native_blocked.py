"""Blocked products: kernels against NumPy in float64 and against themselves in parts, and what becomes one."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import minpy as mx
from minpy.backends.native.blocked.blocked_kernels import kernel_of_matrices
from minpy.backends.native.blocked.blocking import Limits, Matrices, blocking_of, in_bands, matrices_of
from minpy.backends.native.codegen.memory_layout import Allocation
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.kernels.ir_module import module_text
from minpy.backends.native.language import Array, Layout, Product
from minpy.backends.native.machine import helper_thread, llvm, numpy_blas

COMPILES = True

GUARD = 7  # elements before and after what a kernel may write


@dataclass
class Lying:
    """An array in memory that has room around and between its elements."""

    where: Allocation
    memory: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, shape: Sequence[int], order: Sequence[int], gaps: Sequence[int], dtype: str, fill: float) -> Lying:
        """Lay an array: its axes in an order from the outermost to the innermost, with gaps after each."""
        strides, reach = [0] * len(shape), 1
        for axis, gap in zip(reversed(order), reversed(gaps), strict=True):
            strides[axis] = reach + gap
            reach = strides[axis] * shape[axis]
        reach = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True) if length)
        memory = np.full(reach + 2 * GUARD, fill, dtype)
        nbytes = [stride * memory.itemsize for stride in strides]
        values = np.lib.stride_tricks.as_strided(memory[GUARD:], shape, nbytes)
        owner = Array((memory.size,), np.dtype(dtype))
        return cls(Allocation(owner, Layout(GUARD, tuple(strides))), memory, values)


def product_of(first: Lying, second: Lying, added: Lying | None) -> Product:
    operands = [Array(one.values.shape, one.memory.dtype) for one in (first, second, added) if one is not None]
    step = Product.of(*operands).step
    assert isinstance(step, Product)
    return step


def run(matrices: Matrices, limits: Limits, arrays: Sequence[Lying], cuts: int, processor: Processor) -> None:
    """Run a kernel, the last array being its result: in parts, the later ones first, each with scratch of its own."""
    where = [one.where for one in arrays]
    kernel = kernel_of_matrices(matrices, blocking_of(matrices, processor, limits), where, is_shared=True)
    text, names = module_text([kernel], linkage="")
    loaded = llvm.compile(text)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1), ctypes.c_int64, ctypes.c_int64)
    function = kind(loaded.address(names[kernel]))
    assert [pointer.written for pointer in kernel.pointers] == [False] * (len(arrays) - 1) + [True]
    starts = [one.memory[pointer.offset :].ctypes.data for one, pointer in zip(arrays, kernel.pointers, strict=True)]
    edges = [kernel.splits * part // cuts for part in range(cuts + 1)]
    for begin, end in reversed(list(itertools.pairwise(edges))):
        scratch = np.full(kernel.scratch + 128, 0xFF, np.uint8)
        begun = -scratch.ctypes.data % 64
        function(*starts, scratch.ctypes.data + begun, begin, end)
        assert (scratch[:begun] == 0xFF).all()
        assert (scratch[begun + kernel.scratch :] == 0xFF).all(), "written beyond the scratch memory"


def untouched(lying: Lying, before: float) -> None:
    """Check that nothing but the elements of an array has been written."""
    kept = lying.values.copy()
    lying.values[...] = before
    assert (lying.memory == before).all(), "written beyond the result"
    lying.values[...] = kept


def tolerance(dtype: str, depth: int) -> float:
    return float(np.finfo(dtype).eps * (8 + depth) * 2)


PROCESSORS = [Processor(64, 32), Processor(32, 16), Processor(16, 16), Processor(16, 32)]
# Limits so small that small matrices have several panels.
SMALL = [
    Limits(),
    Limits(panel=1),
    Limits(sums=6, wide=2, high=3, panel=2),
    Limits(sums=4, wide=1, panel=3),
]
MATRIX_ORDERS = [(0, 1, 2, 3), (0, 1, 3, 2), (2, 0, 1, 3), (0, 2, 1, 3), (1, 0, 3, 2)]


@st.composite
def layouts(draw: Any, shape: tuple[int, ...], is_result: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """An order of the axes and gaps; of a result, or what is added, rows or columns are contiguous."""
    order = draw(st.sampled_from(MATRIX_ORDERS))
    gaps = draw(st.tuples(*[st.sampled_from([0, 0, 1, 3])] * 4))
    if is_result:
        gaps = (*gaps[:3], 0)
    return order, gaps


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_products(data: Any) -> None:
    draw = data.draw
    lead = draw(st.sampled_from([(1, 1), (1, 3), (2, 3), (4, 1)]))
    sizes = st.one_of(st.integers(1, 40), st.sampled_from([16, 32, 48, 64, 65, 100]))
    rows, depth, columns = draw(sizes), draw(sizes), draw(sizes)
    dtype = draw(st.sampled_from(["float32", "float64"]))
    adds, cuts = draw(st.booleans()), draw(st.integers(1, 3))
    in_place = adds and draw(st.booleans())
    random = np.random.RandomState(draw(st.integers(0, 1000)))

    def lying(shape: tuple[int, ...], is_result: bool, fill: float, like: Any = None) -> tuple[Lying, Any]:
        layout = like or draw(layouts((*lead, *shape), is_result))
        one = Lying.of((*lead, *shape), *layout, dtype, fill)
        if not is_result and draw(st.integers(0, 3)) == 0:  # one matrix for the whole stack
            strides = (0, 0, *one.where.layout.strides[2:])
            nbytes = [stride * one.memory.itemsize for stride in strides]
            values = np.lib.stride_tricks.as_strided(one.memory[GUARD:], one.values.shape, nbytes)
            one = Lying(Allocation(one.where.owner, Layout(GUARD, strides)), one.memory, values)
        one.values[...] = random.randint(-9, 10, one.values.shape)  # sums of products of these are exact
        return one, layout

    first, _ = lying((rows, depth), False, math.nan)
    second, _ = lying((depth, columns), False, math.nan)
    result, layout = lying((rows, columns), True, 77.0)
    added = None
    if in_place:
        added = result
    elif adds:
        # What is added lies as the result does, but for its gaps.
        added, _ = lying((rows, columns), True, math.nan, (layout[0], (*[draw(st.sampled_from([0, 2]))] * 3, 0)))
    exact = first.values.astype("float64") @ second.values.astype("float64")
    if added is not None:
        exact = exact + added.values
    arrays = [one for one in (first, second, added, result) if one is not None]
    step = product_of(first, second, added)
    matrices = matrices_of(step, [one.where for one in arrays[:-1]], result.where)
    assert matrices is not None
    matrices = in_bands(matrices)
    if not in_place:
        result.values[...] = 77
    run(matrices, draw(st.sampled_from(SMALL)), arrays, cuts, draw(st.sampled_from(PROCESSORS)))
    np.testing.assert_array_equal(result.values, exact)
    untouched(result, 77)


def simple(count: int, rows: int, depth: int, columns: int, turned: tuple[bool, bool], dtype: str) -> list[Lying]:
    """Operands and result of a stack of products without gaps; operands may lie transposed."""
    arrays = []
    for shape, is_turned in (((rows, depth), turned[0]), ((depth, columns), turned[1]), ((rows, columns), False)):
        order = (0, 2, 1) if is_turned else (0, 1, 2)
        arrays.append(Lying.of((count, *shape), order, (0, 0, 0), dtype, 77))
    return arrays


def matrices_from(arrays: Sequence[Lying], added: Lying | None = None) -> Matrices:
    first, second, *_, result = arrays
    places = [one.where for one in (first, second, added) if one is not None]
    found = matrices_of(product_of(first, second, added), places, result.where)
    assert found is not None
    return found


TURNED = list(itertools.product([False, True], repeat=2))
SHAPES = [
    (64, 128, 32, 128),
    (5, 128, 128, 32),
    (3, 100, 300, 77),
    (1, 70, 600, 200),
    (2, 33, 17, 300),
    (1, 520, 40, 90),
    (1, 300, 200, 20),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("shape", SHAPES)
def test_larger_products_in_any_number_of_parts(
    shape: tuple[int, int, int, int], turned: tuple[bool, bool], dtype: str
) -> None:
    arrays = simple(*shape, turned, dtype)
    random = np.random.RandomState(0)
    for one in arrays[:2]:
        one.values[...] = random.normal(size=one.values.shape)
    exact = arrays[0].values.astype("float64") @ arrays[1].values.astype("float64")
    found = []
    for cuts in (1, 2, 5):
        arrays[2].values[...] = np.nan
        run(in_bands(matrices_from(arrays)), Limits(), arrays, cuts, Processor.of(llvm.features()))
        found.append(arrays[2].values.copy())
    np.testing.assert_allclose(found[0], exact, rtol=0, atol=tolerance(dtype, shape[2]))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_threads_find_several_parts(shape: tuple[int, int, int, int]) -> None:
    arrays = simple(*shape, (False, False), "float32")
    matrices = in_bands(matrices_from(arrays))
    blocking = blocking_of(matrices, Processor(64, 32))
    kernel = kernel_of_matrices(matrices, blocking, [one.where for one in arrays], is_shared=True)
    assert kernel.splits >= 2
    assert kernel_of_matrices(matrices, blocking, [one.where for one in arrays], is_shared=False).splits == 1


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_numbers_reach_their_row_and_column(special: float, turned: tuple[bool, bool]) -> None:
    """Vectors that overlap, and rows of blocks, bring nothing to where it does not belong."""
    for place in ((0, 0), (18, 20), (17, 3), (5, 19)):
        for operand in (0, 1):
            arrays = simple(2, 19, 21, 23, turned, "float32")
            for one in arrays[:2]:
                one.values[...] = 1
            at = (1, min(place[0], arrays[operand].values.shape[1] - 1), min(place[1], 20))
            arrays[operand].values[at] = special
            with np.errstate(invalid="ignore"):
                expected = arrays[0].values @ arrays[1].values
            run(matrices_from(arrays), SMALL[2], arrays, 2, Processor.of(llvm.features()))
            np.testing.assert_array_equal(arrays[2].values, expected)


@pytest.mark.parametrize("turned", TURNED)
def test_a_sum_of_no_products_is_zero(turned: tuple[bool, bool]) -> None:
    arrays = simple(2, 5, 0, 7, turned, "float32")
    run(matrices_from(arrays), Limits(), arrays, 1, Processor.of(llvm.features()))
    np.testing.assert_array_equal(arrays[2].values, 0)


def test_zeros_and_the_signs_of_what_is_added() -> None:
    first, second, result = simple(1, 20, 16, 20, (False, False), "float32")
    first.values[...], second.values[...] = 0, 1
    result.values[...] = np.arange(400).reshape(1, 20, 20)
    run(matrices_from([first, second, result], result), Limits(), [first, second, result, result], 1, PROCESSORS[0])
    np.testing.assert_array_equal(result.values.ravel(), np.arange(400))


def test_results_that_lie_in_no_order_are_not_covered() -> None:
    first, second, _ = simple(1, 20, 20, 20, (False, False), "float32")
    result = Lying.of((1, 20, 20), (0, 1, 2), (0, 0, 1), "float32", 77)
    assert matrices_of(product_of(first, second, None), [first.where, second.where], result.where) is None
    rows = Lying.of((1, 20, 20), (0, 1, 2), (0, 0, 0), "float32", 77)
    columns = Lying.of((1, 20, 20), (0, 2, 1), (0, 0, 0), "float32", 77)
    where = [first.where, second.where, rows.where]
    assert matrices_of(product_of(first, second, rows), where, columns.where) is None


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 700), st.integers(1, 700), st.integers(1, 700), st.sampled_from([4, 8]), st.booleans(),
    st.sampled_from(PROCESSORS), st.sampled_from(SMALL),
)  # fmt: skip
def test_a_blocking_covers_everything_once(
    rows: int, columns: int, depth: int, itemsize: int, adds: bool, processor: Processor, limits: Limits
) -> None:
    added = columns if adds else None
    one = Matrices(itemsize, rows, columns, depth, (1, rows), (columns, 1), columns, added)
    found = blocking_of(one, processor, limits)
    total = [sum(size * count for size, count in parts) for parts in (found.rows, found.columns)]
    assert total == [rows, -(-columns // found.width)]
    assert found.width * itemsize <= processor.vector_bytes
    (tall, _), (wide, _) = found.rows[-1], found.columns[-1]
    assert tall * wide + wide + 1 <= processor.registers
    # Two vectors of one row overlap only in one tile, if sums are added to what is there.
    if columns % found.width and columns > found.width and adds:
        assert wide >= 2


# -- in programs -----------------------------------------------------------------------------------------------------

is_wide = Processor.of(llvm.features()).vector_bytes >= 64
needs_wide_vectors = pytest.mark.skipif(not is_wide, reason="products are left to the BLAS on this processor")


@pytest.fixture
def with_openblas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have NumPy's BLAS taken for OpenBLAS, whichever it is: kernels are to be right in any case."""
    found = numpy_blas.find()
    if found is not None:
        monkeypatch.setattr(numpy_blas, "find", lambda: dataclasses.replace(found, file="libopenblas.so"))


def kinds(explanation: Any) -> list[str]:
    return [item.what for part in explanation.parts for item in part.items if item.kind == "product"]


def attention(q: Any, k: Any, v: Any) -> Any:
    """Attention of several heads, which lie apart as a view: (examples, steps, heads, width)."""
    q, k, v = (np.transpose(one, (0, 2, 1, 3)) for one in (q, k, v))
    scores = np.exp(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5)
    mixed = (scores / np.sum(scores, axis=-1, keepdims=True)) @ v
    return np.sum(np.transpose(mixed, (0, 2, 1, 3)) ** 2)


@needs_wide_vectors
@pytest.mark.usefixtures("with_openblas")
@pytest.mark.parametrize("steps", [128, 100])
def test_attention_and_its_gradients(steps: int) -> None:
    random = np.random.RandomState(0)
    given = [random.normal(size=(8, steps, 4, 32)).astype("f") for _ in range(3)]
    exact = mx.value_and_grad(attention, argnum=(0, 1, 2))(*(one.astype("d") for one in given))
    step = mx.compile(mx.value_and_grad(attention, argnum=(0, 1, 2)))
    for _ in range(4):
        value, gradients = step(*given)
    (explanation,) = step.explain()
    assert explanation.is_native
    assert explanation.count("call") == 0
    products = kinds(explanation)
    assert len(products) == 6
    assert all(one.endswith(", a kernel") for one in products)
    np.testing.assert_allclose(value, exact[0], rtol=1e-4)
    for found, one in zip(gradients, exact[1], strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-3, atol=1e-3)


@needs_wide_vectors
@pytest.mark.usefixtures("with_openblas")
def test_a_product_that_is_added_is_computed_where_that_lies() -> None:
    random = np.random.RandomState(0)
    a, b, c, d = (random.normal(size=shape).astype("f") for shape in ((150, 200), (200, 90), (150, 200), (200, 90)))
    function = mx.compile(lambda a, b, c, d: a @ b + c @ d)
    for _ in range(4):
        found = function(a, b, c, d)
    (explanation,) = function.explain()
    assert kinds(explanation) == ["150x200 by 200x90, a kernel", "150x200 by 200x90, added, a kernel"]
    np.testing.assert_allclose(found, a @ b + c @ d, rtol=1e-4, atol=1e-3)


@needs_wide_vectors
@pytest.mark.usefixtures("with_openblas")
def test_large_and_transposed_products_are_kernels() -> None:
    random = np.random.RandomState(0)
    x, w, small = (random.normal(size=shape).astype("f") for shape in ((128, 200), (80, 200), (40, 40)))
    function = mx.compile(lambda x, w, small: (x @ w.T, small @ small))
    for _ in range(4):
        found = function(x, w, small)
    (explanation,) = function.explain()
    what = kinds(explanation)
    assert [one.endswith(", a kernel") for one in what] == ["200" in one for one in what]
    assert len(what) == 2
    np.testing.assert_allclose(found[0], x @ w.T, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(found[1], small @ small, rtol=1e-4, atol=1e-3)


def test_another_blas_does_its_products_itself_but_for_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    found = numpy_blas.find()
    if found is None:
        pytest.skip("NumPy has no BLAS that is known")
    monkeypatch.setattr(numpy_blas, "find", lambda: dataclasses.replace(found, file="libmkl_rt.so"))
    x, small = np.ones((200, 200), "f"), np.arange(100, dtype="f").reshape(10, 10)
    function = mx.compile(lambda x, small: (x @ x, small @ small.T))
    for _ in range(4):
        result = function(x, small)
    assert kinds(function.explain()[0]) == ["200x200 by 200x200", "10x10 by 10x10, a kernel"]
    np.testing.assert_array_equal(result[1], small @ small.T)


@needs_wide_vectors
@pytest.mark.parametrize(("several", "is_kernel"), [(1, True), (2, True), (3, False), (None, True)])
def test_large_products_are_left_to_a_blas_of_more_threads(
    several: int | None, is_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = numpy_blas.find()
    if found is None:
        pytest.skip("NumPy has no BLAS that is known")
    count = None if several is None else lambda: several
    monkeypatch.setattr(numpy_blas, "find", lambda: dataclasses.replace(found, file="openblas.so", _get_threads=count))
    monkeypatch.setattr(helper_thread, "count", lambda: 2)
    x, stack = np.ones((200, 200), "f"), np.ones((64, 128, 64), "f")
    function = mx.compile(lambda x, stack: (x @ x, stack @ np.swapaxes(stack, 1, 2)))
    for _ in range(4):
        function(x, stack)
    assert kinds(function.explain()[0]) == [
        "200x200 by 200x200" + ", a kernel" * is_kernel,
        "64x128x64 by 64x64x128" + ", a kernel" * is_kernel,
    ]
