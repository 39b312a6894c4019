"""A textbook's sequence models on mx.np: recurrent language models, seq2seq with attention, a transformer, BERT."""

import math

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn, rnn

npx.set_np()
rng = onp.random.RandomState(3)


def fill(net, scale=0.3):
    for name, p in net.collect_params().items():
        if not name.endswith(("gamma", "beta")):
            p.set_data(np.array((rng.randn(*p.shape) * scale).astype("float32")))


def grad_clipping(net, theta):
    if isinstance(net, gluon.Block):
        params = [p.data() for p in net.collect_params().values()]
    else:
        params = net.params
    norm = math.sqrt(sum((p.grad**2).sum() for p in params))
    if norm > theta:
        for param in params:
            param.grad[:] *= theta / norm
    return norm


text = "the time machine by h g wells the time traveller for so it will be convenient to speak of him " * 3
vocab = sorted(set(text))
corpus = [vocab.index(c) for c in text]
num_steps, batch_size = 8, 4


def seq_data():
    Xs = np.array(corpus[: batch_size * 60], dtype="int32").reshape(batch_size, -1)
    Ys = np.array(corpus[1 : batch_size * 60 + 1], dtype="int32").reshape(batch_size, -1)
    for i in range(0, num_steps * 4, num_steps):
        yield Xs[:, i : i + num_steps], Ys[:, i : i + num_steps]


class RNNModel(nn.Block):
    def __init__(self, rnn_layer, vocab_size, **kwargs):
        super().__init__(**kwargs)
        self.rnn = rnn_layer
        self.vocab_size = vocab_size
        self.dense = nn.Dense(vocab_size)

    def forward(self, inputs, state):
        X = npx.one_hot(inputs.T, self.vocab_size)
        Y, state = self.rnn(X, state)
        output = self.dense(Y.reshape(-1, Y.shape[-1]))
        return output, state

    def begin_state(self, *args, **kwargs):
        return self.rnn.begin_state(*args, **kwargs)


loss = gluon.loss.SoftmaxCrossEntropyLoss()
for layer in (rnn.RNN(10), rnn.GRU(10, 2), rnn.LSTM(10), rnn.LSTM(6, 1, bidirectional=True)):
    net = RNNModel(layer, len(vocab))
    net.initialize(init.Normal(0.01))
    state = net.begin_state(batch_size=batch_size)
    out, state = net(np.zeros((batch_size, num_steps), dtype="int32"), state)
    print(layer.name, out.shape, [s.shape for s in state], type(out).__name__)
    fill(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    state = None
    for X, Y in seq_data():
        if state is None:
            state = net.begin_state(batch_size=X.shape[0], ctx=mx.cpu())
        else:
            for s in state:
                s.detach()
        y = Y.T.reshape(-1)
        with autograd.record():
            y_hat, state = net(X, state)
            l = loss(y_hat, y).mean()
        l.backward()
        norm = grad_clipping(net, 1)
        trainer.step(1)
        print("  perplexity", round(math.exp(float(l)), 2), "norm", round(float(norm), 3))


# Seq2seq with attention
class Encoder(nn.Block):
    def __init__(self, vocab_size, embed_size, num_hiddens, num_layers, dropout=0, **kwargs):
        super().__init__(**kwargs)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = rnn.GRU(num_hiddens, num_layers, dropout=dropout)

    def forward(self, X, *args):
        X = self.embedding(X).swapaxes(0, 1)
        state = self.rnn.begin_state(batch_size=X.shape[1], ctx=X.ctx)
        output, state = self.rnn(X, state)
        return output, state


def masked_softmax(X, valid_lens):
    if valid_lens is None:
        return npx.softmax(X)
    shape = X.shape
    if valid_lens.ndim == 1:
        valid_lens = valid_lens.repeat(shape[1])
    else:
        valid_lens = valid_lens.reshape(-1)
    X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid_lens, True, value=-1e6, axis=1)
    return npx.softmax(X).reshape(shape)


class AdditiveAttention(nn.Block):
    def __init__(self, num_hiddens, dropout, **kwargs):
        super().__init__(**kwargs)
        self.W_k = nn.Dense(num_hiddens, use_bias=False, flatten=False)
        self.W_q = nn.Dense(num_hiddens, use_bias=False, flatten=False)
        self.w_v = nn.Dense(1, use_bias=False, flatten=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens):
        queries, keys = self.W_q(queries), self.W_k(keys)
        features = np.expand_dims(queries, axis=2) + np.expand_dims(keys, axis=1)
        features = np.tanh(features)
        scores = np.squeeze(self.w_v(features), axis=-1)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return npx.batch_dot(self.dropout(self.attention_weights), values)


