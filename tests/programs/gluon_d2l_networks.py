"""A textbook's convolutional networks on mx.np, small: LeNet, VGG, NiN, GoogLeNet, ResNet, DenseNet; fine-tuning."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(0)
X = np.array(rng.randn(4, 1, 32, 32).astype("float32"))
y = np.array([0, 1, 2, 1])
loss = gluon.loss.SoftmaxCrossEntropyLoss()


def fill(net):
    for p in net.collect_params().values():
        if p.name.endswith("weight"):
            fan = onp.prod(p.shape[1:])
            p.set_data(np.array((rng.randn(*p.shape) * (2.0 / fan) ** 0.5).astype("float32")))


def lenet():
    net = nn.Sequential()
    net.add(
        nn.Conv2D(channels=6, kernel_size=5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Conv2D(channels=16, kernel_size=5, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Dense(20, activation="sigmoid"),
        nn.Dense(10),
    )
    return net


def vgg_block(num_convs, num_channels):
    blk = nn.Sequential()
    for _ in range(num_convs):
        blk.add(nn.Conv2D(num_channels, kernel_size=3, padding=1, activation="relu"))
    blk.add(nn.MaxPool2D(pool_size=2, strides=2))
    return blk


def vgg():
    net = nn.Sequential()
    for num_convs, num_channels in ((1, 4), (1, 8), (2, 12)):
        net.add(vgg_block(num_convs, num_channels))
    net.add(nn.Dense(24, activation="relu"), nn.Dropout(0), nn.Dense(10))
    return net


def nin_block(num_channels, kernel_size, strides, padding):
    blk = nn.Sequential()
    blk.add(
        nn.Conv2D(num_channels, kernel_size, strides, padding, activation="relu"),
        nn.Conv2D(num_channels, kernel_size=1, activation="relu"),
        nn.Conv2D(num_channels, kernel_size=1, activation="relu"),
    )
    return blk


def nin():
    net = nn.Sequential()
    net.add(
        nin_block(8, kernel_size=5, strides=2, padding=0),
        nn.MaxPool2D(pool_size=3, strides=2),
        nin_block(10, kernel_size=3, strides=1, padding=1),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
    )
    return net


class Inception(nn.Block):
    def __init__(self, c1, c2, c3, c4, **kwargs):
        super().__init__(**kwargs)
        self.p1_1 = nn.Conv2D(c1, kernel_size=1, activation="relu")
        self.p2_1 = nn.Conv2D(c2[0], kernel_size=1, activation="relu")
        self.p2_2 = nn.Conv2D(c2[1], kernel_size=3, padding=1, activation="relu")
        self.p3_1 = nn.Conv2D(c3[0], kernel_size=1, activation="relu")
        self.p3_2 = nn.Conv2D(c3[1], kernel_size=5, padding=2, activation="relu")
        self.p4_1 = nn.MaxPool2D(pool_size=3, strides=1, padding=1)
        self.p4_2 = nn.Conv2D(c4, kernel_size=1, activation="relu")

    def forward(self, x):
        p1 = self.p1_1(x)
        p2 = self.p2_2(self.p2_1(x))
        p3 = self.p3_2(self.p3_1(x))
        p4 = self.p4_2(self.p4_1(x))
        return np.concatenate((p1, p2, p3, p4), axis=1)


def googlenet():
    b1 = nn.Sequential()
    b1.add(nn.Conv2D(6, kernel_size=7, strides=2, padding=3, activation="relu"))
    b1.add(nn.MaxPool2D(pool_size=3, strides=2, padding=1))
    b2 = nn.Sequential()
    b2.add(Inception(4, (3, 6), (2, 3), 3), Inception(4, (3, 6), (2, 3), 3), nn.GlobalAvgPool2D())
    net = nn.Sequential()
    net.add(b1, b2, nn.Dense(10))
    return net


class Residual(nn.Block):
    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        if use_1x1conv:
            self.conv3 = nn.Conv2D(num_channels, kernel_size=1, strides=strides)
        else:
            self.conv3 = None
        self.bn1 = nn.BatchNorm()
        self.bn2 = nn.BatchNorm()

    def forward(self, X):
        Y = npx.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        return npx.relu(Y + X)


def resnet_block(num_channels, num_residuals, first_block=False):
    blk = nn.Sequential()
    for i in range(num_residuals):
        if i == 0 and not first_block:
            blk.add(Residual(num_channels, use_1x1conv=True, strides=2))
        else:
            blk.add(Residual(num_channels))
    return blk


def resnet():
    net = nn.Sequential()
    net.add(
        nn.Conv2D(6, kernel_size=7, strides=2, padding=3),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(pool_size=3, strides=2, padding=1),
    )
    net.add(resnet_block(6, 2, first_block=True), resnet_block(8, 1), nn.GlobalAvgPool2D(), nn.Dense(10))
    return net


def conv_block(num_channels):
    blk = nn.Sequential()
    blk.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(num_channels, kernel_size=3, padding=1))
    return blk


class DenseBlock(nn.Block):
    def __init__(self, num_convs, num_channels, **kwargs):
        super().__init__(**kwargs)
        self.net = nn.Sequential()
        for _ in range(num_convs):
            self.net.add(conv_block(num_channels))

    def forward(self, X):
        for blk in self.net:
            Y = blk(X)
            X = np.concatenate((X, Y), axis=1)
        return X


def densenet():
    net = nn.Sequential()
    net.add(nn.Conv2D(8, kernel_size=7, strides=2, padding=3), nn.BatchNorm(), nn.Activation("relu"))
    num_channels = 8
    for i in range(2):
        net.add(DenseBlock(2, 4))
        num_channels += 8
        if i == 0:
            num_channels //= 2
            transition = nn.Sequential()
            transition.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(num_channels, kernel_size=1))
            transition.add(nn.AvgPool2D(pool_size=2, strides=2))
            net.add(transition)
    net.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(10))
    return net


for make in (lenet, vgg, nin, googlenet, resnet, densenet):
    net = make()
    net.initialize(force_reinit=True, ctx=mx.cpu(), init=init.Xavier())
    out = X
    for layer in net:
        out = layer(out)
        print(layer.name, "output shape:\t", out.shape)
    fill(net)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    for step in range(3):
        with autograd.record():
            l = loss(net(X), y)
        l.backward()
        trainer.step(len(X))
        print(make.__name__, step, [round(float(v), 3) for v in l])
    mx.nd.waitall()
    print(net(X).shape, float(np.abs(net(X)).sum()).__round__(2), len(net._collect_params_with_prefix()))


# Fine-tuning: the features of one net, a new head with a larger learning rate
class Zoo(nn.HybridBlock):
    def __init__(self, classes, **kwargs):
        super().__init__(**kwargs)
        self.features = nn.HybridSequential(prefix="")
        self.features.add(nn.Conv2D(4, 3, in_channels=1), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
        self.output = nn.Dense(classes, in_units=4)

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


pretrained_net = Zoo(10)
pretrained_net.initialize()
fill(pretrained_net)
finetune_net = Zoo(3)
finetune_net.features = pretrained_net.features
finetune_net.output.initialize(init.Xavier())
fill(finetune_net.output)
finetune_net.output.collect_params().setattr("lr_mult", 10)
before = finetune_net.features[0].weight.data().copy(), finetune_net.output.weight.data().copy()
trainer = gluon.Trainer(finetune_net.collect_params(), "sgd", {"learning_rate": 0.01, "wd": 0.001})
for _ in range(2):
    with autograd.record():
        l = loss(finetune_net(X), y)
    l.backward()
    trainer.step(4)
after = finetune_net.features[0].weight.data(), finetune_net.output.weight.data()
print([float(np.abs(a - b).sum()).__round__(4) for a, b in zip(before, after)], l)
print(pretrained_net)
