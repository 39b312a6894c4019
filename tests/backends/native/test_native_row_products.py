"""One row times a large matrix: the kernel against NumPy in float64, and in compiled functions."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import minpy as mx
from minpy.backends.native.codegen.memory_layout import allocation
from minpy.backends.native.codegen.row_products import covers_row, row_kernel
from minpy.backends.native.kernels.ir_module import module_text
from minpy.backends.native.language import Array, Product, viewed
from minpy.backends.native.machine import llvm

COMPILES = True


def product_of(depth: int, columns: int, dtype: str, leading: int, adds: bool) -> Product:
    """Return the product of one row by a transposed matrix whose rows lie `leading` elements apart."""
    row = Array((1, depth), np.dtype(dtype))
    weight = Array((columns, leading), np.dtype(dtype))
    turned = viewed(weight, lambda values: values[:, :depth].T)
    more = [Array((1, columns), np.dtype(dtype))] if adds else []
    step = Product.of(row, turned, *more).step
    assert isinstance(step, Product)
    return step


def places_of(step: Product) -> Any:
    return [allocation(one, {}) for one in step.operands], allocation(step.output, {})


def run(step: Product, arrays: list[np.ndarray], cuts: int) -> np.ndarray:
    places, result = places_of(step)
    assert covers_row(step, places, result)
    kernel = row_kernel(step, places, result)
    text, names = module_text([kernel], linkage="")
    loaded = llvm.compile(text)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 2), ctypes.c_int64, ctypes.c_int64)
    function = kind(loaded.address(names[kernel]))
    found = np.full(step.output.size + 2, 77, step.output.dtype)
    scratch = np.full(kernel.scratch + 64, 0xFF, np.uint8)
    pointers = [one.ctypes.data for one in (*arrays, found[1:-1], scratch)]
    edges = [kernel.splits * part // cuts for part in range(cuts + 1)]
    for begin, end in itertools.pairwise(edges):
        function(*pointers, begin, end)
    assert found[0] == found[-1] == 77, "written beyond the result"
    assert (scratch[kernel.scratch :] == 0xFF).all(), "written beyond the scratch memory"
    return found[1:-1]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 150),
    st.integers(1, 40),
    st.integers(0, 3),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_random_products(depth: int, columns: int, more: int, dtype: str, adds: bool, cuts: int) -> None:
    step = product_of(depth, columns, dtype, depth + more, adds)
    random = np.random.RandomState(depth)
    row, weight, added = (
        random.normal(size=shape).astype(dtype) for shape in ((1, depth), (columns, depth + more), (1, columns))
    )
    weight[:, depth:] = np.nan  # lies between the columns, and counts for nothing
    exact = row.astype("float64") @ weight[:, :depth].T.astype("float64") + (added if adds else 0)
    got = run(step, [row, weight, *([added] if adds else [])], cuts)
    np.testing.assert_allclose(got, exact[0], rtol=0, atol=np.finfo(dtype).eps * (8 + depth**0.5) * 4)


@pytest.mark.parametrize("depth", [5, 16, 21, 32, 50])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_numbers_reach_one_sum(depth: int, special: float) -> None:
    """Elements that two vectors share count once: an infinity times a zero that stands for them would be none."""
    step = product_of(depth, 9, "float32", depth, False)
    for place in range(depth):
        row, weight = np.ones((1, depth), "f"), np.ones((9, depth), "f")
        weight[4, place] = special
        expected = np.full(9, depth, "f")
        expected[4] = special
        np.testing.assert_array_equal(run(step, [row, weight], 2), expected)


def test_what_is_not_covered() -> None:
    def is_covered(first: tuple[int, ...], second: Array) -> bool:
        step = Product.of(Array(first, second.dtype), second).step
        assert isinstance(step, Product)
        return covers_row(step, *places_of(step))

    matrix = Array((50, 60), np.dtype("f"))
    turned = viewed(matrix, np.transpose)
    assert is_covered((1, 60), turned)
    assert not is_covered((2, 60), turned)  # several rows
    assert not is_covered((1, 50), matrix)  # not transposed
    assert not is_covered((1, 30), viewed(matrix, lambda values: values[:, ::2].T))  # elements lie apart


@pytest.mark.parametrize("bias", [False, True])
def test_dense_layers_of_one_example(bias: bool) -> None:
    random = np.random.RandomState(0)
    x, w, b = (random.normal(size=shape).astype("f") for shape in ((1, 300), (70, 300), (70,)))
    dense = mx.compile(lambda x, w, b: np.maximum(x @ w.T + b, 0) if bias else x @ w.T)
    for _ in range(4):
        got = dense(x, w, b)
    expected = np.maximum(x @ w.T + b, 0) if bias else x @ w.T
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    (explanation,) = dense.explain()
    assert explanation.is_native
    assert explanation.count("product") == 1
