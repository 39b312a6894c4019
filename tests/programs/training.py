"""Training loops by update operators: SGD, momentum, NAG, Adam, AdamW, LAMB, RMSProp, Ftrl, mixed precision, loss scaling."""

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(2)
X, Yv = rng.randn(32, 5).astype("float32"), rng.randint(0, 3, 32)
W0, B0 = (rng.randn(3, 5) * 0.1).astype("float32"), np.zeros(3, "float32")


def loss_of(x, y, w, b):
    out = nd.FullyConnected(x, w, b, num_hidden=3)
    return -nd.pick(nd.log_softmax(out), y).mean()


def fresh(dtype="float32"):
    ps = [nd.array(W0, dtype=dtype), nd.array(B0, dtype=dtype)]
    for p in ps:
        p.attach_grad()
    return ps


def sgd(t, i, w, g, s):
    nd.sgd_update(w, g, out=w, lr=0.3, wd=0.01, rescale_grad=1.0, clip_gradient=-1)


def momentum(t, i, w, g, s):
    nd.sgd_mom_update(w, g, s[0], out=w, lr=0.3, momentum=0.9, wd=0.01)


def nag(t, i, w, g, s):
    nd.nag_mom_update(w, g, s[0], out=w, lr=0.3, momentum=0.9)


def adam(t, i, w, g, s):
    lr = 0.05 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    nd.adam_update(w, g, s[0], s[1], out=w, lr=lr, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0.0)


def adamw(t, i, w, g, s):
    nd.contrib.adamw_update(w, g, s[0], s[1], nd.array([1.0]), out=w, lr=0.05, eta=1.0, wd=0.01)


def lamb(t, i, w, g, s):
    upd = nd.lamb_update_phase1(
        w, g, s[0], s[1], beta1=0.9, beta2=0.999, epsilon=1e-6, t=t, wd=0.01, bias_correction=True
    )
    r1, r2 = w.norm(), upd.norm()
    nd.lamb_update_phase2(w, upd, r1, r2, out=w, lr=0.05, lower_bound=-1, upper_bound=-1)


def rmsprop(t, i, w, g, s):
    nd.rmsprop_update(w, g, s[0], out=w, lr=0.01, gamma1=0.9, epsilon=1e-8)


def rmspropalex(t, i, w, g, s):
    nd.rmspropalex_update(w, g, s[0], s[1], s[2], out=w, lr=0.01, gamma1=0.9, gamma2=0.9)


def ftrl(t, i, w, g, s):
    nd.ftrl_update(w, g, s[0], s[1], out=w, lr=0.3, lamda1=0.01, beta=1)


def ftml(t, i, w, g, s):
    nd.ftml_update(w, g, s[0], s[1], s[2], out=w, lr=0.05, t=t)


def signum(t, i, w, g, s):
    nd.signum_update(w, g, s[0], out=w, lr=0.01, momentum=0.9, wd_lh=0.001)


def adagrad(t, i, w, g, s):
    s[0] += nd.square(g)
    w[:] -= 0.1 * (g / nd.sqrt(s[0] + 1e-7))


for update in (sgd, momentum, nag, adam, adamw, lamb, rmsprop, rmspropalex, ftrl, ftml, signum, adagrad):
    ps = fresh()
    states = [[nd.zeros_like(p) for _ in range(3)] for p in ps]
    for t in range(1, 5):
        with autograd.record():
            l = loss_of(nd.array(X), nd.array(Yv), *ps)
        l.backward()
        for i, p in enumerate(ps):
            update(t, i, p, p.grad, states[i])
    print(
        update.__name__,
        "%.4f" % l.asscalar(),
        np.round(ps[0].asnumpy()[0], 4).tolist(),
        np.round(states[0][0].asnumpy()[0, :2], 4).tolist(),
    )

# several at once
ps = fresh()
moms = [nd.zeros_like(p) for p in ps]
for t in range(3):
    with autograd.record():
        l = loss_of(nd.array(X), nd.array(Yv), *ps)
    l.backward()
    flat = sum([[p, p.grad, m] for p, m in zip(ps, moms)], [])
    nd.multi_sgd_mom_update(*flat, lrs=[0.3, 0.1], wds=[0.01, 0.0], momentum=0.9, num_weights=2, out=ps)
print("multi", np.round(ps[0].asnumpy()[0], 4).tolist(), np.round(ps[1].asnumpy(), 4).tolist())
norms = nd.multi_sum_sq(*ps, num_arrays=2)
print([np.round(n.asnumpy(), 4).tolist() for n in norms] if isinstance(norms, list) else np.round(norms.asnumpy(), 4))
lrs = nd.multi_lars(nd.array([0.1, 0.1]), norms, norms * 2, nd.array([0.01, 0]), eta=0.1, eps=1e-6, rescale_grad=1)
print(np.round(lrs.asnumpy(), 4))


def loss16(x, y, w, b):
    out = nd.broadcast_add(nd.broadcast_mul(x.expand_dims(1), w.expand_dims(0)).sum(axis=2), b.expand_dims(0))
    return -nd.pick(nd.log_softmax(out), y).mean()


# mixed precision with dynamic loss scaling
w16 = [nd.array(W0).astype("float16"), nd.array(B0).astype("float16")]
w32 = [w.astype("float32") for w in w16]
mom32 = [nd.zeros_like(w) for w in w32]
for w in w16:
    w.attach_grad()
scale, clean = 65536.0 * 8, 0
for t in range(8):
    with autograd.record():
        l = loss16(nd.array(X).astype("float16"), nd.array(Yv), *w16) * scale
    l.backward()
    ok = nd.multi_all_finite(*[w.grad for w in w16], num_arrays=2).asscalar()
    if not ok:
        scale /= 2
    else:
        for w, m, k in zip(w16, mom32, w32):
            nd.mp_sgd_mom_update(w, w.grad, m, k, out=w, lr=0.2, momentum=0.9, rescale_grad=1.0 / scale)
    print(t, bool(ok), scale, w16[0].dtype.__name__, np.round(w32[0].asnumpy()[0, :3], 3).tolist())
a, b = nd.amp_multicast(nd.ones((2,), dtype="float16"), nd.ones((2,)), num_outputs=2)
print(a.dtype, b.dtype, nd.amp_cast(nd.ones(2), dtype="float16").dtype, nd.all_finite(nd.array([1, np.inf])).asnumpy())
