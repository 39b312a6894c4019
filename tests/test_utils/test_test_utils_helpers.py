"""The helpers of `mx.test_utils` beside its checks: tolerances, statistics, matrices, surroundings, consistency."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import test_utils
from minpy.core.errors import ArgumentError, CheckError, ShapeError

scipy = pytest.importorskip("scipy")


def test_tolerances() -> None:
    single, half, whole = np.zeros(2, "float32"), mx.nd.zeros(2, dtype="float16"), np.zeros(2, "int32")
    assert test_utils.get_tols(single, half, None, None) == (0.01, 0.1)
    assert test_utils.get_tols(single, whole, None, None) == (0.0001, 0.001)
    assert test_utils.get_tols(single, np.zeros(2), {np.dtype("float32"): 0.3}, 0.5) == (0.3, 0.5)
    assert test_utils.default_rtols()[np.dtype("float64")] == 1e-5
    assert test_utils.default_atols()[np.dtype("int8")] == 0
    assert (test_utils.get_etol(), test_utils.get_etol(0.1)) == (0, 0.1)


def test_some_may_be_wrong() -> None:
    a, b = np.array([1, 2, 3, 4.0]), np.array([1, 2, 3, 5.0])
    test_utils.assert_almost_equal_with_err(a, b, etol=0.25)
    with pytest.raises(CheckError, match="differ in 1 of 4 elements"):
        test_utils.assert_almost_equal_with_err(a, b, etol=0.2)
    with pytest.raises(CheckError, match="differ in 1 of 4 elements"):
        test_utils.assert_almost_equal_with_err(a, b)
    test_utils.assert_allclose(a, a)
    with pytest.raises(CheckError):
        test_utils.assert_allclose(a, a + 1e-6)
    with pytest.raises(CheckError, match=r"a has shape \(4,\), b has shape \(3,\)"):
        test_utils.checkShapes(a, b[:3])
    with pytest.raises(CheckError, match="expected tuples of the same length"):
        test_utils.compare_ndarray_tuple((a,), (a, b))
    with pytest.raises(CheckError, match="differ in 1 of 4"):
        test_utils.compare_ndarray_tuple((a, (a,)), (a, (b,)))


def test_generators_are_judged() -> None:
    draw = np.random.RandomState(0)
    buckets, probs = test_utils.gen_buckets_probs_with_ppf(lambda p: 2 * p, 5)
    p, seen, expected = test_utils.chi_square_check(lambda n: draw.uniform(0, 2, n), buckets, probs, 10_000)
    wanted = scipy.stats.chisquare(seen, expected).pvalue
    assert p == pytest.approx(wanted)
    assert test_utils.chi_square_check(lambda n: draw.uniform(0, 3, n), buckets, probs, 10_000)[0] == 0
    assert test_utils.chi_square_check(lambda n: draw.randint(0, 3, n), [0, 1], [1 / 3, 1 / 3], 9_000)[0] > 1e-3
    assert len(test_utils.verify_generator(lambda n: draw.uniform(0, 2, n), buckets, probs, 5_000, 3)) == 3
    with pytest.raises(CheckError, match=r"passed 0 of 3 chi-square tests, expected 0\.6 at least"):
        test_utils.verify_generator(lambda n: draw.uniform(0, 1.9, n), buckets, probs, 5_000, 3)
    assert test_utils.mean_check(lambda n: draw.normal(0, 1, n), 0, 1, 10_000)
    assert not test_utils.mean_check(lambda n: draw.normal(0.1, 1, n), 0, 1, 10_000)
    assert test_utils.var_check(lambda n: draw.normal(0, 1, n), 1, 10_000)
    assert not test_utils.var_check(lambda n: draw.normal(0, 1.1, n), 1, 10_000)
    with pytest.raises(ArgumentError, match="was asked for 100 numbers and returned 3"):
        test_utils.mean_check(lambda n: draw.normal(size=3), 0, 1, 100)


def test_our_own_generators_pass() -> None:
    mx.random.seed(7)
    buckets, probs = test_utils.gen_buckets_probs_with_ppf(scipy.stats.norm(1, 2).ppf, 8)
    test_utils.verify_generator(lambda n: mx.nd.random.normal(1, 2, shape=n).asnumpy(), buckets, probs, 20_000, 5)
    assert test_utils.mean_check(lambda n: mx.nd.random.exponential(2.0, shape=n), 2, 2, 20_000)


def test_matrices() -> None:
    np.random.seed(3)
    q = test_utils.new_orthonormal_matrix_2d(5)
    np.testing.assert_allclose(q.T @ q, np.eye(5), atol=1e-12)
    for make in (test_utils.new_matrix_with_real_eigvals_nd, test_utils.new_sym_matrix_with_real_eigvals_nd):
        found = make((2, 3, 4, 4))
        values = np.linalg.eigvals(found)
        assert found.shape == (2, 3, 4, 4)
        assert np.abs(values.imag).max() < 1e-9
        assert (np.abs(values.real) > 0.99).all()
        assert (np.abs(values.real) < 2.01).all()
        assert np.linalg.cond(found).max() < 20
    np.testing.assert_array_equal(found, found.swapaxes(-1, -2))
    with pytest.raises(ShapeError, match=r"shape \(3, 4\) is not one of square matrices"):
        test_utils.new_matrix_with_real_eigvals_nd((3, 4))
    assert test_utils.get_identity_mat_batch(3).shape == (2, 3, 3)
    assert test_utils.create_vector(5).dtype == np.int64
    with pytest.raises(ShapeError, match=r"shape \(2,\) does not broadcast to that of a, \(3,\)"):
        test_utils.collapse_sum_like(np.ones(3), (2,))
    for axis, keepdims, shape in ((None, False, ()), (1, True, (2, 1, 4)), ((0, 2), False, (3,))):
        assert np.shape(test_utils.np_reduce(np.ones((2, 3, 4)), axis, keepdims, np.sum)) == shape


def test_surroundings(capfd: Any) -> None:
    with test_utils.environment({"MINPY_A": "1", "MINPY_B": None}):
        assert os.environ["MINPY_A"] == "1"
        with contextlib.suppress(ZeroDivisionError), test_utils.environment("MINPY_A", 2):
            assert os.environ["MINPY_A"] == "2"
            raise ZeroDivisionError
        assert os.environ["MINPY_A"] == "1"
    assert "MINPY_A" not in os.environ
    with pytest.raises(ArgumentError, match="a name and a value, or a dict of them"):
        test_utils.environment("MINPY_A").__enter__()
    tries = []

    @test_utils.retry(3)
    def third() -> None:
        tries.append(1)
        assert len(tries) == 3

    third()

    @test_utils.retry(2)
    def never() -> None:
        tries.append(1)
        raise ValueError

    with pytest.raises(ValueError):
        never()
    assert len(tries) == 4
    with pytest.raises(ArgumentError, match="n is 0; expected 1 or more"):
        test_utils.retry(0)
    with test_utils.discard_stderr():
        os.write(2, b"lost")
    print("kept", file=sys.stderr)
    assert capfd.readouterr().err == "kept\n"


def ways(*dtypes: str) -> list[dict[str, Any]]:
    return [{"ctx": mx.cpu(), "data": (2, 4), "type_dict": {"data": dtype}} for dtype in dtypes]


def test_consistency() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    found = test_utils.check_consistency(symbol, ways("float32", "float64", "float16"))
    assert set(found) == {"fc_output", "data", "fc_weight", "fc_bias"}
    assert found["fc_output"].dtype == np.float64
    assert set(test_utils.check_consistency(symbol, ways("float32", "float64"), grad_req="null")) == {"fc_output"}


def test_an_inconsistency_is_found(capsys: Any) -> None:
    data = mx.sym.var("data")
    pair = [mx.sym.tanh(data, name="y"), mx.sym.sigmoid(data, name="y")]
    with pytest.raises(CheckError, match=r"y_output of cpu\(0\) float32 and that of cpu\(0\) float64 differ in 8 of 8"):
        test_utils.check_consistency(pair, ways("float64", "float32"))
    test_utils.check_consistency(pair, ways("float64", "float32"), raise_on_err=False)
    assert "check_consistency: y_output" in capsys.readouterr().out
    with pytest.raises(ArgumentError, match="1 symbols, 2 ways"):
        test_utils.check_consistency(pair[:1], ways("float64", "float32"))


def test_differences_and_speed() -> None:
    symbol = mx.sym.var("a") * mx.sym.var("b")
    values = {"a": [1.0, 2.0], "b": [5.0, -3.0]}
    arrays = {name: mx.nd.array(value, dtype="float64") for name, value in values.items()}
    found = test_utils.numeric_grad(symbol.bind(mx.cpu(), arrays), values, dtype="float64")
    np.testing.assert_allclose(found["a"], values["b"], rtol=1e-6)
    np.testing.assert_allclose(found["b"], values["a"], rtol=1e-6)
    assert test_utils.check_speed(symbol, arrays, N=2) > 0
    assert test_utils.check_speed(symbol, N=1, typ="forward", a=(2, 2), b=(2, 2)) > 0
    with pytest.raises(ArgumentError, match="unknown typ 'backward'; expected 'whole' or 'forward'"):
        test_utils.check_speed(symbol, typ="backward")


def test_what_is_elsewhere_says_so() -> None:
    with pytest.raises(AttributeError, match="has no create_sparse_array: arrays are dense here: draw one with rand_"):
        _ = test_utils.create_sparse_array
    with pytest.raises(AttributeError, match="has no get_cifar10: it fetches data"):
        _ = test_utils.get_cifar10
    with pytest.raises(AttributeError, match=r"has no helper 'retri'\. Did you mean 'retry'"):
        _ = test_utils.retri


def test_blocks_that_differ_when_hybridized_are_found():
    class Differs(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x * 2 if F is mx.nd else x * 3

    class Same(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.tanh(x) * 2

    data = [mx.np.array([[0.5, 1.0], [2.0, -1.0]])]
    check = mx.test_utils.check_gluon_hybridize_consistency
    check(Same, data, lambda x: np.tanh(x) * 2)
    check(lambda prefix: mx.gluon.nn.Dense(3, prefix=prefix), data, test_grad=False)
    with pytest.raises(AssertionError):
        check(Same, data, np.tanh)
    with pytest.raises(AssertionError):
        check(Differs, data)
