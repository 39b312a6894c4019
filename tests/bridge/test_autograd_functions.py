"""`through_autograd`: functions of `autograd.scipy` and `autograd.numpy` on arrays that are recorded here."""

from __future__ import annotations

import copy
import pickle

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import minpy as mx
from minpy.core.errors import ArgumentError, NoGradientError
from minpy.extend import through_autograd
from minpy.test_util import check_grads

X = np.array([0.5, 1.5, 2.5])

scipy = pytest.importorskip("scipy", reason="autograd.scipy needs SciPy")

import autograd.scipy.linalg  # noqa: E402
import autograd.scipy.signal  # noqa: E402
import autograd.scipy.special  # noqa: E402
import autograd.scipy.stats  # noqa: E402

FUNCTIONS = {
    "special.logsumexp": lambda sp, np: lambda x: sp.special.logsumexp(x),
    "special.logsumexp along an axis": lambda sp, np: lambda x: sp.special.logsumexp(np.outer(x, x), axis=1),
    "special.gammaln": lambda sp, np: lambda x: sp.special.gammaln(x),
    "stats.norm.logpdf": lambda sp, np: lambda x: sp.stats.norm.logpdf(x, x[0], 2.0 + x[1]),
    "stats.multivariate_normal.logpdf": lambda sp, np: (
        lambda x: sp.stats.multivariate_normal.logpdf(x, np.zeros(3), np.eye(3))
    ),
    "signal.convolve": lambda sp, np: lambda x: sp.signal.convolve(x, x * x),
    "linalg.sqrtm": lambda sp, np: lambda x: sp.linalg.sqrtm(np.outer(x, x) + np.eye(3)),
    "array of a list": lambda sp, np: lambda x: np.array([x[0], [x[1]][0] * x[2]]),
    "r_": lambda sp, np: lambda x: np.r_[x, 2 * x[:1]],
    "c_": lambda sp, np: lambda x: np.c_[x, x * x],
}
NAMES = through_autograd(autograd.scipy), through_autograd(anp)


@pytest.mark.filterwarnings("ignore:._ is slow for array inputs")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_autograds(name):
    ours = FUNCTIONS[name](*NAMES)
    theirs = FUNCTIONS[name](autograd.scipy, anp)
    np.testing.assert_allclose(ours(X), theirs(X))
    np.testing.assert_allclose(mx.jacobian(ours)(X), autograd.jacobian(theirs)(X), rtol=1e-12, atol=1e-14, err_msg=name)
    if name not in ("linalg.sqrtm",):  # whose rule of autograd's is of first order
        check_grads(ours, modes=["rev"], order=2)(X)


def test_recorded_arrays():
    logsumexp = through_autograd(autograd.scipy.special.logsumexp)
    x = mx.np.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = 2 * logsumexp(x)
    y.backward()
    assert type(y) is mx.np.ndarray
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.exp(X) / np.exp(X).sum(), rtol=1e-6)


def test_functions_of_ones_own():
    def weighted(x, weights):
        return anp.sum(anp.array([weights["w"] * x[0], x[1] ** 2]))

    first, second = mx.grad(through_autograd(weighted), (0, 1))(X, {"w": 3.0})
    np.testing.assert_allclose(first, [3.0, 3.0, 0.0])
    assert second == {"w": 0.5}


def test_without_recorded_arrays_it_is_the_function_itself():
    logsumexp = through_autograd(autograd.scipy.special.logsumexp)
    np.testing.assert_allclose(autograd.grad(logsumexp)(X), autograd.grad(autograd.scipy.special.logsumexp)(X))
    assert type(logsumexp(X)) is np.float64
    assert logsumexp.__name__ == "logsumexp"


def test_namespaces():
    special = through_autograd(autograd.scipy.special)
    assert repr(special) == "<autograd.scipy.special, followed by minpy>"
    assert "gammaln" in dir(special)
    assert special.gammaln is special.gammaln
    assert NAMES[1].float64 is np.float64
    assert NAMES[1].pi == np.pi
    assert repr(NAMES[1].linalg) == "<autograd.numpy.linalg, followed by minpy>"
    for again in (pickle.loads(pickle.dumps(special)), copy.copy(special)):
        np.testing.assert_allclose(again.gammaln(X), special.gammaln(X))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        special.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np, "numpy is no module of HIPS autograd. Give the module in autograd that stands for it"),
        (3.0, r"got float 3.0; expected a function written for HIPS autograd, or one of its modules."),
        (float, "expected a function written for HIPS autograd"),
    ],
)
def test_what_it_does_not_take(value, message):
    with pytest.raises(ArgumentError, match=message):
        through_autograd(value)


def test_a_rule_that_is_missing():
    gammainc = through_autograd(autograd.scipy.special.gammainc)
    with pytest.raises(NoGradientError, match=r"gammainc has no gradient .*was called on a recorded array"):
        mx.grad(lambda a: gammainc(a, 2.0))(1.5)


def test_two_tapes_at_once():
    total = through_autograd(anp.dot)
    x = mx.np.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        with pytest.raises(ArgumentError, match="dot: an argument is traced by HIPS autograd and another is recorded"):
            autograd.grad(lambda z: total(z, y))(X)
