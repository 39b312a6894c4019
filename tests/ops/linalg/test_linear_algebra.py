"""Linear algebra: what it refuses and how it says so, large and empty matrices, second order of symmetric ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import functional, nd
from minpy.core.errors import ArgumentValueError, DTypeError, OutOfRangeError, ShapeError
from minpy.ops.registry import OPERATORS

linalg = nd.linalg
ONE = nd.ones((2, 2))
SINGULAR = nd.array([[[1, 0], [0, 1]], [[0, 0], [1, 1]]])
MATRICES = nd.ones((3, 2, 3))

# code, error, its text
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: linalg.gemm2(ONE, nd.ones((3, 2))),
        ShapeError,
        (
            "linalg.gemm2: A (2, 2) and B (3, 2) with transpose_a=False, transpose_b=False sum over axes of lengths 2 "
            "and 3; they must be equal."
        ),
    ),
    (
        lambda: linalg.gemm2(nd.ones((1, 2, 2)), nd.ones((3, 2, 2))),
        ShapeError,
        (
            "linalg.gemm2: A (1, 2, 2) and B (3, 2, 2) differ in an axis that is neither the rows' (1) nor the "
            "columns' (the last). Such axes must be equal; nothing is broadcast."
        ),
    ),
    (
        lambda: linalg.gemm2(ONE, nd.ones((1, 2, 2))),
        ShapeError,
        "linalg.gemm2: A (2, 2) and B (1, 2, 2) have 2 and 3 axes; they must have equally many.",
    ),
    (
        lambda: linalg.gemm2(ONE, ONE, axis=-1),
        ShapeError,
        "linalg.gemm2: axis -1 is the last one, that of the columns; expected -2 <= axis < -1.",
    ),
    (
        lambda: linalg.gemm(ONE, ONE, nd.ones((2, 3))),
        ShapeError,
        "linalg.gemm: C has shape (2, 3); expected (2, 2), that of the product of A and B.",
    ),
    (
        lambda: linalg.gemm2(ONE.astype("int32"), ONE),
        DTypeError,
        "linalg.gemm2: A has dtype int32; expected a floating-point dtype. Use A.astype('float32').",
    ),
    (
        lambda: linalg.syrk(nd.ones((3,))),
        ShapeError,
        "linalg.syrk: A has shape (3,); expected matrices in its last two axes, (..., n, m).",
    ),
    (
        lambda: linalg.trmm(ONE, nd.ones((2, 3)), rightside=True),
        ShapeError,
        "linalg.trmm: A (2, 2) and B (2, 3) with rightside=True: axis -1 of B has length 3; expected 2, the size of A.",
    ),
    (
        lambda: linalg.trsm(SINGULAR, ONE),
        ShapeError,
        (
            "linalg.trsm: A (2, 2, 2) and B (2, 2) differ in the axes before the matrices: (2,) and (). They must be "
            "equal; nothing is broadcast."
        ),
    ),
    (
        lambda: linalg.trsm(SINGULAR, SINGULAR),
        ArgumentValueError,
        "linalg.trsm: A[1] (of shape (2, 2, 2)) is singular: it has a zero on its diagonal.",
    ),
    (
        lambda: linalg.inverse(nd.stack(SINGULAR, nd.zeros((2, 2, 2)))),
        ArgumentValueError,
        "linalg.inverse: A[0, 1] (of shape (2, 2, 2, 2)) is singular: it has no inverse.",
    ),
    (
        lambda: linalg.potri(nd.zeros((2, 2))),
        ArgumentValueError,
        "linalg.potri: A (2, 2) is singular: it has a zero on its diagonal, and is no Cholesky factor.",
    ),
    (
        lambda: linalg.potrf(nd.stack(nd.eye(2), nd.array([[1, 2], [2, 1]]))),
        ArgumentValueError,
        (
            "linalg.potrf: A[1] (of shape (2, 2, 2)) is not positive definite: it has no Cholesky factor. Adding a "
            "small multiple of the identity may help."
        ),
    ),
    (
        lambda: linalg.det(MATRICES),
        ShapeError,
        "linalg.det: A has shape (3, 2, 3); expected square matrices, (..., n, n).",
    ),
    (
        lambda: linalg.det(ONE.astype("float16")),
        DTypeError,
        (
            "linalg.det: A has dtype float16; expected float32 or float64, in which matrices can be factorized. Use "
            "A.astype('float32')."
        ),
    ),
    (
        lambda: linalg.gelqf(nd.ones((3, 2))),
        ShapeError,
        "linalg.gelqf: A has shape (3, 2); expected no more rows than columns, (..., n, m), n <= m.",
    ),
    (
        lambda: linalg.extractdiag(ONE, offset=2),
        ShapeError,
        "linalg.extractdiag: offset 2 is out of range for A (2, 2); expected -1 <= offset <= 1.",
    ),
    (
        lambda: linalg.maketrian(nd.ones((4,))),
        ShapeError,
        "linalg.maketrian: the last axis of A has length 4; expected n (n + 1) / 2, such as 3 or 6.",
    ),
    (
        lambda: nd.khatri_rao(ONE, nd.ones((2, 3))),
        ShapeError,
        "khatri_rao: argument 1 has shape (2, 3); expected a matrix with as many columns as argument 0, (2, 2).",
    ),
    (
        lambda: nd.contrib.index_copy(ONE, nd.array([2]), nd.ones((1, 2))),
        OutOfRangeError,
        "contrib.index_copy: index_vector holds 2; expected 0 <= index < 2, the rows of old_tensor.",
    ),
    (
        lambda: nd.contrib.index_copy(ONE, nd.array([1]), nd.ones((1, 3))),
        ShapeError,
        (
            "contrib.index_copy: old_tensor (2, 2), index_vector (1,), new_tensor (1, 3); expected (n, ...), (rows,) "
            "and (rows, ...), with the same axes after the first."
        ),
    ),
    (
        lambda: nd.contrib.boolean_mask(ONE, nd.ones((3,)), axis=1),
        ShapeError,
        "contrib.boolean_mask: index has shape (3,); expected (2,), the length of axis 1 of data (2, 2).",
    ),
    (
        lambda: nd.contrib.arange_like(ONE, repeat=0),
        ArgumentValueError,
        "contrib.arange_like: repeat is 0; expected 1 or more.",
    ),
    (
        lambda: nd.contrib.index_array(ONE, axes=(0, 2)),
        ShapeError,
        "contrib.index_array: axis 2 is out of range for an array with 2 axes; expected -2 <= axis < 2.",
    ),
    (
        lambda: nd.contrib.allclose(ONE, nd.ones((2,))),
        ShapeError,
        "contrib.allclose: a has shape (2, 2), b has (2,); they must be equal.",
    ),
    (
        lambda: nd.contrib.ifft(nd.ones((2, 3))),
        ShapeError,
        "contrib.ifft: data has shape (2, 3); expected an even last axis: pairs of numbers.",
    ),
    (
        lambda: nd.contrib.count_sketch(ONE, nd.array([0, 4]), nd.ones((2,)), out_dim=4),
        OutOfRangeError,
        "contrib.count_sketch: h holds 4; expected 0 <= h < 4, which is out_dim.",
    ),
    (
        lambda: nd.contrib.hawkesll(*_hawkes(marks=2)),
        OutOfRangeError,
        "contrib.hawkesll: marks holds 2; expected 0 <= mark < 2, a process of lda.",
    ),
    (
        lambda: nd.contrib.hawkesll(*_hawkes(valid=4)),
        OutOfRangeError,
        "contrib.hawkesll: valid_length holds 4; expected at most 3, the events that there are.",
    ),
    (
        lambda: nd.random_pdf_normal(nd.ones((2, 3)), nd.ones((3,)), nd.ones((3,))),
        ShapeError,
        "random_pdf_normal: sample has shape (2, 3); expected (3, ...), as mu has shape (3,).",
    ),
    (
        lambda: nd.random_pdf_gamma(nd.ones((2, 3)), nd.ones((2,)), nd.ones((1,))),
        ShapeError,
        "random_pdf_gamma: beta has shape (1,), alpha has (2,); they must be equal.",
    ),
    (
        lambda: nd._internal._sample_unique_zipfian(range_max=5, shape=(2, 6)),
        ArgumentValueError,
        "_sample_unique_zipfian: shape is (2, 6), range_max 5; a row of 6 different classes needs as many of them.",
    ),
    (
        lambda: nd._internal._npx_masked_softmax(ONE, nd.ones((3,))),
        ShapeError,
        "masked_softmax: mask has shape (3,); expected (2, 2), that of data, or one that broadcasts to it.",
    ),
]


def _hawkes(marks: int = 0, valid: int = 3) -> list[Any]:
    one, each = nd.ones((2,)), nd.ones((1, 2))
    return [each, one, one, each, nd.ones((1, 3)), nd.ones((1, 3)) * marks, nd.array([valid]), nd.array([9])]


@pytest.mark.parametrize(("refused", "error", "text"), REFUSED, ids=[text[:50] for _, _, text in REFUSED])
def test_what_is_refused_and_how(refused: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as found:
        refused()
    assert str(found.value) == text


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 150),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 2**31),
)
def test_triangular_systems_of_any_size(
    size: int, others: int, transpose: bool, rightside: bool, lower: bool, dtype: str, seed: int
) -> None:
    """Across the sizes at which systems are solved block by block; what is in the other triangle is not read."""
    random = np.random.RandomState(seed)
    A = (random.uniform(-1, 1, (2, size, size)) / max(size, 1) + 2 * np.eye(size)).astype(dtype)
    X = random.uniform(-1, 1, (2, others, size) if rightside else (2, size, others)).astype(dtype)
    options = {"transpose": transpose, "rightside": rightside, "lower": lower}
    B = linalg.trmm(nd.array(A, dtype=dtype), nd.array(X, dtype=dtype), **options)
    wrong = np.triu(np.full((size, size), np.nan), 1) if lower else np.tril(np.full((size, size), np.nan), -1)
    found = linalg.trsm(nd.array(A + wrong.astype(dtype), dtype=dtype), B, **options)
    assert found.dtype == np.dtype(dtype).type
    np.testing.assert_allclose(found.asnumpy(), X, atol=1e-4 if dtype == "float32" else 1e-12)


def test_triangular_systems_lose_no_digits_that_solvers_of_lapack_keep() -> None:
    """Ill-conditioned ones: errors as small as those of LAPACK's own triangular solver."""
    size = 200
    factor = np.tril(np.random.RandomState(0).uniform(-1, 1, (size, size)) * 0.5 ** np.arange(size)[::-1, None] + 0.0)
    factor += np.diag(0.7 ** np.arange(size))
    exact = np.ones((size, 1))
    right = factor @ exact
    ours = OPERATORS["_linalg_trsm"](factor, right)
    theirs = scipy.linalg.solve_triangular(factor, right, lower=True)
    residual = [np.abs(factor @ found - right).max() for found in (ours, theirs)]
    assert residual[0] <= 10 * residual[1] + 1e-15


