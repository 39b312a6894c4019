"""Language models and BERT in the way of natural language toolkits: cells, unrolling, sampled softmax, an own optimizer."""

import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import HybridBlock, contrib, nn, rnn
from mxnet.ndarray import NDArray, clip, sqrt, square, zeros
from mxnet.optimizer import Optimizer, register

rng = np.random.RandomState(0)


def fill(net, scale=0.2):
    for name, p in net.collect_params().items():
        if not name.endswith(("gamma", "beta", "bias")):
            p.set_data(nd.array(rng.randn(*p.shape) * scale, dtype=p.dtype))


# A standard language model: embedding tied to the decoder, stacked cells or fused layers
def _get_rnn_cell(mode, num_layers, input_size, hidden_size, dropout):
    rnn_cell = rnn.HybridSequentialRNNCell()
    with rnn_cell.name_scope():
        for i in range(num_layers):
            if mode == "lstm":
                cell = rnn.LSTMCell(hidden_size, input_size=input_size)
            elif mode == "gru":
                cell = rnn.GRUCell(hidden_size, input_size=input_size)
            elif mode == "lstmp":
                cell = contrib.rnn.LSTMPCell(2 * hidden_size, hidden_size, input_size=input_size)
            rnn_cell.add(cell if i == 0 else rnn.ResidualCell(cell))
            if dropout != 0:
                rnn_cell.add(rnn.DropoutCell(dropout))
            input_size = hidden_size
    return rnn_cell


class LM(HybridBlock):
    def __init__(self, mode, vocab_size, embed_size, hidden_size, num_layers, tie_weights=True, **kwargs):
        super(LM, self).__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.HybridSequential()
            with self.embedding.name_scope():
                self.embedding.add(nn.Embedding(vocab_size, embed_size, weight_initializer=mx.init.Uniform(0.1)))
                self.embedding.add(nn.Dropout(0.0))
            self.encoder = _get_rnn_cell(mode, num_layers, embed_size, hidden_size, 0.0)
            if tie_weights:
                self.decoder = nn.Dense(vocab_size, flatten=False, params=self.embedding[0].params)
            else:
                self.decoder = nn.Dense(vocab_size, flatten=False)

    def hybrid_forward(self, F, inputs, *states):
        embedded = self.embedding(inputs)
        encoded, state = self.encoder.unroll(5, embedded, list(states), layout="TNC", merge_outputs=True)
        return (self.decoder(encoded), *state)


def detach(hidden):
    if isinstance(hidden, (tuple, list)):
        return [detach(i) for i in hidden]
    return hidden.detach()


data = nd.array(rng.randint(0, 15, (16, 3)))
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
for mode in ("lstm", "gru", "lstmp"):
    for hybridize in (False, True):
        rng.seed(4)
        model = LM(mode, 15, 6, 6, 2, prefix="lm_")
        model.initialize(mx.init.Xavier())
        if hybridize:
            model.hybridize(static_alloc=True, static_shape=True)
        hidden = model.encoder.begin_state(batch_size=3, func=mx.nd.zeros)
        model(data[:5], *hidden)
        fill(model)
        trainer = gluon.Trainer(model.collect_params(), "nag", {"learning_rate": 1, "momentum": 0.9, "wd": 1e-4})
        parameters = model.collect_params()
        for i in range(0, 15, 5):
            hidden = detach(hidden)
            with autograd.record():
                output, *hidden = model(data[i : i + 5], *hidden)
                l = loss_fn(output.reshape((-3, -1)), data[i + 1 : i + 6].reshape((-1,))).mean()
            l.backward()
            norm = gluon.utils.clip_global_norm([p.grad() for p in parameters.values()], 0.25)
            trainer.step(1)
            print(mode, hybridize, "ppl %.3f norm %.4f" % (math.exp(l.asscalar()), norm))
    print(sorted(model.collect_params().keys())[:6], len(hidden))
for name, p in model.collect_params(".*decoder.*|.*embedding.*").items():
    print(name, p.shape)