class Decoder(nn.Block):
    def __init__(self, vocab_size, embed_size, num_hiddens, num_layers, dropout=0, **kwargs):
        super().__init__(**kwargs)
        self.attention = AdditiveAttention(num_hiddens, dropout)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = rnn.GRU(num_hiddens, num_layers, dropout=dropout)
        self.dense = nn.Dense(vocab_size, flatten=False)

    def init_state(self, enc_outputs, enc_valid_lens, *args):
        outputs, hidden_state = enc_outputs
        return (outputs.swapaxes(0, 1), hidden_state, enc_valid_lens)

    def forward(self, X, state):
        enc_outputs, hidden_state, enc_valid_lens = state
        X = self.embedding(X).swapaxes(0, 1)
        outputs, self._attention_weights = [], []
        for x in X:
            query = np.expand_dims(hidden_state[0][-1], axis=1)
            context = self.attention(query, enc_outputs, enc_outputs, enc_valid_lens)
            x = np.concatenate((context, np.expand_dims(x, axis=1)), axis=-1)
            out, hidden_state = self.rnn(x.swapaxes(0, 1), hidden_state)
            outputs.append(out)
            self._attention_weights.append(self.attention.attention_weights)
        outputs = self.dense(np.concatenate(outputs, axis=0))
        return outputs.swapaxes(0, 1), [enc_outputs, hidden_state, enc_valid_lens]


class EncoderDecoder(nn.Block):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, enc_X, dec_X, *args):
        enc_outputs = self.encoder(enc_X, *args)
        dec_state = self.decoder.init_state(enc_outputs, *args)
        return self.decoder(dec_X, dec_state)


class MaskedSoftmaxCELoss(gluon.loss.SoftmaxCELoss):
    def forward(self, pred, label, valid_len):
        weights = np.expand_dims(np.ones_like(label), axis=-1)
        weights = npx.sequence_mask(weights, valid_len, True, axis=1)
        return super().forward(pred, label, weights)


print(MaskedSoftmaxCELoss()(np.ones((3, 4, 10)), np.ones((3, 4)), np.array([4, 2, 0])))
net = EncoderDecoder(Encoder(12, 6, 8, 2), Decoder(12, 6, 8, 2))
net.initialize(init.Xavier())
src = np.array(rng.randint(0, 12, (3, 5)))
tgt = np.array(rng.randint(0, 12, (3, 4)))
src_len, tgt_len = np.array([5, 3, 2]), np.array([4, 2, 3])
net(src, tgt, src_len)
fill(net)
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
for _ in range(4):
    with autograd.record():
        bos = np.array([1] * tgt.shape[0], dtype=tgt.dtype).reshape(-1, 1)
        dec_input = np.concatenate((bos, tgt[:, :-1]), 1)
        y_hat, _ = net(src, dec_input, src_len)
        l = MaskedSoftmaxCELoss()(y_hat, tgt, tgt_len)
    l.backward()
    norm = grad_clipping(net, 1)
    trainer.step(int(tgt_len.sum()))
    print("seq2seq", l, round(float(norm), 4))
enc_state = net.decoder.init_state(net.encoder(src[:1]), src_len[:1])
dec_X, words = np.expand_dims(np.array([1]), axis=0), []
for _ in range(4):
    Y, enc_state = net.decoder(dec_X, enc_state)
    dec_X = Y.argmax(axis=2)
    words.append(int(dec_X.squeeze(axis=0).astype("int32").item()))
print(words, np.concatenate(net.decoder._attention_weights).shape, net.decoder._attention_weights[0].reshape(-1))


