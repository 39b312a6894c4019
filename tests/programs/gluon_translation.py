"""Translation in the way of Sockeye: shared embeddings, interleaved attention, label smoothing, loops, half precision."""

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

C_PREFIX, SHARED = "target_output_", "source_target_embed_"
rng = np.random.RandomState(5)


def fill(net, scale=0.2):
    for name, p in sorted(net.collect_params().items()):
        if name.endswith(("weight", "_w")):
            p.set_data(nd.array(rng.randn(*p.shape) * scale, dtype=p.dtype))


class Embedding(gluon.HybridBlock):
    def __init__(self, vocab_size, num_embed, prefix, params=None):
        super().__init__(prefix=prefix, params=params)
        self.vocab_size, self.num_embed = vocab_size, num_embed
        with self.name_scope():
            self.embed_weight = self.params.get("weight", shape=(vocab_size, num_embed), grad_stype="default")

    def hybrid_forward(self, F, data, valid_length, embed_weight):
        return F.Embedding(data, weight=embed_weight, input_dim=self.vocab_size, output_dim=self.num_embed), F.identity(
            valid_length
        )


class OutputLayer(mx.gluon.HybridBlock):
    def __init__(self, hidden_size, vocab_size, weight=None, prefix=C_PREFIX):
        super().__init__(prefix=prefix)
        self.vocab_size = vocab_size
        with self.name_scope():
            if weight is None:
                self.weight = self.params.get("weight", shape=(vocab_size, hidden_size), allow_deferred_init=False)
            else:
                self.weight = weight
                self.params.update({weight.name: weight})
            self.bias = self.params.get("bias", shape=(vocab_size,), init="zeros", allow_deferred_init=False)

    def hybrid_forward(self, F, data, weight, bias):
        return F.FullyConnected(
            data=data, num_hidden=self.vocab_size, weight=weight, bias=bias, flatten=False, name="output"
        )


class MultiHeadSelf(mx.gluon.HybridBlock):
    def __init__(self, depth, heads, prefix, causal=False):
        super().__init__(prefix=prefix)
        self.depth, self.heads, self.causal = depth, heads, causal
        with self.name_scope():
            self.ff_in = nn.Dense(3 * depth, use_bias=False, flatten=False, prefix="i2h_", in_units=depth)
            self.ff_out = nn.Dense(depth, use_bias=False, flatten=False, prefix="h2o_", in_units=depth)

    def hybrid_forward(self, F, inputs, bias):
        projection = self.ff_in(inputs)
        score = F.contrib.interleaved_matmul_selfatt_qk(projection, heads=self.heads)
        if self.causal:
            steps = F.contrib.arange_like(inputs, axis=0)
            upper = F.broadcast_greater(F.expand_dims(steps, 0), F.expand_dims(steps, 1))
            score = F.broadcast_add(score, F.expand_dims(upper * -1e8, axis=0))
        else:
            score = F.broadcast_add(score, bias)
        return self.ff_out(
            F.contrib.interleaved_matmul_selfatt_valatt(projection, F.softmax(score, axis=-1), heads=self.heads)
        )


class MultiHeadCross(mx.gluon.HybridBlock):
    def __init__(self, depth, heads, prefix):
        super().__init__(prefix=prefix)
        self.heads = heads
        with self.name_scope():
            self.ff_q = nn.Dense(depth, use_bias=False, flatten=False, prefix="q2h_", in_units=depth)
            self.ff_kv = nn.Dense(2 * depth, use_bias=False, flatten=False, prefix="kv2h_", in_units=depth)
            self.ff_out = nn.Dense(depth, use_bias=False, flatten=False, prefix="h2o_", in_units=depth)

    def hybrid_forward(self, F, queries, memory, bias):
        keys_values = self.ff_kv(memory)
        score = F.contrib.interleaved_matmul_encdec_qk(self.ff_q(queries), keys_values, heads=self.heads)
        score = F.softmax(F.broadcast_add(score, bias), axis=-1)
        return self.ff_out(F.contrib.interleaved_matmul_encdec_valatt(keys_values, score, heads=self.heads))


class LHUC(mx.gluon.HybridBlock):
    def __init__(self, num_hidden, weight_init=mx.init.Constant(0.5), prefix=""):
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.weight = self.params.get("lhuc", shape=(num_hidden,), init=weight_init)

    def hybrid_forward(self, F, data, weight):
        return F.broadcast_mul(2 * F.Activation(weight, act_type="sigmoid"), data)


class Process(mx.gluon.HybridBlock):
    def __init__(self, sequence, prefix, num_hidden=None):
        super().__init__(prefix=prefix)
        self.sequence = sequence
        self.layer_norm = None
        if "n" in sequence:
            with self.name_scope():
                self.layer_norm = nn.LayerNorm(axis=-1, in_channels=num_hidden, epsilon=1e-6, prefix="layer_norm_")

    def hybrid_forward(self, F, data, prev):
        for step in self.sequence:
            if step == "r":
                data = data if prev is None else data + prev
            elif step == "n":
                data = self.layer_norm(data)
            elif step == "d":
                data = F.Dropout(data, p=0.0)
        return data


