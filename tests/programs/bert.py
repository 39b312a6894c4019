"""BERT embeddings, masked language model decoding, token types, pooled classifier; GluonNLP in operators."""

import mxnet as mx
import numpy as np
from mxnet import nd, autograd

rng = np.random.RandomState(21)
B, L, V, U, P = 2, 6, 13, 8, 3


def r(x):
    return np.round(x.asnumpy().astype("f8"), 4).ravel()[:6].tolist()


word, typ, pos = [nd.array(rng.randn(n, U) * 0.1) for n in (V, 2, 10)]
gamma, beta = nd.ones(U), nd.zeros(U)
dense, bias = nd.array(rng.randn(U, U) * 0.3), nd.zeros(U)
dec_bias = nd.zeros(V)
params = dict(word=word, typ=typ, pos=pos, gamma=gamma, beta=beta, dense=dense, bias=bias, dec_bias=dec_bias)
for p in params.values():
    p.attach_grad()
tokens = nd.array(rng.randint(0, V, (B, L)), dtype="int32")
types = nd.array(rng.randint(0, 2, (B, L)), dtype="int32")
valid = nd.array([6, 4], dtype="int32")
masked = nd.array([[1, 3, 5], [0, 2, 2]], dtype="int32")
target = nd.array([[4, 7, 1], [2, 12, 0]])
weight = nd.array([[1, 1, 1], [1, 1, 0]])
mx.random.seed(1)
for step in range(4):
    with autograd.record():
        steps = nd.contrib.arange_like(tokens.astype("float32"), axis=1)
        emb = nd.Embedding(tokens, word, input_dim=V, output_dim=U) + nd.Embedding(
            types, typ, input_dim=2, output_dim=U
        )
        emb = nd.broadcast_add(emb, nd.expand_dims(nd.Embedding(steps, pos, input_dim=10, output_dim=U), axis=0))
        emb = nd.LayerNorm(emb, gamma, beta, eps=1e-12)
        emb = nd.Dropout(emb, p=0.0)
        seq = nd.SequenceMask(emb, valid.astype("float32"), use_sequence_length=True, axis=1)
        batch = nd.contrib.arange_like(masked.astype("float32"), axis=0)
        batch = nd.broadcast_axes(batch.expand_dims(1), axis=1, size=P)
        picked = nd.gather_nd(seq, nd.stack(batch.astype("int32"), masked, axis=0))
        hidden = nd.LeakyReLU(nd.FullyConnected(picked, dense, bias, num_hidden=U, flatten=False), act_type="gelu")
        logits = nd.dot(hidden, word, transpose_b=True) + dec_bias
        logp = nd.log_softmax(logits.astype("float32"), axis=-1)
        mlm = -(logp.pick(target) * weight).sum() / (weight.sum() + 1e-8)
        pooled = nd.tanh(seq.slice_axis(axis=1, begin=0, end=1).squeeze(axis=1))
        nsp = nd.SoftmaxOutput(nd.FullyConnected(pooled, typ, no_bias=True, num_hidden=2), nd.array([0, 1]))
        loss = mlm + nsp.max() * 0.1
    autograd.backward([loss])
    print(step, "%.5f" % loss.asscalar(), r(word.grad), "%.4f" % nd.norm(pos.grad).asscalar())
    for p in params.values():
        nd.sgd_update(p, p.grad, out=p, lr=0.5)
print(picked.shape, logits.shape, steps.dtype, r(nsp), r(hidden))
ref = nd.reshape_like(nd.arange(12), nd.zeros((3, 4)))
print(ref.shape, nd.arange(12).reshape((3, 4)).slice_like(nd.zeros((2, 2))).asnumpy().tolist())
print(
    nd.arange(24).reshape((2, 3, 4)).reshape((-4, 1, 2, -2)).shape,
    nd.zeros((2, 3, 4)).reshape((0, -3)).shape,
    nd.zeros((2, 3, 4)).reshape((-1, 0), reverse=True).shape,
    nd.zeros((2, 3, 4)).reshape(0, 0, 2, -1).shape,
)
x = nd.array([[-1.0, 0.5, 2.0]])
for act in ("elu", "leaky", "selu", "gelu"):
    print(act, r(nd.LeakyReLU(x, act_type=act)))
for act in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
    print(act, r(nd.Activation(x, act_type=act)))
print(r(nd.erf(x)), r(nd.erfinv(x / 3)), r(nd.gammaln(x + 3)), r(nd.hard_sigmoid(x)))
print(r(nd._internal._plus_scalar(x, scalar=2.0)) if hasattr(nd._internal, "_plus_scalar") else None)