# Transformer encoder
class DotProductAttention(nn.Block):
    def __init__(self, dropout, **kwargs):
        super().__init__(**kwargs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        d = queries.shape[-1]
        scores = npx.batch_dot(queries, keys, transpose_b=True) / math.sqrt(d)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return npx.batch_dot(self.dropout(self.attention_weights), values)


class MultiHeadAttention(nn.Block):
    def __init__(self, num_hiddens, num_heads, dropout, use_bias=False, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
        self.W_k = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
        self.W_v = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)
        self.W_o = nn.Dense(num_hiddens, use_bias=use_bias, flatten=False)

    def transpose_qkv(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1)
        X = X.transpose(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values, valid_lens):
        queries, keys, values = (
            self.transpose_qkv(w(v)) for w, v in ((self.W_q, queries), (self.W_k, keys), (self.W_v, values))
        )
        if valid_lens is not None:
            valid_lens = valid_lens.repeat(self.num_heads, axis=0)
        output = self.attention(queries, keys, values, valid_lens)
        output = output.reshape(-1, self.num_heads, output.shape[1], output.shape[2]).transpose(0, 2, 1, 3)
        return self.W_o(output.reshape(output.shape[0], output.shape[1], -1))


class PositionalEncoding(nn.Block):
    def __init__(self, num_hiddens, dropout, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.P = np.zeros((1, max_len, num_hiddens))
        X = np.arange(max_len).reshape(-1, 1) / np.power(10000, np.arange(0, num_hiddens, 2) / num_hiddens)
        self.P[:, :, 0::2] = np.sin(X)
        self.P[:, :, 1::2] = np.cos(X)

    def forward(self, X):
        X = X + self.P[:, : X.shape[1], :].as_in_ctx(X.ctx)
        return self.dropout(X)


class EncoderBlock(nn.Block):
    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, dropout, **kwargs):
        super().__init__(**kwargs)
        self.attention = MultiHeadAttention(num_hiddens, num_heads, dropout, True)
        self.ln1, self.ln2 = nn.LayerNorm(), nn.LayerNorm()
        self.dense1 = nn.Dense(ffn_num_hiddens, flatten=False, activation="relu")
        self.dense2 = nn.Dense(num_hiddens, flatten=False)

    def forward(self, X, valid_lens):
        Y = self.ln1(X + self.attention(X, X, X, valid_lens))
        return self.ln2(Y + self.dense2(self.dense1(Y)))


class TransformerEncoder(nn.Block):
    def __init__(self, vocab_size, num_hiddens, ffn, num_heads, num_layers, dropout, **kwargs):
        super().__init__(**kwargs)
        self.num_hiddens = num_hiddens
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = PositionalEncoding(num_hiddens, dropout)
        self.blks = nn.Sequential()
        for _ in range(num_layers):
            self.blks.add(EncoderBlock(num_hiddens, ffn, num_heads, dropout))

    def forward(self, X, valid_lens, *args):
        X = self.pos_encoding(self.embedding(X) * math.sqrt(self.num_hiddens))
        self.attention_weights = [None] * len(self.blks)
        for i, blk in enumerate(self.blks):
            X = blk(X, valid_lens)
            self.attention_weights[i] = blk.attention.attention.attention_weights
        return X


net = TransformerEncoder(20, 12, 16, 3, 2, 0)
net.initialize(init.Xavier())
tokens = np.array(rng.randint(0, 20, (2, 7)))
net(tokens, np.array([3, 7]))
fill(net)
out = net(tokens, np.array([3, 7]))
print(out.shape, out[0, 0], net.attention_weights[0].shape, net.attention_weights[1][0, 0])


# BERT
class BERTEncoder(nn.Block):
    def __init__(self, vocab_size, num_hiddens, ffn, num_heads, num_layers, dropout, max_len=30, **kwargs):
        super().__init__(**kwargs)
        self.token_embedding = nn.Embedding(vocab_size, num_hiddens)
        self.segment_embedding = nn.Embedding(2, num_hiddens)
        self.blks = nn.Sequential()
        for _ in range(num_layers):
            self.blks.add(EncoderBlock(num_hiddens, ffn, num_heads, dropout))
        self.pos_embedding = self.params.get("pos_embedding", shape=(1, max_len, num_hiddens))

    def forward(self, tokens, segments, valid_lens):
        X = self.token_embedding(tokens) + self.segment_embedding(segments)
        X = X + self.pos_embedding.data(ctx=X.ctx)[:, : X.shape[1], :]
        for blk in self.blks:
            X = blk(X, valid_lens)
        return X


class MaskLM(nn.Block):
    def __init__(self, vocab_size, num_hiddens, **kwargs):
        super().__init__(**kwargs)
        self.mlp = nn.Sequential()
        self.mlp.add(nn.Dense(num_hiddens, flatten=False, activation="relu"), nn.LayerNorm())
        self.mlp.add(nn.Dense(vocab_size, flatten=False))

    def forward(self, X, pred_positions):
        num_pred_positions = pred_positions.shape[1]
        pred_positions = pred_positions.reshape(-1)
        batch_size = X.shape[0]
        batch_idx = np.repeat(np.arange(0, batch_size), num_pred_positions)
        masked_X = X[batch_idx, pred_positions].reshape((batch_size, num_pred_positions, -1))
        return self.mlp(masked_X)


encoder, mlm = BERTEncoder(20, 12, 16, 3, 1, 0), MaskLM(20, 12)
nsp = nn.Sequential()
nsp.add(nn.Dense(12, activation="tanh"), nn.Dense(2))
segments = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
positions, mlm_y = np.array([[1, 5, 2], [6, 1, 5]]), np.array([[7, 8, 9], [10, 11, 12]])
for part in (encoder, mlm, nsp):
    part.initialize()
X = encoder(tokens, segments, None)
mlm(X, positions), nsp(X[:, 0, :])
for part in (encoder, mlm, nsp):
    fill(part)
params = mx.gluon.ParameterDict()
for part in (encoder, mlm, nsp):
    params.update(part.collect_params())
trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.01})
for _ in range(3):
    with autograd.record():
        X = encoder(tokens, segments, np.array([7, 5]))
        mlm_l = loss(mlm(X, positions).reshape(-1, 20), mlm_y.reshape(-1)).mean()
        nsp_l = loss(nsp(X[:, 0, :]), np.array([0, 1])).mean()
        l = mlm_l + nsp_l
    l.backward()
    trainer.step(1)
    print("bert", float(mlm_l), float(nsp_l))
