"""A sentence classifier trained in mixed precision, in the manner of GluonNLP's scripts: gradients added up over
several small batches, unscaled, clipped by their norm, and then applied. And networks converted to predict.
"""

import json
import logging
import sys

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.contrib import amp
from mxnet.gluon import nn

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
random = np.random.RandomState(5)

# -- a network in float32 is converted -----------------------------------------------------------------------------

data = mx.sym.var("data")
hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=4, name="first"), act_type="tanh", name="tanh")
mean = mx.sym.mean(data, axis=1, keepdims=True, name="mean")
out = mx.sym.softmax(mx.sym.FullyConnected(mx.sym.broadcast_add(hidden, mean), num_hidden=3, name="last"), name="out")
shapes, _, _ = out.infer_shape(data=(2, 5))
arguments = {
    name: nd.array(random.uniform(-1, 1, shape)) for name, shape in zip(out.list_arguments(), shapes) if name != "data"
}
for options in ({}, {"cast_optional_params": True}, {"excluded_sym_names": ["last"], "cast_optional_params": True}):
    converted, params, states = amp.convert_model(out, dict(arguments), {}, **options)
    nodes = json.loads(converted.tojson(remove_amp_cast=False))["nodes"]
    print(sorted(options), [node["name"] for node in nodes if node["op"] == "amp_cast"])
    print({name: array.dtype.__name__ for name, array in sorted(params.items())}, len(states))
    print(converted.tojson() == out.tojson(), converted.list_arguments() == out.list_arguments())

# On a CPU MXNet computes activations in float16, and no products.
wide = amp.list_fp32_ops("float16") + ["FullyConnected"]
conditions = [("LeakyReLU", "act_type", ["elu", "selu"])]
low, params, _ = amp.convert_model(
    out, dict(arguments), {}, target_dtype_ops=["Activation"], fp32_ops=wide, conditional_fp32_ops=conditions
)
x = nd.array(random.uniform(-1, 1, (2, 5)))
predictions = [
    symbol.bind(mx.cpu(), {"data": x, **arguments}, grad_req="null").forward()[0].asnumpy() for symbol in (out, low)
]
print(predictions[0].round(4).tolist(), np.abs(predictions[0] - predictions[1]).max() < 2e-3)

# -- and one is trained --------------------------------------------------------------------------------------------

amp.init(target_precision_ops=["Activation"], fp32_ops=wide)


class Classifier(gluon.HybridBlock):
    def __init__(self, vocabulary, units, classes, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(vocabulary, units)
            self.encode = nn.Dense(units, activation="tanh", in_units=units)
            self.norm = nn.LayerNorm(in_channels=units)
            self.decide = nn.Dense(classes, in_units=units)

    def hybrid_forward(self, F, tokens):
        pooled = F.mean(self.embed(tokens), axis=1)
        return self.decide(self.norm(self.encode(pooled)))


net = Classifier(20, 8, 3, prefix="net_")
net.initialize()
for name, parameter in sorted(net.collect_params().items()):
    parameter.set_data(nd.array(random.uniform(-0.5, 0.5, parameter.shape)) + (1 if name.endswith("gamma") else 0))
net.hybridize()
parameters = [one for one in net.collect_params().values() if one.grad_req != "null"]
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02, "wd": 0.01}, update_on_kvstore=False)
amp.init_trainer(trainer)
loss_function = gluon.loss.SoftmaxCELoss()
tokens = random.randint(0, 20, (48, 6))
labels = (tokens < 7).sum(1).clip(0, 2)
accumulate, step_loss = 3, 0.0
sums = [nd.zeros(one.shape) for one in parameters]
for number in range(12):
    batch = slice(4 * number, 4 * number + 4)
    with autograd.record():
        loss = loss_function(net(nd.array(tokens[batch])), nd.array(labels[batch])).mean() / accumulate
        if number == 4:
            loss = loss * float("nan")
        with amp.scale_loss(loss, trainer) as scaled:
            scaled.backward()
    step_loss += loss.asscalar()
    for total, one in zip(sums, parameters):
        total += one.grad()
    if (number + 1) % accumulate == 0:
        for total, one in zip(sums, parameters):
            one.grad()[:] = total
            total[:] = 0
        trainer.allreduce_grads()
        before = [one.grad().norm().asscalar() for one in parameters]
        amp.unscale(trainer)
        after = [one.grad().norm().asscalar() for one in parameters]
        ratio = max(before) / max(after) if np.isfinite(before).all() else 0
        norm = gluon.utils.clip_global_norm([one.grad() for one in parameters], 0.5, check_isfinite=False).asscalar()
        trainer.update(1)
        print(f"loss {step_loss:.4f} norm {norm:.4f} ratio {ratio:.0f} updates {trainer._optimizer.num_update}")
        print(f"  scale {trainer._amp_loss_scaler._next_loss_scale:.0f}, {net.decide.bias.data().asnumpy().round(4)}")
        step_loss = 0.0

for call in (lambda: amp.init_trainer(trainer._optimizer), lambda: amp.init_trainer(3)):
    try:
        call()
    except TypeError:
        print("TypeError")
