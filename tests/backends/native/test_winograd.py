"""Convolutions done in tiles are those of the definition, whatever their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from minpy import nd
from minpy.ops.kernels import im2col, winograd

UNIT = {"stride": (1, 1), "dilate": (1, 1), "num_group": 1}


def normal(*shape: int, seed: int = 0, dtype: Any = "float64") -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(dtype)


def definition(x: np.ndarray, w: np.ndarray, g: np.ndarray, pad: tuple[int, int]) -> list[np.ndarray]:
    """Return the convolution, and the gradients of its data and weight for `g`, as sums over windows."""
    (up, left), (height, width) = pad, x.shape[2:]
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (up, up), (left, left))), (3, 3), (2, 3))
    around = sliding_window_view(np.pad(g, ((0, 0), (0, 0), (2, 2), (2, 2))), (3, 3), (2, 3))
    back = np.einsum("nfhwij,fcij->nchw", around, w[:, :, ::-1, ::-1])
    return [
        np.einsum("nchwij,fcij->nfhw", windows, w),
        back[:, :, up : up + height, left : left + width],
        np.einsum("nchwij,nfhw->fcij", windows, g),
    ]


def in_tiles(x: np.ndarray, w: np.ndarray, g: np.ndarray, pad: tuple[int, int]) -> list[np.ndarray]:
    return [
        np.asarray(im2col.convolve(x, w, pad=pad, **UNIT)),
        np.asarray(im2col.convolve_data(g, w, lengths=x.shape[2:], pad=pad, **UNIT)),
        np.asarray(im2col.convolve_weight(x, g, kernel=(3, 3), pad=pad, **UNIT)),
    ]


@st.composite
def convolutions(draw: st.DrawFn) -> dict[str, Any]:
    size, channels = st.integers(1, 9), st.integers(1, 5)
    pad = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    lengths = tuple(max(draw(size), 3 - 2 * p) for p in pad)
    batch, channels_in, filters = draw(st.integers(0, 4)), draw(channels), draw(channels)
    order = draw(st.permutations(range(4)))
    return {"x": (batch, channels_in, *lengths), "w": (filters, channels_in, 3, 3), "pad": pad, "order": order}


def in_order(array: np.ndarray, order: list[int]) -> np.ndarray:
    """Return the array with its axes in this order in memory."""
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


@settings(max_examples=150, deadline=None)
@given(convolutions(), st.sampled_from([1, 1000, 1 << 20]), st.sampled_from([1, 8, 128]), st.sampled_from([1, 8 << 20]))
def test_every_shape_is_that_of_the_definition(shapes: dict[str, Any], block: int, count: int, kernels: int) -> None:
    x, w, pad = normal(*shapes["x"]), normal(*shapes["w"], seed=1), shapes["pad"]
    positions = [n + 2 * p - 2 for n, p in zip(x.shape[2:], pad, strict=True)]
    g = normal(len(x), len(w), *positions, seed=2)
    x, w, g = (in_order(array, shapes["order"]) for array in (x, w, g))
    expected = definition(x, w, g, pad)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"CHANNELS": 1, "TILES": 1, "BLOCK": block, "COLUMNS": count, "KERNELS": kernels}.items():
            patch.setattr(winograd, name, value)
        got = in_tiles(x, w, g, pad)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def large(dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return normal(8, 64, 9, 10, dtype=dtype), normal(70, 64, 3, 3, seed=1, dtype=dtype), normal(8, 70, 9, 10, seed=2)


def test_rounding_errors_in_float32_are_those_of_the_plain_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, g = large("float32")
    assert winograd.pays({**UNIT, "pad": (1, 1)}, w.shape, x.dtype, (9, 10), 8)
    g = g.astype("float32")
    exact = definition(*(array.astype("float64") for array in (x, w, g)), (1, 1))
    tiled = in_tiles(x, w, g, (1, 1))
    monkeypatch.setattr(winograd, "CHANNELS", 1 << 30)
    plain = in_tiles(x, w, g, (1, 1))
    for mine, sums, truth in zip(tiled, plain, exact, strict=True):
        assert mine.dtype == np.float32
        assert not np.array_equal(mine, sums)
        assert np.abs(mine - truth).max() <= 3 * np.abs(sums - truth).max()


def test_small_whole_numbers_are_exact() -> None:
    x, w, g = (np.round(array).astype("float32") for array in large("float32"))
    for mine, truth in zip(in_tiles(x, w, g, (1, 1)), definition(x, w, g, (1, 1)), strict=True):
        np.testing.assert_array_equal(mine, truth)


def test_float16_is_summed_in_float32() -> None:
    x, w, _ = large("float16")
    y = nd.Convolution(
        nd.array(x, dtype="float16"), nd.array(w, dtype="float16"), kernel=(3, 3), num_filter=70, no_bias=True
    )
    windows = sliding_window_view(x.astype("float64"), (3, 3), (2, 3))
    assert y.dtype == np.float16
    exact = np.einsum("nchwij,fcij->nfhw", windows, w.astype("float64"), optimize=True)
    np.testing.assert_allclose(y.asnumpy(), exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "dtype", "weight"),
    [
        ({"stride": (2, 1)}, "float32", (64, 64, 3, 3)),
        ({"dilate": (1, 2)}, "float32", (64, 64, 3, 3)),
        ({"num_group": 2}, "float32", (128, 64, 3, 3)),
        ({}, "int32", (64, 64, 3, 3)),
        ({}, "float32", (64, 64, 3, 1)),
        ({}, "float32", (64, 64, 3)),
        ({}, "float32", (64, 63, 3, 3)),
    ],
)
def test_other_convolutions_are_left_to_the_columns(
    change: dict[str, Any], dtype: str, weight: tuple[int, ...]
) -> None:
    assert not winograd.pays({**UNIT, "pad": (1, 1), **change}, weight, np.dtype(dtype), (32, 32), 32)


def test_few_tiles_are_left_to_the_columns() -> None:
    window, weight, dtype = {**UNIT, "pad": (1, 1)}, (512, 512, 3, 3), np.dtype("float32")
    assert winograd.pays(window, weight, dtype, (4, 4), 32)
    assert not winograd.pays(window, weight, dtype, (4, 4), 16)
    assert not winograd.pays(window, weight, dtype, (4, 4), 0)


def test_second_derivatives_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def grads(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
        import minpy as mx

        data, weight = nd.array(x, dtype="float64"), nd.array(w, dtype="float64")
        for array in (data, weight):
            array.attach_grad()
        with mx.autograd.record():
            y = nd.Convolution(data, weight, kernel=(3, 3), pad=(1, 1), num_filter=len(w), no_bias=True)
            (first,) = mx.autograd.grad((y * y).sum(), [data], create_graph=True, retain_graph=True)
            total = (first * first).sum()
        total.backward()
        return [data.grad.asnumpy(), weight.grad.asnumpy()]

    x, w = normal(2, 3, 5, 6), normal(4, 3, 3, 3, seed=1)
    expected = grads(x, w)
    monkeypatch.setattr(winograd, "CHANNELS", 1)
    monkeypatch.setattr(winograd, "TILES", 1)
    for mine, theirs in zip(grads(x, w), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10)