class FFN(mx.gluon.HybridBlock):
    def __init__(self, num_hidden, num_model, prefix):
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.ff1 = nn.Dense(num_hidden, flatten=False, prefix="i2h_", in_units=num_model)
            self.act = nn.Swish(prefix="act_")
            self.ff2 = nn.Dense(num_model, flatten=False, prefix="h2o_", in_units=num_hidden)

    def hybrid_forward(self, F, x):
        return self.ff2(self.act(self.ff1(x)))


class DecoderLayer(mx.gluon.HybridBlock):
    def __init__(self, depth, heads, prefix, decoder):
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.pre = Process("n", "att_self_pre_", depth)
            self.self_att = MultiHeadSelf(depth, heads, "att_self_", causal=decoder)
            self.post = Process("dr", "att_self_post_")
            if decoder:
                self.pre_enc = Process("n", "att_enc_pre_", depth)
                self.enc_att = MultiHeadCross(depth, heads, "att_enc_")
            else:
                self.enc_att = None
            self.pre_ff = Process("n", "ff_pre_", depth)
            self.ff = FFN(2 * depth, depth, "ff_")
            self.lhuc = LHUC(depth)

    def hybrid_forward(self, F, target, memory, bias):
        target = self.post(self.self_att(self.pre(target, None), bias), target)
        if self.enc_att is not None:
            target = self.post(self.enc_att(self.pre_enc(target, None), memory, bias), target)
        return self.lhuc(self.post(self.ff(self.pre_ff(target, None)), target))


class Model(mx.gluon.Block):
    def __init__(self, vocab, depth, heads, prefix=""):
        super().__init__(prefix=prefix)
        self.depth, self.heads = depth, heads
        with self.name_scope():
            shared = self.params.get(SHARED + "weight", shape=(vocab, depth))
            self.source = Embedding(vocab, depth, prefix=SHARED, params=self._shared(shared))
            self.target = Embedding(vocab, depth, prefix=SHARED, params=self._shared(shared))
            self.encoder = nn.HybridSequential(prefix="encoder_transformer_")
            self.enc = DecoderLayer(depth, heads, "encoder_0_", False)
            self.dec = DecoderLayer(depth, heads, "decoder_0_", True)
            self.output_layer = OutputLayer(depth, vocab, weight=shared)

    def _shared(self, weight):
        d = mx.gluon.ParameterDict(SHARED)
        d.update({weight.name: weight})
        return d

    def forward(self, source, source_length, target, target_length):
        src, src_len = self.source(source, source_length)
        tgt, tgt_len = self.target(target, target_length)
        steps = nd.arange(source.shape[1])
        bias = nd.broadcast_greater_equal(steps.expand_dims(0), src_len.expand_dims(1)) * -1e8
        bias = nd.repeat(bias.expand_dims(1), repeats=self.heads, axis=0)
        src = nd.transpose(src * self.depth**0.5, axes=(1, 0, 2))
        tgt = nd.transpose(tgt * self.depth**0.5, axes=(1, 0, 2))
        memory = self.enc(src, src, bias)
        out = self.dec(tgt, memory, bias)
        return {"logits": self.output_layer(nd.transpose(out, axes=(1, 0, 2)))}


class CrossEntropyLoss(mx.gluon.loss.Loss):
    """SoftmaxOutput does the work: its gradient is that of the loss."""

    def __init__(self, alpha, ignore_label=0, weight=1.0, dtype="float32", batch_axis=0):
        super().__init__(weight, batch_axis)
        self._alpha, self.ignore_label, self._dtype = alpha, ignore_label, dtype

    def hybrid_forward(self, F, logits, labels):
        probs = F.SoftmaxOutput(
            data=logits,
            label=labels,
            ignore_label=self.ignore_label,
            use_ignore=True,
            normalization="valid",
            smooth_alpha=self._alpha,
            grad_scale=1.0,
            preserve_shape=True,
        )
        pred = F.log(F.pick(probs, labels, axis=-1) + 1e-8)
        value = F.BlockGrad(-pred * (labels != self.ignore_label))
        return F.sum(value), F.sum(labels != self.ignore_label), probs


