"""Sentences of several lengths in buckets, and a recurrent network unrolled for each, as example/rnn/bucketing had it."""

import logging
import re

import mxnet as mx
import numpy as np


class Printed(logging.Handler):
    def emit(self, record):
        print(re.sub(r"(cost=|Speed: )[\d.]+", r"\1#", record.getMessage()))


logging.getLogger().addHandler(Printed())
logging.getLogger().setLevel(logging.DEBUG)

VOCABULARY, HIDDEN, EMBED = 12, 8, 6


class SentenceIter(mx.io.DataIter):
    def __init__(self, sentences, batch_size, buckets, init_states):
        super(SentenceIter, self).__init__(batch_size)
        self.buckets = sorted(buckets)
        self.data = [[] for _ in self.buckets]
        for sentence in sentences:
            for i, bucket in enumerate(self.buckets):
                if bucket >= len(sentence):
                    row = np.zeros((bucket,))
                    row[: len(sentence)] = sentence
                    self.data[i].append(row)
                    break
        self.data = [np.asarray(rows, dtype="float32") for rows in self.data]
        self.default_bucket_key = max(self.buckets)
        self.init_states = init_states
        self.init_state_arrays = [mx.nd.zeros(shape) for _, shape in init_states]
        self.provide_data = [mx.io.DataDesc("data", (batch_size, self.default_bucket_key))] + [
            mx.io.DataDesc(*s) for s in init_states
        ]
        self.provide_label = [mx.io.DataDesc("softmax_label", (batch_size, self.default_bucket_key))]
        self.plan = [
            (i, j) for i, rows in enumerate(self.data) for j in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.random = np.random.RandomState(4)
        self.reset()

    def reset(self):
        self.cursor = 0
        self.random.shuffle(self.plan)

    def next(self):
        if self.cursor == len(self.plan):
            raise StopIteration
        i, j = self.plan[self.cursor]
        self.cursor += 1
        data = self.data[i][j : j + self.batch_size]
        label = np.zeros_like(data)
        label[:, :-1] = data[:, 1:]
        shape = data.shape
        return mx.io.DataBatch(
            [mx.nd.array(data)] + self.init_state_arrays,
            [mx.nd.array(label)],
            pad=0,
            bucket_key=self.buckets[i],
            provide_data=[mx.io.DataDesc("data", shape)] + [mx.io.DataDesc(*s) for s in self.init_states],
            provide_label=[mx.io.DataDesc("softmax_label", shape)],
        )


def sym_gen(seq_len):
    data = mx.sym.Variable("data")
    label = mx.sym.Variable("softmax_label")
    embed = mx.sym.Embedding(data=data, input_dim=VOCABULARY, output_dim=EMBED, name="embed")
    words = mx.sym.SliceChannel(embed, num_outputs=seq_len, squeeze_axis=1)
    i2h, bi = mx.sym.Variable("i2h_weight"), mx.sym.Variable("i2h_bias")
    h2h, bh = mx.sym.Variable("h2h_weight"), mx.sym.Variable("h2h_bias")
    state = mx.sym.Variable("init_h")
    outputs = []
    for t in range(seq_len):
        x = mx.sym.FullyConnected(words[t], weight=i2h, bias=bi, num_hidden=HIDDEN, name="t%d_i2h" % t)
        h = mx.sym.FullyConnected(state, weight=h2h, bias=bh, num_hidden=HIDDEN, name="t%d_h2h" % t)
        state = mx.sym.Activation(x + h, act_type="tanh")
        outputs.append(state)
    hidden = mx.sym.Reshape(mx.sym.Concat(*[mx.sym.expand_dims(o, axis=1) for o in outputs], dim=1), shape=(-1, HIDDEN))
    pred = mx.sym.FullyConnected(data=hidden, num_hidden=VOCABULARY, name="pred")
    pred = mx.sym.SoftmaxOutput(
        data=pred, label=mx.sym.Reshape(label, shape=(-1,)), use_ignore=True, ignore_label=0, name="softmax"
    )
    return pred, ("data", "init_h"), ("softmax_label",)


class Drawn(mx.init.Initializer):
    random = np.random.RandomState(2)

    def _init_weight(self, name, arr):
        arr[:] = self.random.uniform(-0.3, 0.3, arr.shape)


def sentences(count, seed):
    """Words that follow each other in steps of one, two or three."""
    random = np.random.RandomState(seed)
    found = []
    for _ in range(count):
        word, step = random.randint(1, VOCABULARY), random.randint(1, 4)
        found.append([1 + (word + step * k) % (VOCABULARY - 1) for k in range(random.randint(3, 9))])
    return found


batch_size = 8
states = [("init_h", (batch_size, HIDDEN))]
train = SentenceIter(sentences(150, 1), batch_size, [4, 6, 8], states)
val = SentenceIter(sentences(60, 2), batch_size, [4, 6, 8], states)
model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=train.default_bucket_key, context=mx.cpu())
model.fit(
    train_data=train,
    eval_data=val,
    eval_metric=mx.metric.Perplexity(0),
    kvstore="device",
    optimizer="adam",
    optimizer_params={"learning_rate": 0.02, "wd": 0.0},
    initializer=Drawn(),
    num_epoch=4,
    batch_end_callback=mx.callback.Speedometer(batch_size, 5, auto_reset=False),
)
print(sorted(model._buckets), sorted(model.get_params()[0]))
print([(name, round(float(value.asnumpy().sum()), 2)) for name, value in sorted(model.get_params()[0].items())])

# What Sockeye's inference did: one step a module, states handed on.
arg_params, aux_params = model.get_params()


def step_gen(length):
    return sym_gen(length)[0].get_internals()["pred_output"], ("data", "init_h"), ()


one = mx.mod.BucketingModule(sym_gen=step_gen, default_bucket_key=4)
one.bind(data_shapes=[("data", (1, 4)), ("init_h", (1, HIDDEN))], for_training=False, grad_req="null")
one.init_params(arg_params=arg_params, aux_params=aux_params)
for length in (4, 2, 3):
    shapes = [mx.io.DataDesc("data", (1, length)), mx.io.DataDesc("init_h", (1, HIDDEN))]
    batch = mx.io.DataBatch(
        [mx.nd.array([[1 + k for k in range(length)]]), mx.nd.zeros((1, HIDDEN))],
        None,
        bucket_key=length,
        provide_data=shapes,
        provide_label=None,
    )
    one.forward(batch)
    print(length, one.get_outputs()[0].shape, one.get_outputs()[0].asnumpy()[-1, :4].round(3).tolist())
