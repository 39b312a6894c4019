"""Image augmentation by nd.image, as in vision transforms."""

import mxnet as mx
import numpy as np
from mxnet import nd

rng = np.random.RandomState(4)
img = nd.array(rng.randint(0, 256, (10, 14, 3)), dtype="uint8")
t = nd.image.to_tensor(img)
print(t.shape, t.dtype, np.round(t.asnumpy().ravel()[:5], 4))
n = nd.image.normalize(t, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
print(n.shape, np.round(n.asnumpy().ravel()[:5], 4), "%.3f" % n.sum().asscalar())
c = nd.image.crop(img, 2, 1, 6, 5)
print(c.shape, c.dtype, c.asnumpy().sum())
for size in ((7, 5), 20, (28, 20)):
    r = nd.image.resize(img, size)
    print(r.shape, r.dtype, int(r.asnumpy().astype(int).sum()))
print(nd.image.resize(img, 5, keep_ratio=True, interp=0).shape)
print(nd.image.flip_left_right(img)[0, 0].asnumpy(), nd.image.flip_top_bottom(img)[0, 0].asnumpy())
batch = nd.stack(img, img)
print(
    batch.shape,
    nd.image.to_tensor(batch).shape,
    nd.image.normalize(nd.image.to_tensor(batch), mean=0.5, std=0.25).mean().asscalar().round(4),
)
x = t.copy()
x.attach_grad()
with mx.autograd.record():
    y = nd.image.normalize(x, mean=(0.4, 0.4, 0.4), std=(0.2, 0.3, 0.4)).sum()
y.backward()
print(np.round(x.grad[:, 0, 0].asnumpy(), 4))
mx.random.seed(0)
for f in (nd.image.random_flip_left_right, nd.image.random_flip_top_bottom):
    print(f(img).shape)
b = nd.image.random_brightness(img.astype("float32"), 0.9, 1.1)
print(b.shape, b.dtype, bool((nd.abs(b - img.astype("float32")) <= 0.11 * img.astype("float32") + 1).min().asscalar()))
for f, a in (
    (nd.image.random_contrast, (0.9, 1.1)),
    (nd.image.random_saturation, (0.9, 1.1)),
    (nd.image.random_hue, (0.9, 1.1)),
    (nd.image.random_color_jitter, (0.1, 0.1, 0.1, 0.1)),
    (nd.image.random_lighting, (0.1,)),
):
    print(f(img.astype("float32"), *a).shape)
print(np.round(nd.image.adjust_lighting(img.astype("float32"), (0.1, 0.2, -0.1))[0, 0].asnumpy(), 3))
up = nd.contrib.BilinearResize2D(t.expand_dims(0), height=20, width=21)
print(up.shape, "%.3f" % up.sum().asscalar())
print(
    "%.3f"
    % nd.contrib.BilinearResize2D(t.expand_dims(0), scale_height=0.5, scale_width=2, mode="odd_scale").sum().asscalar()
)
print(nd.contrib.AdaptiveAvgPooling2D(t.expand_dims(0), output_size=(3, 4)).asnumpy().round(4)[0, 0].tolist())
print(nd.UpSampling(t.expand_dims(0), scale=2, sample_type="nearest").shape)
print(nd.pad(t.expand_dims(0), mode="reflect", pad_width=(0, 0, 0, 0, 2, 2, 1, 1)).sum().asscalar().round(2))
