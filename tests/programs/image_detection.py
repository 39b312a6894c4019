"""A small SSD: flowers put on a photograph, ImageDetIter with its augmenters, anchors, targets, losses, detections."""

import os
import random
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
random.seed(3)
np.random.seed(3)
mx.random.seed(3)
folder = tempfile.mkdtemp()
china = mx.image.imread(os.path.join(HERE, "china.jpg"))
flower = mx.image.imresize(mx.image.imread(os.path.join(HERE, "flower.jpg")), 24, 20, interp=1).asnumpy()

record = mx.recordio.MXIndexedRecordIO(os.path.join(folder, "train.idx"), os.path.join(folder, "train.rec"), "w")
listed = []
for i in range(14):
    scene = mx.image.fixed_crop(china, i, i // 2, 80, 56).asnumpy().copy()
    label = [4.0, 5.0, 80.0, 56.0]
    for k in range(1 + i % 2):
        x, y = random.randint(0, 15) + 40 * k, random.randint(0, 35)
        scene[y : y + 20, x : x + 24] = flower if k == 0 else flower[:, ::-1]
        label += [k, x / 80.0, y / 56.0, (x + 24) / 80.0, (y + 20) / 56.0]
    packed = mx.recordio.pack_img(mx.recordio.IRHeader(0, label, i, 0), scene[:, :, ::-1], quality=3, img_fmt=".png")
    if i < 10:
        record.write_idx(i, packed)
    else:
        with open(os.path.join(folder, "%d.png" % i), "wb") as file:
            file.write(mx.recordio.unpack(packed)[1])
        listed.append([label, "%d.png" % i])
record.close()

SHAPE = (3, 32, 32)
train = mx.image.ImageDetIter(
    batch_size=4,
    data_shape=SHAPE,
    path_imgrec=os.path.join(folder, "train.rec"),
    path_imgidx=os.path.join(folder, "train.idx"),
    shuffle=True,
    rand_crop=0.7,
    rand_pad=0.5,
    rand_mirror=True,
    mean=True,
    std=True,
    min_object_covered=[0.3, 0.5, 0.9],
    inter_method=1,
)
test = mx.image.ImageDetIter(4, SHAPE, imglist=listed, path_root=folder, mean=True, std=True, inter_method=1)
print(train.label_shape, test.label_shape, train.provide_label)
train.reshape(label_shape=(4, 5))
test = train.sync_label_shape(test)
print(train.label_shape, test.label_shape)
for augmenter in train.auglist:
    print(augmenter.dumps())

rng = np.random.RandomState(4)


def initialized(block):
    for parameter in block.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-0.1, 0.1, parameter.shape)))


class SSD(gluon.Block):
    def __init__(self, **kwargs):
        super(SSD, self).__init__(**kwargs)
        with self.name_scope():
            self.body = gluon.nn.HybridSequential()
            for inputs, width in ((3, 8), (8, 12), (12, 12)):
                self.body.add(gluon.nn.Conv2D(width, 3, padding=1, strides=2, activation="relu", in_channels=inputs))
            self.classes = gluon.nn.Conv2D(4 * 3, 3, padding=1, in_channels=12)
            self.boxes = gluon.nn.Conv2D(4 * 4, 3, padding=1, in_channels=12)

    def forward(self, x):
        features = self.body(x)
        anchors = nd.contrib.MultiBoxPrior(features, sizes=(0.3, 0.45), ratios=(1, 1.5, 0.7))
        classes = self.classes(features).transpose((0, 2, 3, 1)).reshape((0, -1, 3))
        return anchors, classes, self.boxes(features).transpose((0, 2, 3, 1)).reshape((0, -1))


net = SSD()
net.initialize()
initialized(net)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "wd": 5e-4})
for epoch in range(3):
    train.reset()
    for batch in train:
        with autograd.record():
            anchors, classes, boxes = net(batch.data[0])
            with autograd.pause():
                targets = nd.contrib.MultiBoxTarget(
                    anchors, batch.label[0], classes.transpose((0, 2, 1)), negative_mining_ratio=3
                )
            box_target, box_mask, class_target = targets
            kept = class_target >= 0
            class_loss = -(classes.log_softmax(axis=-1).pick(nd.maximum(class_target, 0)) * kept).sum() / kept.sum()
            box_loss = nd.smooth_l1((boxes - box_target) * box_mask, scalar=1.0).mean()
            total = class_loss + box_loss
        total.backward()
        trainer.step(1)
    print("epoch %d loss %.4f pad %d" % (epoch, total.asscalar(), batch.pad), (batch.label[0] >= 0).sum().asscalar())
    print(np.round(batch.label[0][0, 0].asnumpy(), 3), "%.3f" % batch.data[0].mean().asscalar())
for batch in test:
    anchors, classes, boxes = net(batch.data[0])
    found = nd.contrib.MultiBoxDetection(
        classes.softmax(axis=-1).transpose((0, 2, 1)), boxes, anchors, nms_threshold=0.4
    )
    best = found.asnumpy()[:, 0]
    print(np.round(best[:, :2], 3).tolist(), batch.pad)
print("draws %.6f %.6f" % (random.random(), np.random.rand()))
