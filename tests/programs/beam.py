"""Beam search and greedy decoding with topk, take, where, gather_nd; GluonNLP's beam search sampler, reduced."""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(11)
B, K, V, EOS = 2, 3, 7, 0
trans = mx.nd.array(np.log(rng.dirichlet(np.ones(V) * 0.6, size=V)))
LARGE_NEGATIVE = -1e18


def score(log_probs, beam_scores, steps, alpha=0.6):
    length = (5.0 + steps) ** alpha / 6.0**alpha
    return log_probs / length


samples = mx.nd.array([[2] * K, [4] * K], dtype="int32").expand_dims(2)
scores = mx.nd.zeros((B, K))
scores[:, 1:] = LARGE_NEGATIVE
valid_length = mx.nd.ones((B, K))
alive = mx.nd.ones((B, K))
batch_shift = mx.nd.arange(0, B * K, K)
for t in range(1, 7):
    last = samples[:, :, -1].reshape((-1,))
    out = mx.nd.take(trans, last).reshape((B, K, V))
    cand = mx.nd.broadcast_add(out, scores.expand_dims(-1))
    finished = mx.nd.broadcast_mul(mx.nd.full((1, 1, V), LARGE_NEGATIVE), mx.nd.ones((B, K, 1)))
    finished[:, :, EOS] = scores
    cand = mx.nd.where(mx.nd.broadcast_axis(alive.expand_dims(2), axis=2, size=V), cand, finished)
    new_scores, indices = mx.nd.topk(cand.reshape((0, -1)), axis=1, k=K, ret_typ="both")
    beam = mx.nd.floor(indices / V)
    word = mx.nd.broadcast_mod(indices, mx.nd.array([V]))
    flat = mx.nd.broadcast_add(beam, batch_shift.expand_dims(1)).reshape((-1,))
    samples = mx.nd.take(samples.reshape((-3, 0)), flat).reshape((B, K, -1))
    samples = mx.nd.concat(samples, word.astype("int32").expand_dims(2), dim=2)
    prev = mx.nd.take(alive.reshape((-1,)), flat).reshape((B, K))
    valid_length = mx.nd.take(valid_length.reshape((-1,)), flat).reshape((B, K)) + prev
    alive = mx.nd.broadcast_logical_and(prev, word != EOS)
    scores = new_scores
    print(t, np.round(scores.asnumpy(), 4).tolist(), word.asnumpy().tolist(), alive.asnumpy().tolist(), samples.dtype)
    if mx.nd.sum(alive).asscalar() == 0:
        break
print(samples.asnumpy().tolist(), valid_length.asnumpy().tolist())
x = mx.nd.array([[3, 1, 2, 9], [7, 8, 0, 5]])
for typ in ("value", "indices", "mask", "both"):
    out = x.topk(k=2, ret_typ=typ, is_ascend=(typ == "mask"))
    print(typ, [o.asnumpy().tolist() for o in out] if isinstance(out, list) else out.asnumpy().tolist())
print(
    mx.nd.topk(x, axis=None, k=3, dtype="int32").asnumpy(),
    x.argsort(is_ascend=False, dtype="int64"),
    x.sort(is_ascend=False),
)
idx = mx.nd.array([[0, 1, 1], [3, 0, 2]])
print(mx.nd.gather_nd(x, idx), mx.nd.scatter_nd(mx.nd.array([9, 8, 7]), idx, shape=(2, 4)))
print(
    mx.nd.pick(x, mx.nd.array([1, 3])),
    mx.nd.batch_take(x, mx.nd.array([1, 2], dtype="int32")),
    x.take(mx.nd.array([0, 5]), axis=1, mode="wrap"),
)
print(mx.nd.one_hot(mx.nd.array([1, 0, 2]), 3, on_value=2, off_value=-1, dtype="int32"))
print(
    mx.nd.unravel_index(mx.nd.array([5, 7]), shape=(2, 4)),
    mx.nd.ravel_multi_index(mx.nd.array([[1, 1], [1, 3]]), shape=(2, 4)),
)
g = mx.nd.random.gumbel if hasattr(mx.nd.random, "gumbel") else None
print(mx.nd.argmax_channel(x), mx.nd.argmin(x, axis=1), x.argmax())