source, target = nd.array(rng.randint(1, 14, (4, 6))), nd.array(rng.randint(1, 14, (4, 5)))
lengths, target_lengths = nd.array([6, 4, 3, 6]), nd.array([5, 5, 3, 4])
labels = nd.SequenceMask(
    nd.concat(target[:, 1:], nd.ones((4, 1)) * 3, dim=1),
    sequence_length=target_lengths,
    use_sequence_length=True,
    axis=1,
)
for hybridize in (False, True):
    rng.seed(9)
    model = Model(14, 8, 2)
    model.initialize(mx.init.Xavier(rnd_type="uniform", factor_type="avg", magnitude=3.0))
    loss = CrossEntropyLoss(0.1)
    if hybridize:
        model.hybridize(static_alloc=True)
        loss.hybridize(static_alloc=True)
    model(source, lengths, target, target_lengths)
    fill(model)
    model.collect_params().setattr("grad_req", "add")
    params = model.collect_params()
    trainer = gluon.Trainer(
        params, "adam", {"learning_rate": 0.01, "beta2": 0.98}, kvstore="local", update_on_kvstore=False
    )
    for update in range(3):
        total, count = 0.0, 0
        for half in (slice(0, 2), slice(2, 4)):  # two batches before a step
            with autograd.record():
                out = model(source[half], lengths[half], target[half], target_lengths[half])
                value, num, probs = loss(out["logits"], labels[half])
            probs.backward()
            total, count = total + value.asscalar(), count + num.asscalar()
        norm = sum((p.grad() ** 2).sum().asscalar() for p in params.values() if p.grad_req != "null") ** 0.5
        trainer.step(2)
        for p in params.values():
            p.zero_grad()
        print(hybridize, update, "loss %.4f of %d, norm %.4f" % (total / count, count, norm))
print([k for k in sorted(params) if "embed" in k or "output" in k or "lhuc" in k], len(list(params)))
print(model.source.embed_weight is model.target.embed_weight, model.output_layer.weight is model.source.embed_weight)

# fp16: as Sockeye does it, the output layer and the loss stay in float32
half = Model(14, 8, 2)
half.initialize()
half(source, lengths, target, target_lengths)
half.cast("float16")
print({str(p.dtype if isinstance(p.dtype, str) else np.dtype(p.dtype)) for p in half.collect_params().values()})
for (name, p), q in zip(sorted(half.collect_params().items()), [v for _, v in sorted(model.collect_params().items())]):
    p.set_data(q.data().astype("float16"))
for block in (half.enc.lhuc, half.dec.lhuc):
    x = nd.array(rng.randn(2, 3, 8), dtype="float16")
    y = block(x)
    block.hybridize()
    print(
        type(block).__name__,
        np.dtype(y.dtype).name,
        np.allclose(block(x).asnumpy(), y.asnumpy(), atol=2e-3),
        y.sum().astype("float32").asscalar().item().__round__(1),
    )


# A loop with states inside a block
class SSRU(mx.gluon.HybridBlock):
    def __init__(self, depth, prefix="ssru_"):
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.forget_gate = nn.Dense(
                depth, in_units=depth, activation="sigmoid", flatten=False, prefix="forget_gate_"
            )
            self.linear = nn.Dense(depth, in_units=depth, use_bias=False, flatten=False, prefix="linear_")

    def hybrid_forward(self, F, inputs, state):
        forget = self.forget_gate(inputs)
        weighted = F.broadcast_mul(1 - forget, self.linear(inputs))

        def cell(step, previous):
            step_input, forget_rate = step
            new = forget_rate * previous + step_input
            return new, new

        out, last = F.contrib.foreach(cell, [weighted, forget], state)
        return F.relu(out), last


cell = SSRU(5)
cell.initialize()
fill(cell, 0.5)
x, state = nd.array(rng.randn(4, 2, 5)), nd.zeros((2, 5))
weights = cell.collect_params()
for hybridize in (False, True):
    cell.hybridize(hybridize)
    with autograd.record():
        out, last = cell(x, state)
        y = (out * out).sum() + last.sum()
    y.backward()
    print(out.shape, last[0].asnumpy().round(4), [round(float(p.grad().sum().asscalar()), 3) for p in weights.values()])


# Beam search steps on what the model computes
def update_scores(scores, finished, accumulated, pad_dist):
    scores = nd.broadcast_add(scores, accumulated)
    return nd.where(nd.cast(finished, dtype="int32"), nd.concat(accumulated, pad_dist, dim=1), scores)


beam, vocab = 3, 14
step_log = nd.log_softmax(model(source[:1], lengths[:1], target[:1], target_lengths[:1])["logits"][0, :beam], axis=-1)
scores = update_scores(
    -step_log, nd.array([0, 1, 0]), nd.array([[0.5], [0.2], [0.3]]), nd.full((beam, vocab - 1), np.inf)
)
values, indices = nd.topk(scores.reshape((1, -1)), axis=1, k=beam, ret_typ="both", is_ascend=True, dtype="int32")
best_hyp, best_word = nd.unravel_index(indices.reshape((-1,)), shape=(beam, vocab)).astype("int32").asnumpy()
print(values.asnumpy().round(3), best_hyp, best_word, nd.take(scores, nd.array(best_hyp)).shape)
