"""Two photographs told apart by parts of them: records and a list written, ImageIter with augmenters, training."""

import os
import random
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
random.seed(1)
np.random.seed(1)
mx.random.seed(1)
folder = tempfile.mkdtemp()

# Parts of 40x40, each a PNG file and a record.
photographs = [mx.image.imread(os.path.join(HERE, name)) for name in ("china.jpg", "flower.jpg")]
record = mx.recordio.MXIndexedRecordIO(os.path.join(folder, "train.idx"), os.path.join(folder, "train.rec"), "w")
lines, held = [], []
for i in range(60):
    label = i % 2
    part, where = mx.image.random_crop(photographs[label], (40, 40))
    packed = mx.recordio.pack_img(
        mx.recordio.IRHeader(0, float(label), i, 0), part.asnumpy()[:, :, ::-1], quality=3, img_fmt=".png"
    )
    if i < 40:
        record.write_idx(i, packed)
    else:
        name = "%02d.png" % i
        with open(os.path.join(folder, name), "wb") as file:
            file.write(mx.recordio.unpack(packed)[1])
        lines.append("%d\t%f\t%s\n" % (i, label, name))
        held.append([label, name])
record.close()
with open(os.path.join(folder, "test.lst"), "w") as file:
    file.writelines(lines)
print(photographs[0].shape, photographs[0].dtype, where)

train = mx.image.ImageIter(
    batch_size=8,
    data_shape=(3, 28, 28),
    path_imgrec=os.path.join(folder, "train.rec"),
    path_imgidx=os.path.join(folder, "train.idx"),
    shuffle=True,
    rand_crop=True,
    rand_mirror=True,
    brightness=0.1,
    contrast=0.1,
    saturation=0.1,
    pca_noise=0.05,
    mean=True,
    std=True,
)
test = mx.image.ImageIter(
    batch_size=8,
    data_shape=(3, 28, 28),
    path_imglist=os.path.join(folder, "test.lst"),
    path_root=folder,
    aug_list=mx.image.CreateAugmenter((3, 28, 28), mean=True, std=True),
)
in_memory = mx.image.ImageIter(8, (3, 28, 28), imglist=held, path_root=folder, mean=True, std=True)
for augmenter in train.auglist:
    print(augmenter.dumps())
print(train.provide_data, train.provide_label)

net = gluon.nn.HybridSequential()
with net.name_scope():
    net.add(gluon.nn.Conv2D(6, 5, strides=2, activation="relu", in_channels=3))
    net.add(gluon.nn.GlobalAvgPool2D())
    net.add(gluon.nn.Dense(2, in_units=6))
net.initialize()
rng = np.random.RandomState(2)
for parameter in net.collect_params().values():
    parameter.set_data(nd.array(rng.uniform(-0.2, 0.2, parameter.shape)))
net.hybridize()
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "momentum": 0.9})
for epoch in range(4):
    train.reset()
    total = 0.0
    for batch in train:
        with autograd.record():
            errors = loss(net(batch.data[0]), batch.label[0])
        errors.backward()
        trainer.step(batch.data[0].shape[0])
        total += errors.sum().asscalar()
    metric = mx.metric.Accuracy()
    test.reset()
    pads = []
    for batch in test:
        pads.append(batch.pad)
        size = batch.data[0].shape[0] - batch.pad
        metric.update([batch.label[0][:size]], [net(batch.data[0])[:size]])
    print("epoch %d loss %.3f accuracy %.3f" % (epoch, total / 40, metric.get()[1]), pads, batch.label[0].asnumpy())
same = [
    float(nd.abs(one.data[0] - other.data[0]).sum().asscalar())
    for one, other in zip(iter(in_memory), test.reset() or test)
]
print("same", same)
draws = random.random(), float(np.random.rand())
print("draws %.6f %.6f" % draws)
