"""A textbook's first chapters on mx.np: regression from scratch and concise, softmax regression, custom layers, BatchNorm."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(0)


def fill(net, scale=0.1):
    """Deterministic weights for a net whose shapes are known."""
    for p in net.collect_params().values():
        p.set_data(np.array((rng.randn(*p.shape) * scale).astype("float32")))


class Accumulator:
    def __init__(self, n):
        self.data = [0.0] * n

    def add(self, *args):
        self.data = [a + float(b) for a, b in zip(self.data, args)]

    def __getitem__(self, idx):
        return self.data[idx]


def accuracy(y_hat, y):
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    cmp = y_hat.astype(y.dtype) == y
    return float(cmp.astype(y.dtype).sum())


def data_iter(batch_size, features, labels):
    num_examples = len(features)
    indices = list(range(num_examples))
    rng.shuffle(indices)
    for i in range(0, num_examples, batch_size):
        batch_indices = np.array(indices[i : min(i + batch_size, num_examples)])
        yield features[batch_indices], labels[batch_indices]


# Linear regression from scratch
true_w, true_b = np.array([2, -3.4]), 4.2
features = np.array(rng.randn(200, 2).astype("float32"))
labels = np.dot(features, true_w) + true_b
w, b = np.zeros((2, 1)), np.zeros(1)
w.attach_grad()
b.attach_grad()
for epoch in range(3):
    for X, y in data_iter(20, features, labels):
        with autograd.record():
            loss = (np.dot(X, w) + b - y.reshape((-1, 1))) ** 2 / 2
        loss.backward()
        for param in (w, b):
            param[:] = param - 0.1 * param.grad / 20
    train_l = ((np.dot(features, w) + b).reshape(labels.shape) - labels) ** 2 / 2
    print(f"epoch {epoch + 1}, loss {float(train_l.mean()):f}")
print(w.reshape(true_w.shape), b, w.shape, type(b).__name__)

# Concise
net = nn.Sequential()
net.add(nn.Dense(1))
net.initialize(init.Normal(sigma=0.01))
net(features[:2])
fill(net)
loss = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
dataset = gluon.data.ArrayDataset(features, labels)
loader = gluon.data.DataLoader(dataset, 20, shuffle=False)
for epoch in range(3):
    for X, y in loader:
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(20)
    l = loss(net(features), labels)
    print(f"epoch {epoch + 1}, loss {l.mean().asnumpy():f}")
print(net[0].weight.data(), net[0].bias.data(), net[0].weight.grad().shape)
print(net)

# Softmax regression from scratch and concise
inputs = rng.randn(120, 1, 4, 4).astype("float32")
classes = inputs.reshape(120, 16)[:, :5].argmax(1)
images, targets = np.array(inputs), np.array(classes, dtype="int32")
W, b = np.array((rng.randn(16, 5) * 0.01).astype("float32")), np.zeros(5)
W.attach_grad()
b.attach_grad()


def softmax(X):
    X_exp = np.exp(X)
    partition = X_exp.sum(1, keepdims=True)
    return X_exp / partition


def cross_entropy(y_hat, y):
    return -np.log(y_hat[range(len(y_hat)), y])


for epoch in range(4):
    metric = Accumulator(3)
    for X, y in gluon.data.DataLoader(gluon.data.ArrayDataset(images, targets), 30):
        with autograd.record():
            y_hat = softmax(np.dot(X.reshape((-1, W.shape[0])), W) + b)
            l = cross_entropy(y_hat, y)
        l.backward()
        for param in [W, b]:
            param[:] = param - 1.0 * param.grad / X.shape[0]
        metric.add(float(l.sum()), accuracy(y_hat, y), y.size)
    print("scratch", round(metric[0] / metric[2], 4), metric[1] / metric[2])

net = nn.Sequential()
net.add(nn.Flatten(), nn.Dense(8, activation="relu"), nn.Dropout(0.0), nn.Dense(5))
net.initialize(init.Normal(sigma=0.01))
net(images[:1])
fill(net, 0.3)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
loss = gluon.loss.SoftmaxCrossEntropyLoss()
for epoch in range(4):
    metric = Accumulator(3)
    for X, y in gluon.data.DataLoader(gluon.data.ArrayDataset(images, targets), batch_size=30):
        with autograd.record():
            y_hat = net(X)
            l = loss(y_hat, y)
        l.backward()
        trainer.step(X.shape[0])
        metric.add(float(l.sum()), accuracy(y_hat, y), y.size)
    print("concise", round(metric[0] / metric[2], 4), metric[1] / metric[2])


# Weight decay
def train_concise(wd):
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=1))
    net(features[:1])
    net.collect_params(".*weight").setattr("wd_mult", 2.0)
    for p in net.collect_params().values():
        p.set_data(np.ones(p.shape))
    loss = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "wd": wd})
    net.collect_params(".*bias").setattr("wd_mult", 0)
    for epoch in range(2):
        for X, y in gluon.data.DataLoader(dataset, 50):
            with autograd.record():
                l = loss(net(X), y)
            l.backward()
            trainer.step(50)
    print("L2 norm of w:", float(np.linalg.norm(net[0].weight.data())), "bias", float(net[0].bias.data()))


train_concise(0)
train_concise(3)


# Custom layers and blocks
class MLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(6, activation="relu")
        self.out = nn.Dense(3)

    def forward(self, X):
        return self.out(self.hidden(X))


class MySequential(nn.Block):
    def add(self, block):
        self._children[block.name] = block

    def forward(self, X):
        for block in self._children.values():
            X = block(X)
        return X


class FixedHiddenMLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rand_weight = self.params.get_constant("rand_weight", np.ones((6, 6)) * 0.25)
        self.dense = nn.Dense(6, activation="relu")

    def forward(self, X):
        X = self.dense(X)
        X = npx.relu(np.dot(X, self.rand_weight.data()) + 1)
        X = self.dense(X)
        while np.abs(X).sum() > 1:
            X /= 2
        return X.sum()


class NestMLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.net = nn.Sequential()
        self.net.add(nn.Dense(7, activation="relu"), nn.Dense(4, activation="relu"))
        self.dense = nn.Dense(5, activation="relu")

    def forward(self, X):
        return self.dense(self.net(X))


class CenteredLayer(nn.Block):
    def forward(self, X):
        return X - X.mean()


class MyDense(nn.Block):
    def __init__(self, units, in_units, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(in_units, units))
        self.bias = self.params.get("bias", shape=(units,))

    def forward(self, x):
        linear = np.dot(x, self.weight.data(ctx=x.ctx)) + self.bias.data(ctx=x.ctx)
        return npx.relu(linear)


class MyInit(init.Initializer):
    def _init_weight(self, name, data):
        print("Init", name, data.shape)
        data[:] = np.arange(data.size).reshape(data.shape) / data.size


X = np.array(rng.rand(2, 6).astype("float32"))
for net in (MLP(), MySequential(), FixedHiddenMLP(), NestMLP(), nn.Sequential()):
    if isinstance(net, MySequential):
        net.add(nn.Dense(6, activation="relu"))
        net.add(nn.Dense(3))
    elif isinstance(net, nn.Sequential):
        net.add(NestMLP(), nn.Dense(6), FixedHiddenMLP())
    net.initialize()
    net(X)
    fill(net, 0.4)
    print(type(net).__name__, net(X), list(net.collect_params()))
net = nn.Sequential()
net.add(MyDense(8, in_units=6), CenteredLayer(), MyDense(1, in_units=8))
net.initialize(init=MyInit())
print(net(X), [p.name for p in net[0].params.values()])
print(float(CenteredLayer()(np.array([1, 2, 3, 4, 5])).sum()))
net.initialize(init=init.Constant(1), force_reinit=True)
print(net[0].weight.data()[0], net[2].params)

shared = nn.Dense(8, activation="relu")
net = nn.Sequential()
net.add(nn.Dense(8, activation="relu"), shared, nn.Dense(8, activation="relu", params=shared.params), nn.Dense(10))
net.initialize()
net(np.ones((2, 20)))
fill(net)
print(net[1].weight.data()[0] == net[2].weight.data()[0])
net[1].weight.data()[0, 0] = 100
print(net[1].weight.data()[0] == net[2].weight.data()[0], len(net.collect_params().keys()))


# BatchNorm from scratch
def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not autograd.is_training():
        X_hat = (X - moving_mean) / np.sqrt(moving_var + eps)
    else:
        assert len(X.shape) in (2, 4)
        if len(X.shape) == 2:
            mean = X.mean(axis=0)
            var = ((X - mean) ** 2).mean(axis=0)
        else:
            mean = X.mean(axis=(0, 2, 3), keepdims=True)
            var = ((X - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
        X_hat = (X - mean) / np.sqrt(var + eps)
        moving_mean = momentum * moving_mean + (1.0 - momentum) * mean
        moving_var = momentum * moving_var + (1.0 - momentum) * var
    return gamma * X_hat + beta, moving_mean, moving_var


class BatchNorm(nn.Block):
    def __init__(self, num_features, num_dims, **kwargs):
        super().__init__(**kwargs)
        shape = (1, num_features) if num_dims == 2 else (1, num_features, 1, 1)
        self.gamma = self.params.get("gamma", shape=shape, init=init.One())
        self.beta = self.params.get("beta", shape=shape, init=init.Zero())
        self.moving_mean = np.zeros(shape)
        self.moving_var = np.ones(shape)

    def forward(self, X):
        if self.moving_mean.ctx != X.ctx:
            self.moving_mean = self.moving_mean.copyto(X.ctx)
            self.moving_var = self.moving_var.copyto(X.ctx)
        Y, self.moving_mean, self.moving_var = batch_norm(
            X, self.gamma.data(), self.beta.data(), self.moving_mean, self.moving_var, eps=1e-12, momentum=0.9
        )
        return Y


for layer in (lambda c, d: BatchNorm(c, num_dims=d), lambda c, d: nn.BatchNorm(epsilon=1e-12)):
    rng = onp.random.RandomState(7)
    net = nn.Sequential()
    net.add(
        nn.Conv2D(3, kernel_size=3),
        layer(3, 4),
        nn.Activation("sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Dense(6),
        layer(6, 2),
        nn.Activation("sigmoid"),
        nn.Dense(5),
    )
    net.initialize()
    net(images[:2])
    for p in net.collect_params(".*conv.*weight|.*dense.*weight").values():
        p.set_data(np.array((rng.randn(*p.shape) * 0.4).astype("float32")))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    for epoch in range(3):
        total = 0
        for X, y in gluon.data.DataLoader(gluon.data.ArrayDataset(images, targets), 40, last_batch="discard"):
            with autograd.record():
                l = loss(net(X), y)
            l.backward()
            trainer.step(X.shape[0])
            total += float(l.sum())
        print(type(net[1]).__name__, round(total / 120, 4), accuracy(net(images), targets))
    print(net[1].gamma.data().reshape((-1,)))