# valid_length, both directions, conv cells, zoneout
x, valid = nd.array(rng.randn(4, 6, 5)), nd.array([6, 3, 1, 4])
cell = rnn.BidirectionalCell(rnn.LSTMCell(4, prefix="l_"), rnn.LSTMCell(4, prefix="r_"))
stack = rnn.SequentialRNNCell()
stack.add(rnn.LSTMCell(5))
stack.add(rnn.ZoneoutCell(rnn.GRUCell(3), 0.0, 0.0))
stack.initialize()
cell.initialize()
cell.unroll(6, x, layout="NTC")
fill(cell, 0.5)
stack.unroll(6, x, layout="NTC", merge_outputs=True)
fill(stack, 0.5)
stack.reset()
out, states = stack.unroll(6, x, layout="NTC", merge_outputs=True, valid_length=valid)
print(out.shape, [s.shape for s in states], out[1].asnumpy().round(4))
print([s.sum().asscalar().item().__round__(4) for s in states])
out, states = cell.unroll(6, x.swapaxes(0, 1), layout="TNC", merge_outputs=True, valid_length=valid)
print(out.sum(axis=2).asnumpy().round(3), states[2].asnumpy().round(3))
out, _ = cell.unroll(6, x, layout="NTC", merge_outputs=False)
print(len(out), out[2].shape, cell.state_info(4)[0]["shape"], cell)
layer = rnn.LSTM(4, 2, layout="NTC", bidirectional=True, input_size=5, i2h_weight_initializer="xavier")
layer.initialize()
fill(layer)
print(layer(x).shape, [list(layer.collect_params())[i] for i in (0, 5, 15)], layer)
state = layer.begin_state(4, func=mx.nd.ones)
out, state = layer(x, state)
print(out.sum().asscalar().round(4), [s.shape for s in state])


# Sampled softmax
class ISDense(HybridBlock):
    def __init__(self, num_classes, num_sampled, in_unit, dtype="float32", **kwargs):
        super(ISDense, self).__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(num_classes, in_unit), dtype=dtype)
            self.bias = self.params.get("bias", shape=(num_classes,), init="zeros", dtype=dtype)
        self._num_classes, self._num_sampled, self._in_unit = num_classes, num_sampled, in_unit

    def hybrid_forward(self, F, x, sampled_values, label, weight, bias):
        sampled_candidates, expected_count_sampled, expected_count_true = sampled_values
        label = F.reshape(label, shape=(-1,))
        ids = F.concat(sampled_candidates, label, dim=0)
        w_all = F.Embedding(data=ids, weight=weight, input_dim=self._num_classes, output_dim=self._in_unit)
        b_all = F.take(bias, indices=ids)
        w_sampled = F.slice(w_all, begin=(0, 0), end=(self._num_sampled, None))
        w_true = F.slice(w_all, begin=(self._num_sampled, 0), end=(None, None))
        b_sampled = F.slice(b_all, begin=(0,), end=(self._num_sampled,))
        b_true = F.slice(b_all, begin=(self._num_sampled,), end=(None,))
        logits_true = (w_true * x).sum(axis=1) + b_true - F.log(expected_count_true)
        b_sampled = F.reshape(b_sampled, (-1,))
        logits_sampled = F.FullyConnected(x, weight=w_sampled, bias=b_sampled, num_hidden=self._num_sampled)
        hits = F.broadcast_equal(label.expand_dims(1), sampled_candidates.expand_dims(0))
        logits_sampled = F.broadcast_sub(logits_sampled, F.log(expected_count_sampled).expand_dims(0)) - hits * 1e37
        return F.concat(logits_true.expand_dims(1), logits_sampled, dim=1), F.zeros_like(label)

    def __repr__(self):
        return "{}({} classes, {} sampled)".format(self.__class__.__name__, self._num_classes, self._num_sampled)


dense = ISDense(20, 4, 5, prefix="is_")
dense.initialize()
fill(dense)
samples = [nd.array([1, 3, 5, 7]), nd.array([0.5, 0.4, 0.3, 0.2]), nd.array([0.1, 0.2, 0.3])]
h, label = nd.array(rng.randn(3, 5)), nd.array([3, 4, 19])
first = dense(h, samples, label)
dense.hybridize()
second = dense(h, samples, label)
print(dense, [np.allclose(a.asnumpy(), b.asnumpy()) for a, b in zip(first, second)], first[0].asnumpy()[:, :2].round(4))


# BERT
class SelfAttention(HybridBlock):
    def __init__(self, units, num_heads, prefix=None, params=None):
        super(SelfAttention, self).__init__(prefix=prefix, params=params)
        self._units, self._heads = units, num_heads
        with self.name_scope():
            self.proj = nn.Dense(3 * units, flatten=False, prefix="qkv_")

    def hybrid_forward(self, F, x, valid_length):
        qkv = self.proj(x)
        scores = F.contrib.interleaved_matmul_selfatt_qk(qkv, heads=self._heads)
        steps = F.contrib.arange_like(x, axis=0)
        mask = F.broadcast_lesser(F.reshape(steps, shape=(1, -1)), F.reshape(valid_length, shape=(-1, 1)))
        mask = F.broadcast_axes(F.expand_dims(mask, axis=1), axis=1, size=self._heads)
        mask = F.broadcast_mul(mask, F.expand_dims(F.ones_like(steps), axis=1).reshape((1, 1, -1)))
        mask = F.expand_dims(mask.reshape(shape=(-1, 0), reverse=True), axis=1)
        mask = F.broadcast_like(mask, scores, lhs_axes=(1,), rhs_axes=(1,))
        scores = F.where(mask, scores, F.ones_like(scores) * -1e18)
        weights = F.softmax(scores, axis=-1) * mask
        return F.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=self._heads), weights


