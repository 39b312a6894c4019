"""Language model: the fused RNN operator and the same cell by foreach, trained by truncated BPTT."""

import mxnet as mx
import numpy as np
from mxnet import nd, autograd

mx.random.seed(1)
rng = np.random.RandomState(0)
V, E, H, T, N, layers = 11, 6, 7, 5, 4, 2
text = rng.randint(0, V, size=(40, N))
size = 0
for l in range(layers):
    inp = E if l == 0 else H
    size += 4 * H * (inp + H + 2)
emb = nd.array(rng.uniform(-0.3, 0.3, (V, E)))
params = nd.array(rng.uniform(-0.3, 0.3, (size,)))
dec_w, dec_b = nd.array(rng.uniform(-0.3, 0.3, (V, H))), nd.zeros((V,))
weights = [emb, params, dec_w, dec_b]
for w in weights:
    w.attach_grad()


def detach(hidden):
    if isinstance(hidden, (tuple, list)):
        return [detach(h) for h in hidden]
    return hidden.detach()


def clip_global_norm(arrays, max_norm):
    total = nd.add_n(*[nd.dot(a.reshape((-1,)), a.reshape((-1,))).as_in_context(mx.cpu()) for a in arrays]).sqrt()
    scale = max_norm / (total + 1e-8)
    scale = nd.min(nd.concat(scale, nd.ones(1), dim=0))
    for a in arrays:
        a *= scale
    return total.asscalar()


state = [nd.zeros((layers, N, H)), nd.zeros((layers, N, H))]
for i in range(0, 30, T):
    data, target = nd.array(text[i : i + T]), nd.array(text[i + 1 : i + 1 + T])
    state = detach(state)
    with autograd.record():
        x = nd.Embedding(data, emb, input_dim=V, output_dim=E)
        out, h, c = nd.RNN(
            x, params, state[0], state[1], state_size=H, num_layers=layers, mode="lstm", state_outputs=True
        )
        state = [h, c]
        logits = nd.FullyConnected(out.reshape((-3, 0)), dec_w, dec_b, num_hidden=V)
        loss = -nd.pick(nd.log_softmax(logits), target.reshape((-1,))).mean()
    loss.backward()
    norm = clip_global_norm([w.grad for w in weights], 0.5)
    for w in weights:
        w[:] = w - 1.0 * w.grad
    print("%d %.4f %.4f" % (i, loss.asscalar(), norm), np.round(h[1, 0].asnumpy(), 4).tolist())

# the same first layer, unrolled with foreach
i2h_w = params[: 4 * H * E].reshape((4 * H, E))
h2h_w = params[4 * H * E : 4 * H * (E + H)].reshape((4 * H, H))
o = 4 * H * (E + H) + 4 * H * (H + H)
bias = params[o : o + 4 * H] + params[o + 4 * H : o + 8 * H]


def step(x, states):
    h, c = states
    gates = nd.FullyConnected(x, i2h_w, bias, num_hidden=4 * H) + nd.FullyConnected(
        h, h2h_w, num_hidden=4 * H, no_bias=True
    )
    i, f, g, o = nd.SliceChannel(gates, num_outputs=4)
    c = nd.sigmoid(f) * c + nd.sigmoid(i) * nd.tanh(g)
    h = nd.sigmoid(o) * nd.tanh(c)
    return h, [h, c]


x.attach_grad()
with autograd.record():
    outs, (h, c) = nd.contrib.foreach(step, x, [nd.zeros((N, H)), nd.zeros((N, H))])
    loss = nd.sum(outs * outs)
loss.backward()
print(outs.shape, "%.4f" % loss.asscalar(), np.round(x.grad[0, 0].asnumpy(), 4).tolist())
for mode in ("rnn_relu", "rnn_tanh", "gru"):
    gates = 3 if mode == "gru" else 1
    n = 2 * gates * H * (E + H + 2)
    p = nd.array(rng.uniform(-0.2, 0.2, (n,)))
    p.attach_grad()
    with autograd.record():
        y = nd.RNN(x, p, nd.zeros((2, N, H)), state_size=H, num_layers=1, mode=mode, bidirectional=True)
        l = (y**2).sum()
    l.backward()
    print(mode, y.shape, "%.4f" % l.asscalar(), "%.4f" % p.grad.abs().sum().asscalar())
seq = nd.array([5, 2, 3, 1])
with autograd.record():
    last = nd.SequenceLast(x, seq, use_sequence_length=True)
    rev = nd.SequenceReverse(x, seq, use_sequence_length=True)
    l = last.sum() * 2 + (rev * nd.arange(T).reshape((T, 1, 1))).sum()
l.backward()
print("%.4f" % l.asscalar(), x.grad[:, :, 0].asnumpy().tolist())
print(nd.dot(nd.ones((2, 3)), nd.ones((3,))).asnumpy(), norm.__class__.__name__)
