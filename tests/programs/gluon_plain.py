"""Training loops of all kinds, without a toolkit: resuming, hooks, freezing, surgery, a finder of rates, own gradients."""

import os
import tempfile
import warnings

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn

folder = tempfile.mkdtemp()
rng = np.random.RandomState(0)
X, Y = nd.array(rng.rand(64, 1, 8, 8)), nd.array(rng.randint(0, 4, 64))
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()


class Net(gluon.HybridBlock):
    def __init__(self, classes=4, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                self.features.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(8, "relu"))
            self.output = nn.Dense(classes, in_units=8)

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


def fresh(seed=0, ctx=None, **kwargs):
    r = np.random.RandomState(seed)
    net = Net(**kwargs)
    net.initialize(init.Xavier(), ctx=ctx or mx.cpu())
    net(X[:1].as_in_context((ctx or [mx.cpu()])[0]))
    for p in net.collect_params().values():
        p.set_data(nd.array(r.randn(*p.shape) * 0.2))
    return net


def epoch(net, trainer, batches=4, ctx=None):
    total = 0.0
    for i in range(batches):
        x, y = X[i * 16 : i * 16 + 16], Y[i * 16 : i * 16 + 16]
        xs, ys = gluon.utils.split_and_load(x, ctx or [mx.cpu()]), gluon.utils.split_and_load(y, ctx or [mx.cpu()])
        with autograd.record():
            losses = [loss_fn(net(a), b) for a, b in zip(xs, ys)]
        for l in losses:
            l.backward()
        trainer.step(16)
        total += sum(l.sum().asscalar() for l in losses)
    return round(float(total) / batches / 16, 5)


# Every optimizer by name, hybridized and on two devices
for name, options in (
    ("sgd", {"momentum": 0.9, "wd": 1e-3, "learning_rate": 0.1}),
    ("nag", {"momentum": 0.9, "learning_rate": 0.1}),
    ("adam", {}),
    ("adagrad", {}),
    ("adadelta", {}),
    ("rmsprop", {"centered": True}),
    ("ftrl", {"learning_rate": 0.1}),
    ("nadam", {}),
    ("signum", {}),
    ("ftml", {}),
    ("lamb", {}),
    ("dcasgd", {}),
    ("lars", {"learning_rate": 0.1}),
):
    options = {"learning_rate": 0.01, **options}
    net = fresh()
    one = [epoch(net, t) for t in [gluon.Trainer(net.collect_params(), name, dict(options))] for _ in range(2)]
    ctx = [mx.cpu(0), mx.cpu(1)]
    net = fresh(ctx=ctx)
    net.hybridize(static_alloc=True, static_shape=True)
    two = [
        epoch(net, t, ctx=ctx)
        for t in [gluon.Trainer(net.collect_params(), name, dict(options), kvstore="device")]
        for _ in range(2)
    ]
    print(name, one, two)

# Interrupted and resumed
net = fresh(1)
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
epoch(net, trainer)
net.save_parameters(os.path.join(folder, "net.params"))
trainer.save_states(os.path.join(folder, "net.states"))
straight = [epoch(net, trainer) for _ in range(2)]
net = Net()
net.load_parameters(os.path.join(folder, "net.params"), ctx=mx.cpu())
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.5})
trainer.load_states(os.path.join(folder, "net.states"))
print("resumed", straight == [epoch(net, trainer) for _ in range(2)], straight, trainer.learning_rate)

# Schedules, and rates set by hand
for scheduler in (
    mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1),
    mx.lr_scheduler.PolyScheduler(8, base_lr=0.1, pwr=2),
    mx.lr_scheduler.CosineScheduler(8, base_lr=0.1, final_lr=0.01, warmup_steps=2),
):
    net = fresh(2)
    trainer = gluon.Trainer(net.collect_params(), mx.optimizer.SGD(learning_rate=0.1, lr_scheduler=scheduler))
    rates = []
    for i in range(2):
        epoch(net, trainer, 2)
        rates.append(round(trainer.learning_rate, 5))
    print(type(scheduler).__name__, rates)
net = fresh(2)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})
found = []
for i in range(6):  # a finder of learning rates
    trainer.set_learning_rate(1e-3 * 4**i)
    found.append((round(trainer.learning_rate, 4), epoch(net, trainer, 1)))
print(found)

# Features by hooks, and a net that shares weights
net = fresh(3)
kept = []
handle = net.features[3].register_forward_hook(
    lambda block, inputs, out: kept.append((block.name.split("_")[-1], inputs[0].shape, out.shape))
)
before = net.features[0].register_forward_pre_hook(lambda block, inputs: kept.append(inputs[0].shape))
net(X[:2])
handle.detach()
before.detach()
net(X[:2])
print(kept)
twin = Net(prefix="twin_", params=net.collect_params())
print([n.split("_", 1)[1] for n in twin.collect_params()], np.allclose(twin(X[:2]).asnumpy(), net(X[:2]).asnumpy()))

