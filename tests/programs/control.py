"""while_loop decoder, CRF by foreach, cond: nd and sym."""

import mxnet as mx
import numpy as np
from mxnet import nd, autograd

rng = np.random.RandomState(13)
W = nd.array(rng.randn(5, 5))


def r(x):
    return np.round(x.asnumpy().astype("f8"), 4).tolist()


h0 = nd.array(rng.randn(1, 5))
W.attach_grad()
with autograd.record():
    outputs, states = nd.contrib.while_loop(
        cond=lambda i, h: i < 4,
        func=lambda i, h: ([nd.softmax(nd.dot(h, W))], [i + 1, nd.tanh(nd.dot(h, W) + h)]),
        loop_vars=(nd.array([0]), h0),
        max_iterations=6,
    )
    loss = outputs[0].slice_axis(axis=0, begin=0, end=4).square().sum() + states[1].sum()
loss.backward()
print(outputs[0].shape, r(states[0]), r(loss), r(W.grad)[0])
emissions = nd.array(rng.randn(6, 3, 4))
T = nd.array(rng.randn(4, 4) * 0.5)
T.attach_grad()


def forward_step(e, alpha):
    s = nd.broadcast_add(alpha.expand_dims(2), T.expand_dims(0))
    m = nd.max(s, axis=1)
    new = nd.log(nd.sum(nd.exp(nd.broadcast_sub(s, m.expand_dims(1))), axis=1)) + m + e
    return new, new


def viterbi_step(e, v):
    s = nd.broadcast_add(v.expand_dims(2), T.expand_dims(0))
    return nd.argmax(s, axis=1), nd.max(s, axis=1) + e


tags = nd.array(rng.randint(0, 4, (6, 3)))
with autograd.record():
    _, alpha = nd.contrib.foreach(forward_step, emissions[1:], emissions[0])
    m = alpha.max(axis=1, keepdims=True)
    log_z = (nd.log(nd.exp(nd.broadcast_sub(alpha, m)).sum(axis=1, keepdims=True)) + m).reshape((-1,))
    gold = nd.pick(emissions, tags, axis=2).sum(axis=0) + nd.gather_nd(
        T, nd.stack(tags[:-1].reshape((-1,)), tags[1:].reshape((-1,)))
    ).reshape((5, 3)).sum(axis=0)
    nll = (log_z - gold).mean()
nll.backward()
print(r(nll), r(T.grad))
back, best = nd.contrib.foreach(viterbi_step, emissions[1:], emissions[0])
path = [best.argmax(axis=1)]
for t in range(4, -1, -1):
    path.append(back[t].pick(path[-1]))
print(np.stack([p.asnumpy() for p in path[::-1]]).tolist())
for v in (1.0, -1.0):
    x = nd.array([v])
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.cond(x > 0, lambda: x * 3, lambda: x * x)
    y.backward()
    print(r(y), r(x.grad))
# symbols
data, state, w = mx.sym.var("data"), mx.sym.var("state"), mx.sym.var("w")


def body(x, s):
    h = mx.sym.tanh(mx.sym.FullyConnected(x, w, no_bias=True, num_hidden=5) + s)
    return h * 2, h


out, last = mx.sym.contrib.foreach(body, data, state)
g = mx.sym.Group([out, last])
print(g.list_arguments(), g.infer_shape(data=(4, 2, 5), state=(2, 5), w=(5, 5))[1])
args = {"data": nd.array(rng.randn(4, 2, 5)), "state": nd.zeros((2, 5)), "w": nd.array(rng.randn(5, 5) * 0.3)}
ex = g.bind(mx.cpu(), args, args_grad={k: nd.zeros_like(v) for k, v in args.items()})
o = ex.forward(is_train=True)
ex.backward([nd.ones_like(a) for a in o])
print([a.shape for a in o], r(o[1]), r(ex.grad_dict["w"])[0])
g2 = mx.sym.load_json(g.tojson())
ex2 = g2.bind(mx.cpu(), args)
print(bool(np.allclose(ex2.forward()[0].asnumpy(), o[0].asnumpy(), atol=1e-6)))
i, acc = mx.sym.var("i"), mx.sym.var("acc")
outs, fin = mx.sym.contrib.while_loop(
    lambda i, acc: i <= 5, lambda i, acc: ([i * acc], [i + 1, acc + i]), [i, acc], max_iterations=7
)
ex = mx.sym.Group([outs[0], *fin]).bind(mx.cpu(), {"i": nd.array([1]), "acc": nd.array([0])})
o = ex.forward()
print([r(a) if k else r(a)[:5] for k, a in enumerate(o)])
p, q = mx.sym.var("p"), mx.sym.var("q")
c = mx.sym.contrib.cond(p < q, lambda: p * 2, lambda: q + 1)
print(r(c.eval(ctx=mx.cpu(), p=nd.array([1]), q=nd.array([5]))[0]), c.list_arguments())
