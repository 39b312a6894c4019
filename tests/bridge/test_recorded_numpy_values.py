"""NumPy's functions of recorded arrays: NumPy's own values, and gradients as finite differences have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd

NAN = np.nan
A = np.array([[1.0, -2.5, 3.0], [7.0, 0.25, -4.0]])
DIVIDENDS, DIVISORS = np.array([1.0, 1e17, -7.5, 5.5]), np.array([0.1, 0.3, 2.0, -2.0])
HOLES = np.array([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
BORDERED = np.array([[0.0, 0, 0], [0, 2, 3], [0, 0, 0]])
CUBE = np.random.RandomState(1).normal(size=(2, 5, 6))

Function = Callable[..., Any]

# What NumPy computes, which a formula does not: large quotients, NaN, nothing to count, ends.
VALUES: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
    "fmod": (lambda n, a, b: n.fmod(a, b), (DIVIDENDS, DIVISORS)),
    "fmod by infinity": (lambda n, a: n.fmod(a, np.inf), (DIVIDENDS,)),
    "divmod": (lambda n, a, b: n.divmod(a, b)[1], (DIVIDENDS, DIVISORS)),
    "median of NaN": (lambda n, a: n.median(a), (HOLES[0],)),
    "median of rows with NaN": (lambda n, a: n.median(a, axis=1), (np.where(A > 3, NAN, A),)),
    "nanmax of NaN alone": (lambda n, a: n.nanmax(a, axis=1), (HOLES,)),
    "nanmin of NaN alone": (lambda n, a: n.nanmin(a, axis=1), (HOLES,)),
    "nanvar of too few": (lambda n, a: n.nanvar(a, axis=1, ddof=2), (HOLES,)),
    "var of too few": (lambda n, a: n.var(a, ddof=9), (A,)),
    "std of too few": (lambda n, a: n.std(a, ddof=9), (A,)),
    "nanprod in another dtype": (lambda n, a: n.nanprod(a, axis=1, dtype="float32"), (HOLES,)),
    "nancumsum in another dtype": (lambda n, a: n.nancumsum(a, axis=1, dtype="float32"), (HOLES,)),
    "interp between one point": (lambda n, a: n.interp(a, [1.0], [5.0]), (A,)),
    "interp beside an infinite point": (lambda n, a: n.interp(a, [1.0, 2, 3], [5.0, np.inf, 7]), (A,)),
    "copysign of 0": (lambda n, a: n.copysign(a, -1.0), (np.array([0.0, 2]),)),
    "broadcast_to of -0": (lambda n, a: n.broadcast_to(a, (2, 2)), (np.array([-0.0, 2]),)),
    "full_like of -0": (lambda n, a: n.full_like(np.zeros(2), a), (np.array(-0.0),)),
}

# Values and gradients.
GRADIENTS: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
    **{
        f"repeat along axis {axis}": (lambda n, a, axis=axis: n.repeat(a, 2, axis=axis), (CUBE,))
        for axis in (None, 0, 1, 2, -1, -2, -3)
    },
    "repeat of each another time": (lambda n, a: n.repeat(a, [2, 0, 1], axis=1), (A,)),
    "correlate the shorter first": (lambda n, a, b: n.correlate(a, b, "same"), (A[0, :2], CUBE[0, 0])),
    "correlate the shorter first, full": (lambda n, a, b: n.correlate(a, b, "full"), (A[0, :2], CUBE[0, 0, :3])),
    "convolve the shorter first": (lambda n, a, b: n.convolve(a, b, "same"), (A[0, :2], CUBE[0, 0])),
    "median along several axes": (lambda n, a: n.median(a, axis=(0, -1), keepdims=True), (CUBE,)),
    "fmod": (lambda n, a, b: n.fmod(a, b), (DIVIDENDS[2:], DIVISORS[2:])),
    "divmod": (lambda n, a, b: n.divmod(a, b)[1], (DIVIDENDS[2:] + 0.3, DIVISORS[2:])),
    "diff of no order": (lambda n, a: n.diff(a, n=0, prepend=3.0), (A,)),
    "split at overlapping places": (lambda n, a: n.split(a, [2, 1], axis=-1)[2], (A,)),
    "split beyond the end": (lambda n, a: n.split(a, [1, 9], axis=-1)[1], (A,)),
    "vander without columns": (lambda n, a: n.vander(a, 0), (A[0],)),
    "sinc": (lambda n, a: n.sinc(a), (np.array([0.0, 1e-3, 0.004, 1.5, -0.7]),)),
    "slopes": (lambda n, a: n.gradient(a), (A[0],)),
    "slopes along one axis": (lambda n, a: n.gradient(a, 0.5, axis=-2), (CUBE,)),
    "slopes along all axes": (lambda n, a: n.gradient(a, 2.0, 0.5, 3.0)[1], (CUBE,)),
    "trapezoids between listed places": (
        lambda n, a: (n.trapezoid if hasattr(n, "trapezoid") else n.trapz)(a, [0, 1, 3.0]),
        (A,),
    ),
    **{
        f"ravel of a view in order {order}": (lambda n, a, order=order: n.ravel(n.transpose(a), order), (CUBE,))
        for order in "CFAK"
    },
    "ravel of another view in order K": (lambda n, a: n.ravel(n.swapaxes(a, 0, 1)[:, ::-1], order="K"), (CUBE,)),
    "reshape of a view in order A": (lambda n, a: n.reshape(n.transpose(a), (3, 20), order="A"), (CUBE,)),
    "flatten of a view in order A": (lambda n, a: n.transpose(a).flatten("A"), (CUBE,)),
}

# Of every length, with every normalization.
for _norm in ("backward", "ortho", "forward"):
    for _length in (1, 3, 5, 6, 10):
        _options: dict[str, Any] = {"n": _length, "norm": _norm}

        def _spectrum(n: Any, a: Any, axis: int = -1, options: dict[str, Any] = _options) -> Any:
            spectrum = n.fft.rfft(a, axis=axis, **options)
            return n.real(spectrum) + 2 * n.imag(spectrum)

        def _signal(n: Any, a: Any, b: Any, options: dict[str, Any] = _options) -> Any:
            return n.fft.irfft(a + 1j * b, axis=1, **options)

        GRADIENTS[f"rfft {_length} {_norm}"] = _spectrum, (CUBE[:, 0],)
        GRADIENTS[f"irfft {_length} {_norm}"] = _signal, (CUBE[:1, :4, 0], CUBE[1:, :4, 1])
    GRADIENTS[f"rfftn {_norm}"] = (
        lambda n, a, norm=_norm: n.imag(n.fft.rfftn(a, s=(3, 7), axes=(0, 1), norm=norm)) * 2,
        (CUBE[:, :, 0],),
    )
    GRADIENTS[f"irfft2 {_norm}"] = (
        lambda n, a, norm=_norm: n.fft.irfft2(a * (1 + 1j), s=(3, 4), norm=norm),
        (CUBE[0, :3, :3],),
    )


def recorded(function: Function, arrays: tuple[np.ndarray, ...]) -> tuple[Any, list[Any]]:
    inputs = [mx.np.array(array, dtype="float64") for array in arrays]
    for array in inputs:
        array.attach_grad()
    with autograd.record():
        return function(mx.np, *inputs), inputs


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*VALUES, *GRADIENTS])
def test_recorded_values_are_those_of_numpy(name: str) -> None:
    function, arrays = (VALUES | GRADIENTS)[name]
    expected = np.asarray(function(np, *(array.copy() for array in arrays)))
    got = recorded(function, arrays)[0].asnumpy()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    function, arrays = GRADIENTS[name]
    answer, inputs = recorded(function, arrays)
    weights = np.random.RandomState(0).uniform(0.5, 1.5, answer.shape)
    answer.backward(mx.np.array(weights, dtype="float64"))
    for number, (array, variable) in enumerate(zip(arrays, inputs, strict=True)):
        expected = np.zeros(array.shape)
        for place in np.ndindex(*array.shape):
            step = np.zeros(array.shape)
            step[place] = 1e-6
            ends = []
            for moved in (array + step, array - step):
                given = [*arrays[:number], moved, *arrays[number + 1 :]]
                ends.append(np.sum(np.asarray(function(np, *given)) * weights))
            expected[place] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(variable.grad.asnumpy(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="NumPy trims one axis only")
@pytest.mark.parametrize("trim", ["fb", "f", "b"])
def test_zeros_are_trimmed_along_all_axes(trim: str) -> None:
    answer, [variable] = recorded(lambda n, a: n.trim_zeros(a, trim), (BORDERED,))
    np.testing.assert_array_equal(answer.asnumpy(), np.trim_zeros(BORDERED, trim))
    answer.backward()
    assert variable.grad.asnumpy()[1, 1:].tolist() == [1, 1]


REFUSED: dict[str, tuple[Function, type[Exception]]] = {
    "broadcast_to fewer": (lambda n, a: n.broadcast_to(a, (1,)), ValueError),
    "full_like of fewer": (lambda n, a: n.full_like(np.zeros(2), a), ValueError),
    "average without weight": (lambda n, a: n.average(a, weights=[1.0, -1, 0]), ZeroDivisionError),
    "diff of an order below 0": (lambda n, a: n.diff(a, n=-1), ValueError),
    "slopes of one": (lambda n, a: n.gradient(a[:1]), ValueError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    function, kind = REFUSED[name]
    with pytest.raises(kind):
        function(np, A[0])
    with pytest.raises(kind):
        recorded(function, (A[0],))


def test_second_derivatives_of_a_sorted_array() -> None:
    hessian = mx.hessian(lambda x: mx.np.sum(mx.np.sort(x)[1:] ** 3))(np.array([2.0, -1.0, 3.0]))
    np.testing.assert_allclose(np.asarray(hessian), np.diag([12.0, 0, 18]))
