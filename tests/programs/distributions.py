"""Negative binomial, Student-t, Gaussian mixture, Gamma, Beta and piecewise distributions as GluonTS writes them."""

import math
import mxnet as mx
import numpy as np
from mxnet import nd, autograd

rng = np.random.RandomState(8)


def r(x):
    return np.round(x.asnumpy().astype("f8"), 3).ravel()[:6].tolist()


def softplus(F, x):
    return F.Activation(x, act_type="softrelu")


def neg_binomial(F, x, mu, alpha):
    ainv, amu = 1.0 / alpha, alpha * mu
    ll = x * F.log(amu / (1.0 + amu)) - ainv * F.log1p(amu) + F.gammaln(x + ainv) - F.gammaln(x + 1.0) - F.gammaln(ainv)
    return F.where(F.broadcast_equal(x, F.zeros_like(x)), -ainv * F.log1p(amu), ll)


def student_t(F, x, mu, sigma, nu):
    nup1_half = (nu + 1.0) / 2.0
    part1 = 1.0 / nu * F.square((x - mu) / sigma)
    Z = F.gammaln(nup1_half) - F.gammaln(nu / 2.0) - 0.5 * F.log(math.pi * nu) - F.log(sigma)
    return Z - nup1_half * F.log1p(part1)


def gamma(F, x, alpha, beta):
    return alpha * F.log(beta) - F.gammaln(alpha) + (alpha - 1) * F.log(x) - beta * x


def mixture(F, x, logits, mu, sigma):
    log_w = F.log_softmax(logits, axis=-1)
    comp = (
        -F.log(sigma)
        - 0.5 * math.log(2 * math.pi)
        - 0.5 * F.square(F.broadcast_div(F.broadcast_sub(x.expand_dims(-1), mu), sigma))
    )
    s = F.broadcast_add(log_w, comp)
    top = F.max_axis(s, axis=-1, keepdims=True)
    return F.squeeze(F.log(F.sum(F.exp(F.broadcast_minus(s, top)), axis=-1, keepdims=True)) + top, axis=-1)


x = nd.array(rng.poisson(3, (2, 5)))
params = [nd.array(rng.randn(2, 5)) for _ in range(3)]
for p in params:
    p.attach_grad()
for dist in (
    lambda F, a, b, c: neg_binomial(F, x, softplus(F, a), softplus(F, b)),
    lambda F, a, b, c: student_t(F, x, a, softplus(F, b), 2.0 + softplus(F, c)),
    lambda F, a, b, c: gamma(F, x + 0.5, softplus(F, a), softplus(F, b)),
    lambda F, a, b, c: mixture(
        F, x, nd.stack(a, b, axis=-1), nd.stack(b, c, axis=-1), softplus(F, nd.stack(a, c, axis=-1))
    ),
):
    with autograd.record():
        ll = dist(nd, *params)
        loss = -ll.mean()
    loss.backward()
    print("%.4f" % loss.asscalar(), r(ll), [r(p.grad)[:3] for p in params])


class LogGamma(autograd.Function):
    def forward(self, v):
        self.save_for_backward(v)
        return nd.gammaln(v)

    def backward(self, g):
        (v,) = self.saved_tensors
        return g * (nd.log(v) - 0.5 / v)


v = nd.array([1.5, 2.5])
v.attach_grad()
with autograd.record():
    out = LogGamma()(v)
out.backward()
print(r(out), r(v.grad))
mx.random.seed(3)
for name, s, mean in (
    ("normal", nd.sample_normal(mu=nd.array([0.0, 5.0]), sigma=nd.array([1.0, 2.0]), shape=4000), [0, 5]),
    ("gamma", nd.sample_gamma(alpha=nd.array([2.0, 3.0]), beta=nd.array([2.0, 0.5]), shape=4000), [4, 1.5]),
    (
        "nb",
        nd.sample_generalized_negative_binomial(mu=nd.array([2.0, 4.0]), alpha=nd.array([0.3, 0.1]), shape=4000),
        [2, 4],
    ),
    ("poisson", nd.sample_poisson(nd.array([2.0, 4.0]), shape=(4000,)), [2, 4]),
    ("uniform", nd.random.uniform(nd.array([0.0, 1.0]), nd.array([1.0, 3.0]), shape=4000), [0.5, 2]),
    ("exponential", nd.random.exponential(nd.array([2.0, 1.0]), shape=4000), [2, 1]),
):
    print(name, s.shape, s.dtype.__name__, bool(np.allclose(s.mean(axis=1).asnumpy(), mean, rtol=0.15, atol=0.1)))
probs = nd.array([[0.1, 0.9], [1.0, 0.0]])
s, lp = nd.sample_multinomial(probs, shape=5, get_prob=True)
print(s.shape, s.dtype.__name__, lp.shape, s[1].asnumpy().tolist())
print(
    nd.random.multinomial(probs, shape=3).shape,
    nd.random.randint(0, 5, shape=(3,)).dtype.__name__,
    nd.random.shuffle(nd.arange(5)).sum().asscalar(),
    nd.random.uniform_like(x).shape,
    nd.random.randn(2, 3).shape,
    nd.random.negative_binomial(k=2, p=0.5, shape=(2,)).shape,
    nd.random_uniform(0, 1, (2, 2)).shape,
    mx.random.normal(0, 1, (2, 2)).shape,
)
mx.random.seed(5)
a = nd.random.normal(shape=(3,))
mx.random.seed(5)
b = nd.random.normal(shape=(3,))
print((a == b).asnumpy().tolist())
print(
    r(nd.random_pdf_normal(nd.array([[0.5, 1.0]]), nd.array([0.0]), nd.array([1.0])))
    if hasattr(nd, "random_pdf_normal")
    else None
)
obs = nd.array([[1.0, 0.0, 1.0, 1.0]])
scale = nd.broadcast_div(
    nd.sum(nd.abs(x[:1, :4]) * obs, axis=1, keepdims=True), nd.maximum(1.0, obs.sum(axis=1, keepdims=True))
)
print(r(scale), r(nd.broadcast_maximum(scale, nd.array([[1e-10]]))), r(nd.slice_axis(x, axis=1, begin=-2, end=None)))
lag = nd.concat(
    *[nd.slice_axis(x, axis=1, begin=-l - 2, end=-l if l > 0 else None).expand_dims(-1) for l in (0, 1, 3)], dim=2
)
print(
    lag.shape,
    r(lag),
    r(nd.swapaxes(lag, dim1=1, dim2=2)),
    r(nd.cumsum(x, axis=1)),
    x.tile(reps=(1, 2)).shape,
    r(nd.repeat(x, repeats=2, axis=0)),
)