class BERTEncoderCell(HybridBlock):
    def __init__(self, units, hidden_size, num_heads, prefix=None, params=None):
        super(BERTEncoderCell, self).__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.attention = SelfAttention(units, num_heads, prefix="att_")
            self.proj = nn.Dense(units, flatten=False, use_bias=False, prefix="proj_")
            self.ffn = nn.HybridSequential(prefix="ffn_")
            with self.ffn.name_scope():
                self.ffn.add(nn.Dense(hidden_size, flatten=False), nn.GELU(), nn.Dense(units, flatten=False))
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=1e-12)
            self.ffn_norm = nn.LayerNorm(epsilon=1e-12)

    def hybrid_forward(self, F, inputs, valid_length):
        outputs, weights = self.attention(inputs, valid_length)
        outputs = self.layer_norm(self.proj(outputs) + inputs)
        return self.ffn_norm(self.ffn(outputs) + outputs), weights


class BERTModel(HybridBlock):
    def __init__(self, vocab_size, units, num_layers, prefix=None, params=None):
        super(BERTModel, self).__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.word_embed = nn.HybridSequential(prefix="word_embed_")
            with self.word_embed.name_scope():
                self.word_embed.add(nn.Embedding(vocab_size, units), nn.LayerNorm(epsilon=1e-12))
            self.position_weight = self.params.get("position_weight", shape=(30, units), init=mx.init.Normal(0.02))
            self.transformer_cells = nn.HybridSequential(prefix="cells_")
            with self.transformer_cells.name_scope():
                for i in range(num_layers):
                    self.transformer_cells.add(BERTEncoderCell(units, 2 * units, 2, prefix="transformer%d_" % i))
            self.pooler = nn.Dense(units, flatten=False, activation="tanh", prefix="pooler_")
            self.decoder = nn.HybridSequential(prefix="decoder_")
            with self.decoder.name_scope():
                self.decoder.add(nn.Dense(units, flatten=False), nn.LayerNorm())
                self.decoder.add(nn.Dense(vocab_size, flatten=False, params=self.word_embed[0].collect_params()))

    def hybrid_forward(self, F, inputs, valid_length, masked_positions=None, position_weight=None):
        outputs = self.word_embed(inputs).transpose((1, 0, 2))
        steps = F.contrib.arange_like(outputs, axis=0)
        positions = F.expand_dims(F.Embedding(steps, position_weight, 30, 8), axis=1)
        outputs = F.broadcast_add(outputs, positions)
        for cell in self.transformer_cells:
            outputs, weights = cell(outputs, valid_length)
        outputs = outputs.transpose((1, 0, 2))
        pooled = self.pooler(F.squeeze(F.slice_axis(outputs, axis=1, begin=0, end=1), axis=1))
        if masked_positions is None:
            return outputs, pooled
        batch = F.contrib.arange_like(masked_positions, axis=0)
        batch = F.broadcast_axes(batch.expand_dims(1), axis=1, size=2).reshape((1, -1))
        encoded = F.gather_nd(outputs, F.concat(batch, masked_positions.reshape((1, -1)), dim=0))
        return outputs, pooled, self.decoder(encoded)


