"""Transformer block with the interleaved products that GluonNLP's BERT uses, against plain batch_dot."""

import math
import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(1)
L, B, H, C = 5, 3, 2, 8
units = H * C


def p(name, x):
    print(
        name,
        x.shape,
        np.round(x.asnumpy().astype("f8").ravel()[:6], 4).tolist(),
        "%.3f" % float(x.abs().sum().asscalar()),
    )


x = nd.array(rng.randn(L, B, units))
wqkv = nd.array(rng.randn(3 * units, units) * 0.1)
wo = nd.array(rng.randn(units, units) * 0.1)
gamma, beta = nd.ones((units,)), nd.zeros((units,))
w1, b1 = nd.array(rng.randn(4 * units, units) * 0.1), nd.zeros(4 * units)
w2, b2 = nd.array(rng.randn(units, 4 * units) * 0.1), nd.zeros(units)
params = [wqkv, wo, gamma, beta, w1, b1, w2, b2]
for q in params:
    q.attach_grad()
valid = nd.array([5, 3, 4])
steps = nd.contrib.arange_like(x, axis=0)
p("steps", steps)
mask = nd.broadcast_lesser(steps.reshape((1, -1)), valid.reshape((-1, 1)))
mask = nd.broadcast_mul(
    mask.expand_dims(1), nd.broadcast_like(nd.expand_dims(mask.ones_like(), 2), mask, lhs_axes=(2,), rhs_axes=(1,))
)
mask = nd.repeat(mask, repeats=H, axis=0)
p("mask", mask)


def interleaved(F, x):
    qkv = F.FullyConnected(x, wqkv, no_bias=True, num_hidden=3 * units, flatten=False)
    qkv = qkv.reshape((0, 0, 3, H, C)).transpose((0, 1, 3, 2, 4)).reshape((0, 0, -1))
    score = F.contrib.interleaved_matmul_selfatt_qk(qkv, heads=H)
    score = F.where(mask, score, -1e18 * F.ones_like(score))
    att = F.softmax(score, axis=-1)
    out = F.contrib.interleaved_matmul_selfatt_valatt(qkv, att, heads=H)
    return F.FullyConnected(out, wo, no_bias=True, num_hidden=units, flatten=False), att


def plain(F, x):
    qkv = F.FullyConnected(x, wqkv, no_bias=True, num_hidden=3 * units, flatten=False)
    q, k, v = F.split(qkv, num_outputs=3, axis=-1)

    def heads(t):
        t = F.transpose(F.reshape(t, shape=(0, 0, H, -1)), axes=(1, 2, 0, 3))
        return F.reshape(t, (-1, 0, 0), reverse=True)

    q, k, v = heads(q), heads(k), heads(v)
    score = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
    att = F.softmax(F.where(mask, score, F.full(score.shape, -1e18)))
    out = F.batch_dot(att, v)
    out = F.transpose(out.reshape((-1, H, 0, 0), reverse=True), axes=(2, 0, 1, 3)).reshape((0, 0, -1))
    return F.FullyConnected(out, wo, no_bias=True, num_hidden=units, flatten=False), att


def block(F, attention):
    h, att = attention(F, x)
    h = F.LayerNorm(h + x, gamma, beta, axis=-1, eps=1e-5)
    f = F.LeakyReLU(F.FullyConnected(h, w1, b1, num_hidden=4 * units, flatten=False), act_type="gelu")
    f = F.FullyConnected(f, w2, b2, num_hidden=units, flatten=False)
    return F.SequenceMask(f + h, sequence_length=valid, use_sequence_length=True, axis=0), att


for attention in (interleaved, plain):
    with autograd.record():
        y, att = block(nd, attention)
        loss = (y**2).mean()
    loss.backward()
    print(attention.__name__)
    p("y", y), p("att", att), p("loss", loss)
    for q in params:
        p("grad", q.grad)
q = nd.array(rng.randn(4, B, units))
kv = nd.array(rng.randn(L, B, 2 * units))
s = nd.contrib.interleaved_matmul_encdec_qk(q, kv, heads=H)
o = nd.contrib.interleaved_matmul_encdec_valatt(kv, nd.softmax(s), heads=H)
p("encdec", s), p("encdec", o)
length = nd.array([2, 3, 1], dtype="int32")
p("length", nd.softmax(nd.array(rng.randn(3, 4)), length, use_length=True))
