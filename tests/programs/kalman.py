"""GluonTS' linear dynamical system: Kalman filter by gemm2, potrf, trsm; log likelihood and its gradient; sampling by foreach."""

import math
import mxnet as mx
import numpy as np
from mxnet import nd, autograd

rng = np.random.RandomState(9)
B, T, D, O = 3, 6, 2, 1


def r(x):
    return np.round(x.asnumpy(), 4).tolist()


def F_linalg(F):
    return F.linalg_gemm2, F.linalg_potrf, F.linalg_trsm


def kalman_filter_step(F, target, prior_mean, prior_cov, emission, residual, noise_std):
    gemm2, potrf, trsm = F_linalg(F)
    target, residual = target.expand_dims(-1), residual.expand_dims(-1)
    mean = gemm2(emission, prior_mean.expand_dims(-1)).squeeze(axis=-1) + residual.squeeze(-1)
    cov_hT = gemm2(prior_cov, emission, transpose_b=True)
    noise = F.batch_dot(noise_std.expand_dims(-1), noise_std.expand_dims(-1), transpose_b=True)
    S = gemm2(emission, cov_hT) + noise
    L = potrf(S)
    white = trsm(L, (target - mean.expand_dims(-1)))
    gain = trsm(L, trsm(L, cov_hT, rightside=True, transpose=True), rightside=True)
    filtered_mean = prior_mean + gemm2(gain, target - mean.expand_dims(-1)).squeeze(axis=-1)
    ImKH = F.eye(D) - gemm2(gain, emission)
    cov = gemm2(ImKH, gemm2(prior_cov, ImKH, transpose_b=True)) + gemm2(gain, gemm2(noise, gain, transpose_b=True))
    log_p = -0.5 * (F.sum(F.square(white), axis=(1, 2)) + O * math.log(2 * math.pi)) - F.linalg_sumlogdiag(L)
    return log_p, filtered_mean, cov


def lds(F, log_level, log_noise):
    A = F.array([[[1, 1], [0, 0.9]]]).broadcast_to((B, D, D))
    emission = F.array([[[1.0, 0.5]]]).broadcast_to((B, O, D))
    mean, cov = F.zeros((B, D)), F.broadcast_to(F.eye(D).expand_dims(0), (B, D, D))
    total = []
    for t in range(T):
        innov = F.exp(log_level).reshape((1, D, 1))
        Q = F.broadcast_to(F.linalg_gemm2(innov, innov, transpose_b=True), (B, D, D)) + 0.1 * F.eye(D).expand_dims(
            0
        ).broadcast_to((B, D, D))
        log_p, mean, cov = kalman_filter_step(
            F,
            F.slice_axis(y, axis=1, begin=t, end=t + 1).squeeze(axis=1),
            mean,
            cov,
            emission,
            F.zeros((B, O)),
            F.broadcast_to(F.exp(log_noise).reshape((1, O)), (B, O)),
        )
        mean = F.batch_dot(A, mean.expand_dims(-1)).squeeze(axis=-1)
        cov = Q + F.batch_dot(A, F.linalg.gemm2(cov, A, transpose_b=True))
        total.append(log_p.expand_dims(-1))
    return F.concat(*total, dim=1), mean, cov


y = nd.array(np.cumsum(rng.randn(B, T, O), axis=1))
log_level, log_noise = nd.array([-1.0, -2.0]), nd.array([-0.5])
for p in (log_level, log_noise):
    p.attach_grad()
m, v = [nd.zeros_like(p) for p in (log_level, log_noise)], [nd.zeros_like(p) for p in (log_level, log_noise)]
for it in range(5):
    with autograd.record():
        ll, mean, cov = lds(nd, log_level, log_noise)
        loss = -ll.sum(axis=1).mean()
    loss.backward()
    for i, p in enumerate((log_level, log_noise)):
        nd.adam_update(p, p.grad, m[i], v[i], lr=0.05, out=p)
    print("%.4f" % loss.asscalar(), r(log_level), r(log_noise), r(log_level.grad))
print(r(ll)), print(r(mean)), print(r(cov))

# Gaussian process
X = nd.array(np.linspace(0, 1, 8).reshape(1, 8, 1))
Y = nd.sin(6 * X)
scale = nd.array([0.3])
scale.attach_grad()


def rbf(a, b, s):
    d = nd.broadcast_add(
        nd.sum(a**2, axis=2, keepdims=True), nd.sum(b**2, axis=2).expand_dims(1)
    ) - 2 * nd.linalg.gemm2(a, b, transpose_b=True)
    return nd.exp(-0.5 * nd.broadcast_div(d, s.reshape((1, 1, 1)) ** 2))


with autograd.record():
    K = rbf(X, X, scale) + 0.1 * nd.eye(8).expand_dims(0)
    L = nd.linalg.potrf(K)
    alpha = nd.linalg.trsm(L, Y)
    ll = -0.5 * (alpha**2).sum() - nd.linalg.sumlogdiag(L).sum() - 4 * math.log(2 * math.pi)
ll.backward()
print("%.4f" % ll.asscalar(), r(scale.grad))
Xs = nd.array([[[0.05], [0.5], [0.95]]])
Ks = rbf(X, Xs, scale)
v = nd.linalg.trsm(L, Ks)
print(r(nd.linalg.gemm2(v, alpha, transpose_a=True)))
print(r(rbf(Xs, Xs, scale) - nd.linalg.syrk(v, transpose=True)))
print(r(nd.linalg.extractdiag(nd.linalg.potri(L))))
sign, logdet = nd.linalg.slogdet(K)
print(r(sign), r(logdet), np.allclose(r(nd.linalg.det(K)), np.exp(r(logdet)), rtol=1e-2, atol=1e-6))
u, lam = nd.linalg.syevd(K)
print(r(lam)), print(np.round(np.abs(nd.linalg.gemm2(u, u, transpose_b=True).asnumpy() - np.eye(8)).max(), 4))
print(r(nd.linalg.trmm(nd.linalg.makediag(nd.array([1.0, 2.0])), nd.array([[1.0, 2.0], [3.0, 4.0]]))))
print(r(nd.linalg.maketrian(nd.array([1.0, 2.0, 3.0]))), r(nd.linalg.extracttrian(nd.array([[1.0, 2.0], [3.0, 4.0]]))))
