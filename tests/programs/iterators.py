"""Data fed to training as programs of the Module API do: arrays, text files and record files, batch by batch."""

import os
import tempfile

import mxnet as mx
import numpy as np

mx.random.seed(0)
np.random.seed(0)
folder = tempfile.mkdtemp()


def describe(name, iterator, epochs=2):
    print(name, iterator.provide_data, iterator.provide_label)
    for epoch in range(epochs):
        iterator.reset()
        for number, batch in enumerate(iterator):
            sums = [round(float(array.sum().asscalar()), 2) for array in batch.data + (batch.label or [])]
            print("  epoch", epoch, "batch", number, "pad", batch.pad, "sums", sums)


# As examples/image-classification feeds toy data.
data = np.random.uniform(-1, 1, (10, 3)).astype("float32")
label = np.random.randint(0, 4, (10,))
for handle in ("pad", "discard", "roll_over"):
    describe(handle, mx.io.NDArrayIter(data, label, 4, shuffle=True, last_batch_handle=handle))

# Two inputs, as in matrix factorization.
users = mx.io.NDArrayIter(
    data={"user": np.arange(6), "item": np.arange(6) * 2}, label={"score": np.arange(6) / 2.0}, batch_size=4
)
describe("two inputs", users, 1)
describe("epochs of three batches", mx.io.ResizeIter(users, 3))
describe("ahead", mx.io.PrefetchingIter(mx.io.NDArrayIter(data, label, 5), rename_data=[{"data": "x"}]))

# Sparse examples' and regressions' text files.
path = os.path.join(folder, "data.csv")
np.savetxt(path, data, delimiter=",")
describe("csv", mx.io.CSVIter(data_csv=path, data_shape=(3,), batch_size=4, round_batch=False))


class Counting(mx.io.DataIter):
    """An iterator of one's own, as tutorials write it."""

    def __init__(self, batches):
        super().__init__(2)
        self.batches, self.number = batches, 0
        self.provide_data = [mx.io.DataDesc("data", (2, 1), np.float32)]
        self.provide_label = [("softmax_label", (2,))]

    def reset(self):
        self.number = 0

    def next(self):
        if self.number == self.batches:
            raise StopIteration
        self.number += 1
        return mx.io.DataBatch([mx.nd.full((2, 1), self.number)], [mx.nd.ones(2)], pad=0)


describe("own", mx.io.PrefetchingIter(Counting(3)))
print(Counting(1).next())

# Pictures in a record file, as train_imagenet.py reads them.
record = os.path.join(folder, "pictures.rec")
file = mx.recordio.MXIndexedRecordIO(record.replace(".rec", ".idx"), record, "w")
for number in range(7):
    picture = np.random.randint(0, 256, (9, 12, 3)).astype("uint8")
    header = mx.recordio.IRHeader(0, number % 3, number, 0)
    file.write_idx(number, mx.recordio.pack_img(header, picture, quality=3, img_fmt=".png"))
file.close()
for part in range(2):
    train = mx.io.ImageRecordIter(
        path_imgrec=record,
        path_imgidx=record.replace(".rec", ".idx"),
        label_width=1,
        mean_r=123.68,
        mean_g=116.779,
        mean_b=103.939,
        data_name="data",
        label_name="softmax_label",
        data_shape=(3, 8, 8),
        batch_size=2,
        rand_crop=False,
        rand_mirror=False,
        resize=10,
        preprocess_threads=2,
        num_parts=2,
        part_index=part,
        verbose=False,
    )
    print("part", part, isinstance(train, mx.io.MXDataIter), train.batch_size, train.provide_data)
    for batch in train:
        print("  ", batch.label[0].asnumpy().tolist(), batch.pad, round(float(batch.data[0].mean().asscalar()), 3))