@register
class BERTAdam(Optimizer):
    """Adam without bias correction, with decoupled weight decay."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, **kwargs):
        super(BERTAdam, self).__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state_multi_precision(self, index, weight):
        if self.multi_precision and weight.dtype == np.float16:
            master = weight.astype(np.float32)
            return (master, self.create_state(index, master))
        return self.create_state(index, weight)

    def create_state(self, index, weight):
        return (
            zeros(weight.shape, weight.context, dtype=weight.dtype),
            zeros(weight.shape, weight.context, dtype=weight.dtype),
        )

    def update(self, index, weight, grad, state):
        self._update_impl(index, weight, grad, state)

    def update_multi_precision(self, index, weight, grad, state):
        self._update_impl(index, weight, grad, state)

    def _update_impl(self, indices, weight, grad, state):
        assert isinstance(weight, NDArray)
        self._update_count(indices)
        lr, wd = self._get_lr(indices), self._get_wd(indices)
        grad = grad * self.rescale_grad
        if self.clip_gradient is not None:
            grad = clip(grad, -self.clip_gradient, self.clip_gradient)
        mean, var = state
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * grad
        var[:] = self.beta2 * var + (1.0 - self.beta2) * square(grad)
        weight[:] -= lr * (mean / (sqrt(var) + self.epsilon) + wd * weight)


ids, lengths = nd.array(rng.randint(0, 12, (3, 7))), nd.array([7, 4, 2])
masked, targets = nd.array([[0, 3], [1, 2], [0, 1]]), nd.array([[5, 6], [7, 8], [9, 10]])
for hybridize in (False, True):
    rng.seed(1)
    model = BERTModel(12, 8, 2, prefix="bert_")
    classifier = nn.HybridSequential(prefix="cls_")
    with classifier.name_scope():
        classifier.add(nn.Dropout(0.0), nn.Dense(2))
    for block in (model, classifier):
        block.initialize(mx.init.Normal(0.02))
        if hybridize:
            block.hybridize(static_alloc=True)
    outputs, pooled, decoded = model(ids, lengths, masked)
    classifier(pooled)
    fill(model)
    fill(classifier)
    for _, v in model.collect_params(".*beta|.*gamma|.*bias").items():
        v.wd_mult = 0.0
    trainer = gluon.Trainer(model.collect_params(), "bertadam", {"learning_rate": 0.01, "wd": 0.01, "epsilon": 1e-9})
    head = gluon.Trainer(classifier.collect_params(), "bertadam", {"learning_rate": 0.05}, update_on_kvstore=False)
    params = [p for p in model.collect_params().values() if p.grad_req != "null"]
    for step in range(3):
        step_lr = 0.01 * (step + 1) / 3
        trainer.set_learning_rate(step_lr)
        with autograd.record():
            outputs, pooled, decoded = model(ids, lengths, masked)
            ls = (
                loss_fn(classifier(pooled), nd.array([0, 1, 1])).mean()
                + loss_fn(decoded, targets.reshape((-1,))).mean()
            )
        ls.backward()
        trainer.allreduce_grads()
        nlp_norm = gluon.utils.clip_global_norm([p.grad() for p in params], 1.0)
        trainer.update(1)
        head.step(1)
        print("bert", hybridize, step, round(ls.asscalar().item(), 4), round(nlp_norm, 4))
print(list(model.collect_params())[:8])
model.hybridize(False)
outputs, pooled = model(ids, lengths)
print(outputs.shape, pooled[0].asnumpy().round(4))


# Buckets of sentences, padded
class PadStack:
    def __init__(self, pad_val=0):
        self._pad_val = pad_val

    def __call__(self, items):
        seqs, labels = zip(*items)
        length = max(len(s) for s in seqs)
        ret = np.full((len(seqs), length), self._pad_val, dtype="float32")
        for i, s in enumerate(seqs):
            ret[i, : len(s)] = s
        return nd.array(ret), nd.array([len(s) for s in seqs]), nd.array(labels)


class BucketSampler(gluon.data.Sampler):
    def __init__(self, lengths, batch_size, num_buckets):
        order = np.argsort(lengths, kind="stable")
        self._batches = [
            list(b[i : i + batch_size])
            for b in np.array_split(order, num_buckets)
            for i in range(0, len(b), batch_size)
        ]

    def __iter__(self):
        return iter(self._batches)

    def __len__(self):
        return len(self._batches)


class SentimentNet(HybridBlock):
    def __init__(self, **kwargs):
        super(SentimentNet, self).__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(20, 5)
            self.encoder = rnn.LSTM(4, 1, bidirectional=True, input_size=5)
            self.output = nn.Dense(1, flatten=False)

    def hybrid_forward(self, F, data, valid_length):
        encoded = self.encoder(self.embedding(data))
        masked = F.SequenceMask(encoded, sequence_length=valid_length, use_sequence_length=True)
        pooled = F.broadcast_div(F.sum(masked, axis=0), F.expand_dims(valid_length, axis=1))
        return self.output(pooled)


sentences = [(list(rng.randint(0, 20, n)), n % 2) for n in rng.randint(2, 9, 18)]
dataset = gluon.data.SimpleDataset(sentences).transform(lambda s, y: ([w + 0 for w in s], y), lazy=False)
loader = gluon.data.DataLoader(
    dataset, batch_sampler=BucketSampler([len(s) for s, _ in sentences], 4, 3), batchify_fn=PadStack()
)
net = SentimentNet(prefix="sent_")
net.initialize()
net(nd.zeros((3, 2)), nd.array([3, 1]))
fill(net, 0.5)
net.hybridize()
metric = mx.metric.CompositeEvalMetric(
    [mx.metric.Loss("bce"), mx.metric.CustomMetric(lambda y, p: float(((p.ravel() > 0) == y).mean()), name="acc")]
)
trainer = gluon.Trainer(net.collect_params(), "ftml", {"learning_rate": 0.05})
bce = gluon.loss.SigmoidBCELoss()
for epoch in range(2):
    metric.reset()
    for words, length, y in loader:
        with autograd.record():
            out = net(words.T, length)
            l = bce(out, y).mean()
        l.backward()
        trainer.step(1)
        metric.metrics[0].update(0, l)
        metric.metrics[1].update(y, out)
    print(len(loader), words.shape, [round(float(v), 4) for v in metric.get()[1]], metric.get()[0])