@pytest.mark.parametrize("name", ["potrf", "potri", "inverse", "det", "slogdet", "syevd", "gelqf", "sumlogdiag"])
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (0, 0)])
def test_empty_matrices(name: str, shape: tuple[int, ...]) -> None:
    """Of no matrices, and of matrices without elements; with gradients."""
    x = nd.zeros(shape)
    x.attach_grad()
    with mx.autograd.record():
        found = getattr(linalg, name)(x)
    found = found if isinstance(found, (list, tuple)) else [found]
    assert all(part.shape[: len(shape) - 2] == shape[:-2] or len(shape) == 2 for part in found)
    mx.autograd.backward(list(found))
    assert x.grad.shape == shape


def _through(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of any matrix, by way of a symmetric, positive definite one."""

    def whole(x: Any) -> Any:
        symmetric = linalg.syrk(x) + nd.eye(3, dtype="float64")
        outputs = function(symmetric)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        total = 0
        for output in outputs:
            weights = nd.array(np.cos(np.arange(output.size)).reshape(output.shape), dtype="float64")
            total = total + (weights * output * output).sum()
        return total

    return whole


@pytest.mark.parametrize("name", ["potrf", "syevd"])
def test_second_order_by_way_of_symmetric_matrices(name: str) -> None:
    """Where perturbations are symmetric, gradients of gradients are those of central differences."""
    function = _through(getattr(linalg, name))
    x = np.random.RandomState(3).normal(size=(3, 3))
    first = functional.grad(function)
    hessian = functional.hessian(function)(nd.array(x, dtype="float64")).asnumpy().reshape(9, 9)
    step, expected = 1e-5, []
    for index in range(9):
        change = np.zeros(9)
        change[index] = step
        moved = [
            first(nd.array(x + sign * change.reshape(3, 3), dtype="float64")).asnumpy().reshape(-1) for sign in (1, -1)
        ]
        expected.append((moved[0] - moved[1]) / (2 * step))
    np.testing.assert_allclose(hessian, np.array(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-9)


def test_factors_of_equal_eigenvalues_have_finite_gradients() -> None:
    x = nd.eye(3)
    x.attach_grad()
    with mx.autograd.record():
        u, values = linalg.syevd(x)
        loss = (u * u * u).sum() + (values * nd.array([1, 2, 3])).sum()
    loss.backward()
    assert np.isfinite(x.grad.asnumpy()).all()


def test_a_gaussian_process_is_fitted() -> None:
    """A whole program: the marginal likelihood of a Gaussian process, by potrf, trsm and sumlogdiag, is maximized."""
    random = np.random.RandomState(0)
    at = np.linspace(0, 5, 20)
    values = nd.array(np.sin(at)[:, None] + 0.1 * random.normal(size=(20, 1)), dtype="float64")
    distances = nd.array((at[:, None] - at) ** 2, dtype="float64")
    logarithms = nd.array([0, 0, -1], dtype="float64")  # of the length, the variance and the noise
    logarithms.attach_grad()
    losses = []
    for _ in range(60):
        with mx.autograd.record():
            length, variance, noise = (logarithms[index : index + 1].exp() for index in range(3))
            kernel = variance * (-distances / (2 * length * length)).exp() + noise * nd.eye(20, dtype="float64")
            factor = linalg.potrf(kernel)
            white = linalg.trsm(factor, values)
            loss = (white * white).sum() / 2 + linalg.sumlogdiag(factor)
        loss.backward()
        losses.append(loss.asscalar())
        logarithms[:] = logarithms - 0.02 * logarithms.grad
    assert losses[-1] < losses[0] - 10
    by_hand = kernel.asnumpy()
    expected = values.asnumpy().T @ np.linalg.solve(by_hand, values.asnumpy()) / 2 + np.linalg.slogdet(by_hand)[1] / 2
    np.testing.assert_allclose(losses[-1], expected.item(), rtol=1e-9)


# -- draws -------------------------------------------------------------------------------------------------------------


def test_unique_classes_are_unique_and_likely_in_proportion() -> None:
    mx.random.seed(1)
    samples, trials = OPERATORS["_sample_unique_zipfian"](range_max=1000, shape=(400, 20))
    assert all(len(set(row)) == 20 for row in samples.tolist())
    assert samples.min() >= 0
    assert samples.max() < 1000
    assert (trials >= 20).all()
    first = np.bincount(samples[:, 0], minlength=1000)[:3] / 400
    np.testing.assert_allclose(first, np.log([2, 3 / 2, 4 / 3]) / np.log(1001), atol=0.06)


def test_candidates_and_their_expected_counts() -> None:
    mx.random.seed(2)
    samples, true, sampled = nd.contrib.rand_zipfian(nd.array([3, 1]), 20000, 50)
    assert (samples.dtype, true.dtype, sampled.dtype) == (np.int64, np.float64, np.float64)
    counts = np.bincount(samples.asnumpy(), minlength=50)
    np.testing.assert_allclose(counts[[3, 1]], true.asnumpy(), rtol=0.1)
    numbers = samples.asnumpy()[:5] + 0.0
    np.testing.assert_allclose(
        sampled.asnumpy()[:5], 20000 * np.log((numbers + 2) / (numbers + 1)) / np.log(51), rtol=1e-12
    )
    mx.random.seed(2)
    symbols = mx.sym.Group([*mx.sym.contrib.rand_zipfian(mx.sym.var("true"), 20000, 50)])
    drawn, expected, _ = symbols.eval(true=nd.array([3, 1]))
    assert drawn.dtype == np.int64
    np.testing.assert_allclose(expected.asnumpy(), true.asnumpy(), rtol=1e-12)
    np.testing.assert_allclose(np.bincount(drawn.asnumpy(), minlength=50)[:4], counts[:4], rtol=0.1)


# -- masks -------------------------------------------------------------------------------------------------------------


def test_masked_logarithms_have_gradients_where_the_mask_is() -> None:
    data, mask = nd.array([[1, 2, 3], [4, 5, 6]]), nd.array([[1, 0, 1], [0, 0, 0]])
    data.attach_grad()
    with mx.autograd.record():
        found = nd._internal._npx_masked_log_softmax(data, mask)
        loss = nd.where(mask, found, nd.zeros_like(found)).sum()
    loss.backward()
    share = 1 / (1 + np.exp(-2))
    np.testing.assert_allclose(found.asnumpy()[0], [np.log(1 - share), -np.inf, np.log(share)], rtol=1e-6)
    assert np.isneginf(found.asnumpy()[1]).all()
    np.testing.assert_allclose(data.grad.asnumpy(), [[2 * share - 1, 0, 1 - 2 * share], [0, 0, 0]], atol=1e-6)


def test_integers_and_booleans_are_finite() -> None:
    for dtype in ("int32", "uint8", "int64"):
        x = nd.array([0, 1, 100], dtype=dtype)
        assert nd.contrib.isfinite(x).asnumpy().tolist() == [1, 1, 1]
        assert nd.contrib.isinf(x).asnumpy().tolist() == nd.contrib.isnan(x).asnumpy().tolist() == [0, 0, 0]


def test_hawkes_likelihood_of_many_events_is_that_of_one_after_the_other() -> None:
    """The scan over 700 events agrees with a loop, in float32 as well."""
    random = np.random.RandomState(5)
    lags, marks = random.exponential(0.5, (2, 700)), random.randint(0, 3, (2, 700))
    lda, alpha, beta = random.uniform(0.2, 1, (2, 3)), np.array([0.2, 0.4, 0.3]), np.array([0.5, 1, 2])
    end = lags.sum(1) + 1
    expected = []
    for sample in range(2):
        memory, now, total = np.zeros(3), 0.0, -(lda[sample] * end[sample]).sum()
        for lag, mark in zip(lags[sample], marks[sample], strict=True):
            now += lag
            memory *= np.exp(-beta * lag)
            total += np.log(lda[sample, mark] + alpha[mark] * beta[mark] * memory[mark])
            total -= alpha[mark] * (1 - np.exp(-beta[mark] * (end[sample] - now)))
            memory[mark] += 1
        expected.append(total)
    for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-4)):
        arrays = [lda, alpha, beta, np.zeros((2, 3)), lags, marks, np.full(2, 700), end]
        found, _ = nd.contrib.hawkesll(*(nd.array(value, dtype=dtype) for value in arrays))
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=tolerance)
