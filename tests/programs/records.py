"""Pictures packed into a record file, shuffled, read again by their keys, and seen by a network of the zoo."""

import os
import random
import tempfile

import mxnet as mx
import numpy as np
from mxnet import gluon, nd, recordio
from mxnet.gluon.model_zoo import vision

random.seed(7)
np.random.seed(7)
prefix = os.path.join(tempfile.mkdtemp(), "shapes")


def drawn(kind, number):
    """A square, a disc or a cross on a dark ground, with blue first, as OpenCV has it."""
    rows, columns = np.mgrid[:32, :32] - 16 + number % 5
    inside = (
        (abs(rows) < 9) & (abs(columns) < 9),
        rows**2 + columns**2 < 90,
        (abs(rows) < 3) | (abs(columns) < 3),
    )[kind]
    image = np.full((32, 32, 3), 20, np.uint8)
    image[inside] = (40 + 10 * number, 200, 90 * kind)
    return image


record = recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "w")
for key in range(12):
    kind = key % 3
    label = kind if key < 9 else [kind, key / 10.0, 0.5]
    header = recordio.IRHeader(0, label, key, 0)
    record.write_idx(key, recordio.pack_img(header, drawn(kind, key), quality=9, img_fmt=".png"))
print("keys", record.keys)
record.close()

record = recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "r")
keys = list(record.keys)
random.shuffle(keys)
print("shuffled", keys)
images, labels = [], []
for key in keys:
    header, image = recordio.unpack_img(record.read_idx(key))
    label = header.label if header.flag == 0 else header.label[0]
    print(header.id, header.flag, float(label), image.shape, int(image.sum()))
    images.append(nd.array(image[:, :, ::-1].transpose(2, 0, 1)) / 255)
    labels.append(float(label))

record.reset()
sizes = []
while True:
    item = record.read()
    if item is None:
        break
    sizes.append(recordio.unpack(item)[0].id)
print("in order", sizes)

net = vision.ResNetV1(vision.BasicBlockV1, [1, 1, 1], [8, 8, 16, 24], classes=3, thumbnail=True, prefix="shapes_")
data, target = nd.stack(*images), nd.array(labels)
net.initialize()
net(data)  # which tells shapes
for number, (name, parameter) in enumerate(sorted(net.collect_params(".*weight").items())):
    waves = np.sin(np.arange(int(np.prod(parameter.shape))) * 1.7 + number).reshape(parameter.shape)
    parameter.set_data(nd.array(0.3 * waves))
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
for step in range(4):
    with mx.autograd.record():
        loss = cross_entropy(net(data), target)
    loss.backward()
    trainer.step(len(images))
    print("step", step, "loss %.4f" % loss.mean().asscalar())
print(sorted(name for name in net.collect_params() if "stage2" in name)[:6])
try:
    vision.get_model("resnet19_v1")
except ValueError:
    print("no such network")
