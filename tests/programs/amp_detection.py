"""A small detector trained in mixed precision, in the manner of GluonCV's scripts: two losses, scaled together.

On a CPU MXNet has no products in float16, so that here activations are what is computed in it.
"""

import logging
import sys

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.contrib import amp
from mxnet.gluon import nn

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")

amp.init(
    target_precision_ops=["Activation"],
    fp32_ops=amp.list_fp32_ops("float16") + ["FullyConnected", "Convolution", "Pooling"],
)
random = np.random.RandomState(3)


class Detector(nn.HybridBlock):
    def __init__(self, classes, anchors, **kwargs):
        super().__init__(**kwargs)
        self._classes = classes
        with self.name_scope():
            self.body = nn.HybridSequential()
            for channels in (4, 8):
                self.body.add(nn.Conv2D(channels, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
                self.body.add(nn.MaxPool2D(2, 2))
            self.scores = nn.Conv2D(anchors * (classes + 1), 3, padding=1)
            self.boxes = nn.Conv2D(anchors * 4, 3, padding=1)

    def hybrid_forward(self, F, x):
        features = self.body(x)
        scores = F.reshape(F.transpose(self.scores(features), (0, 2, 3, 1)), (0, -1, self._classes + 1))
        boxes = F.reshape(F.transpose(self.boxes(features), (0, 2, 3, 1)), (0, -1, 4))
        return scores, boxes


net = Detector(2, 2, prefix="ssd_")
net.initialize(ctx=[mx.cpu(0)])
net.hybridize(static_alloc=True)
net(nd.zeros((1, 3, 16, 16)))
for name, parameter in sorted(net.collect_params().items()):
    if parameter.grad_req != "null":
        values = random.uniform(-0.3, 0.3, parameter.shape) + (1 if name.endswith("gamma") else 0)
        parameter.set_data(nd.array(values))

trainer = gluon.Trainer(
    net.collect_params(), "sgd", {"learning_rate": 0.05, "wd": 5e-4, "momentum": 0.9}, update_on_kvstore=False
)
amp.init_trainer(trainer)
classify, locate = gluon.loss.SoftmaxCrossEntropyLoss(), gluon.loss.HuberLoss()

batches = []
for _ in range(6):
    image = random.uniform(0, 1, (4, 3, 16, 16))
    label = (random.uniform(size=(4, 32)) < 0.4) * (1 + (image[:, :1, 0, :1].reshape(4, 1) > 0.5))
    batches.append([nd.array(one) for one in (image, label, random.uniform(-1, 1, (4, 32, 4)))])

for number, (image, label, target) in enumerate(batches):
    images, labels, targets = (gluon.utils.split_and_load(one, [mx.cpu(0)]) for one in (image, label, target))
    with autograd.record():
        sums = []
        for x, y, t in zip(images, labels, targets):
            scores, boxes = net(x)
            weights = (y > 0).expand_dims(-1)
            factor = float("inf") if number == 2 else 1.0
            sums.append(classify(scores, y).mean() * factor + locate(boxes, t, weights.broadcast_like(t)).mean())
        with amp.scale_loss(sums, trainer) as scaled:
            print(len(scaled), scaled[0].dtype.__name__, "scale", trainer._amp_loss_scaler.loss_scale)
            autograd.backward(scaled)
    trainer.step(1)
    norm = sum(float((one.data() ** 2).sum().asscalar()) for one in net.collect_params().values()) ** 0.5
    print(f"batch {number}: loss {sums[0].asscalar():.4f}, updates {trainer._optimizer.num_update}, norm {norm:.4f}")

parameters = net.collect_params()
print(sorted({(parameter.data().dtype.__name__, parameter.grad_req) for parameter in parameters.values()}))
scores, boxes = net(batches[0][0])
print(scores.dtype.__name__, boxes.dtype.__name__, scores[0, :2].asnumpy().round(3).tolist())
