"""Gradients of the maxima of windows, which overlap or not: natively they go where the Python program sends them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiling import ROUNDS

import minpy as mx

COMPILES = True

WINDOWS: dict[str, dict[str, Any]] = {
    "as in a stem": {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
    "without padding": {"kernel": (3, 3), "stride": (2, 2)},
    "full": {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pooling_convention": "full"},
    "different": {"kernel": (3, 2), "stride": (1, 3), "pad": (1, 0)},
    "gaps": {"kernel": (2, 2), "stride": (3, 3), "pad": (1, 1)},
    "every place": {"kernel": (5, 5), "stride": (1, 1), "pad": (2, 2)},
    "tiles": {"kernel": (2, 2), "stride": (2, 2)},
    "tiles, full": {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"},
    "one": {"global_pool": True},
}
OTHERS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "one axis": ((2, 3, 9), {"kernel": (3,), "stride": (2,)}),
    "three axes": ((2, 3, 5, 6, 7), {"kernel": (2, 3, 3), "stride": (1, 2, 2), "pad": (0, 1, 1)}),
    "channels last": ((2, 9, 8, 3), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "layout": "NHWC"}),
    "same": ((2, 3, 9, 8), {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "same"}),
}


def data(shape: tuple[int, ...], kind: str) -> np.ndarray:
    draw = np.random.RandomState(5)
    values = draw.normal(size=shape).astype("float32")
    if kind == "ties":
        values = np.round(values)
    if kind == "nothing":
        values[:, :2] = -np.inf
    if kind == "specials":
        flat = values.reshape(-1)
        for special in (np.nan, np.inf, -np.inf, -np.inf, np.finfo("float32").min, -0.0):
            flat[draw.randint(0, flat.size, flat.size // 8)] = special
    return values


def run(symbol: Any, values: np.ndarray, infinite: bool) -> tuple[np.ndarray, np.ndarray, Any]:
    executor = symbol.simple_bind(mx.cpu(), x=values.shape)
    executor.arg_dict["x"][:] = values
    head: Any = None
    for _ in range(ROUNDS + 1):
        (answer,) = executor.forward(is_train=True)
        if head is None:
            head = np.random.RandomState(6).normal(size=answer.shape).astype("float32")
            if infinite:
                head.reshape(-1)[::5] = np.inf
                head.reshape(-1)[1::7] = -0.0
        executor.backward([mx.nd.array(head)])
    return answer.asnumpy(), executor.grad_dict["x"].asnumpy(), executor


def both(symbol: Any, values: np.ndarray, infinite: bool = False) -> None:
    with mx.compile.disabled(), np.errstate(all="ignore"):
        answer, gradient, _ = run(symbol, values, infinite)
    with np.errstate(all="ignore"):
        found, slope, executor = run(symbol, values, infinite)
    np.testing.assert_array_equal(found, answer)
    np.testing.assert_array_equal(slope, gradient)  # sums are taken in the same order
    np.testing.assert_array_equal(np.signbit(slope), np.signbit(gradient))
    (explanation,) = executor.explain()
    assert explanation.count("call") == 0, explanation


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in WINDOWS
        for kind in ("numbers", "ties", "specials", "nothing")
        if (name, kind) != ("one", "specials")  # where there is NaN, NumPy's argmax says which it is
    ],
)
def test_gradients_of_maxima(name: str, kind: str) -> None:
    both(mx.sym.Pooling(mx.sym.var("x"), pool_type="max", **WINDOWS[name]), data((2, 3, 9, 8), kind))


@pytest.mark.parametrize("name", OTHERS)
def test_gradients_of_maxima_along_other_axes(name: str) -> None:
    shape, window = OTHERS[name]
    both(mx.sym.Pooling(mx.sym.var("x"), pool_type="max", **window), data(shape, "ties"))


def test_gradients_that_are_infinite() -> None:
    """What is 0 times infinity stands where NumPy has it."""
    both(mx.sym.Pooling(mx.sym.var("x"), pool_type="max", **WINDOWS["as in a stem"]), data((2, 3, 9, 8), "ties"), True)


@pytest.mark.parametrize("kind", ["numbers", "ties", "specials", "nothing"])
@pytest.mark.parametrize(
    "name", [name for name, window in WINDOWS.items() if window.get("pooling_convention") != "same"]
)
def test_gradients_of_all_of_the_maxima(name: str, kind: str) -> None:
    both(mx.sym.Pooling_v1(mx.sym.var("x"), pool_type="max", **WINDOWS[name]), data((2, 3, 9, 8), kind))


@pytest.mark.parametrize("name", ["avg", "sum"])
def test_means_and_sums_as_old_files_have_them(name: str) -> None:
    values = np.round(data((2, 3, 9, 8), "numbers") * 8) / 8
    for key, window in WINDOWS.items():
        with mx.compile.disabled():
            answer, gradient, _ = run(mx.sym.Pooling_v1(mx.sym.var("x"), pool_type=name, **window), values, False)
        found, slope, executor = run(mx.sym.Pooling_v1(mx.sym.var("x"), pool_type=name, **window), values, False)
        np.testing.assert_allclose(found, answer, rtol=1e-6, atol=1e-6, err_msg=key)
        np.testing.assert_allclose(slope, gradient, rtol=1e-6, atol=1e-6, err_msg=key)
        assert executor.explain()[0].count("call") == 0


def test_a_stem_of_a_network_has_no_calls() -> None:
    draw = np.random.RandomState(1)
    symbol = mx.sym.Convolution(mx.sym.var("x"), kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="c")
    symbol = mx.sym.Activation(mx.sym.BatchNorm(symbol, name="b"), act_type="relu")
    symbol = mx.sym.Pooling(symbol, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    found = []
    for compiles in (False, True):
        executor = symbol.simple_bind(mx.cpu(), x=(17, 3, 12, 12))
        draw.seed(2)
        for array in executor.arg_dict.values():
            array[:] = draw.normal(size=array.shape)
        executor.aux_dict["b_moving_var"][:] = 1
        with mx.compile.disabled() if not compiles else np.errstate():
            for _ in range(ROUNDS + 1):
                (answer,) = executor.forward(is_train=True)
                executor.backward([answer * 0.5])
            found.append([answer.asnumpy(), *(one.asnumpy() for one in executor.grad_arrays)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-3, atol=2e-3 * np.abs(one).max())
    assert executor.explain()[0].count("call") == 0