# Surgery: another head, frozen features, rates by layer
net.output = nn.Dense(2, in_units=8, prefix="new_output_")
net.output.initialize(init.One())
net.features.collect_params().setattr("grad_req", "null")
net.output.bias.lr_mult = 0.0
frozen = net.features[0].weight.data().asnumpy()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
with autograd.record():
    l = loss_fn(net(X[:8]), Y[:8] % 2)
l.backward()
trainer.step(8)
print(
    (frozen == net.features[0].weight.data().asnumpy()).all(),
    net.output.weight.data()[:, :3].asnumpy().round(4),
    net.output.bias.data().asnumpy(),
)
net.features.collect_params(".*dense.*").setattr("grad_req", "write")
print([p.grad_req for p in net.collect_params().values()])

# Accumulated gradients, gradients reduced apart and clipped, some of them stale
net = fresh(4)
for p in net.collect_params().values():
    p.grad_req = "add"
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False)
for i in range(2):
    for part in range(2):
        with autograd.record():
            l = loss_fn(net(X[part * 8 : part * 8 + 8]), Y[part * 8 : part * 8 + 8])
        l.backward()
    trainer.allreduce_grads()
    norm = gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 2.0)
    trainer.update(16)
    net.collect_params().zero_grad()
    print("accumulated", round(l.mean().asscalar().item(), 4), round(norm, 3))
two_heads = nn.HybridSequential()
two_heads.add(nn.Dense(2, in_units=3), nn.Dense(2, in_units=3))
two_heads.initialize(init.One())
trainer = gluon.Trainer(two_heads.collect_params(), "sgd", {"learning_rate": 0.1})
with autograd.record():
    l = two_heads[0](nd.ones((1, 3))).sum()
l.backward()
trainer.step(1, ignore_stale_grad=True)
print(two_heads[0].weight.data()[0].asnumpy(), two_heads[1].weight.data()[0].asnumpy())


# Own gradients: by autograd.Function, by a custom operator inside a hybridized block, paused targets
class Reverse(autograd.Function):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * 1

    def backward(self, dy):
        return -self.scale * dy


class ReverseOp(mx.operator.CustomOp):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], -self.scale * out_grad[0])


@mx.operator.register("program_reverse")
class ReverseProp(mx.operator.CustomOpProp):
    def __init__(self, scale):
        super().__init__(need_top_grad=True)
        self.scale = float(scale)

    def create_operator(self, ctx, shapes, dtypes):
        return ReverseOp(self.scale)


class Domain(gluon.HybridBlock):
    def __init__(self, use_op, **kwargs):
        super().__init__(**kwargs)
        self.use_op = use_op
        with self.name_scope():
            self.extract, self.label, self.domain = (
                nn.Dense(4, in_units=5),
                nn.Dense(2, in_units=4),
                nn.Dense(2, in_units=4),
            )

    def hybrid_forward(self, F, x):
        h = F.tanh(self.extract(x))
        r = F.Custom(h, scale=0.5, op_type="program_reverse") if self.use_op else Reverse(0.5)(h)
        return self.label(h), self.domain(r)


x = nd.array(rng.randn(6, 5))
for use_op, hybridize in ((True, False), (True, True), (False, False)):
    r = np.random.RandomState(6)
    net = Domain(use_op)
    net.initialize()
    for p in net.collect_params().values():
        p.set_data(nd.array(r.randn(*p.shape)))
    net.hybridize(hybridize)
    with autograd.record():
        a, b = net(x)
        with autograd.pause(train_mode=False):
            target = nd.softmax(a).detach()
        l = loss_fn(a, nd.array([0, 1] * 3)).mean() + loss_fn(b, nd.array([1, 0] * 3)).mean() + (target * a).mean()
    l.backward()
    print(use_op, hybridize, round(l.asscalar().item(), 4), net.extract.weight.grad()[0].asnumpy().round(4))

# Penalties, averaged weights, two losses and their heads
net = nn.HybridSequential()
net.add(nn.Dense(4, in_units=5), nn.HybridLambda(lambda F, x: F.tanh(x)), nn.Dense(1, in_units=4))
net.initialize()
for p in net.collect_params().values():
    p.set_data(nd.array(rng.randn(*p.shape)))
average = {n: p.data().copy() for n, p in net.collect_params().items()}
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
for i in range(3):
    with autograd.record():
        l = net(x).square().mean() + 0.1 * sum((p.data() ** 2).sum() for p in net.collect_params(".*weight").values())
    l.backward()
    trainer.step(1)
    for n, p in net.collect_params().items():
        average[n][:] = 0.9 * average[n] + 0.1 * p.data()
    print("penalty", round(l.asscalar().item(), 4), round(sum(float(v.sum().asscalar()) for v in average.values()), 4))
with autograd.record():
    first, second = net(x).sum(), net[0](x).sum()
autograd.backward([first, second], [nd.array([0.5]), nd.array([2.0])])
print(net[0].bias.grad().asnumpy().round(3))
for p in net.collect_params().values():
    p.wd_mult = 0.0 if p.name.endswith("bias") else 1.0
print([(p.name.split("_")[-1], p.wd_mult, p.grad_req, p.list_ctx()) for p in net.collect_params().values()][:2])
net.summary(x)
