"""Faster R-CNN heads: proposals, ROIAlign, ROIPooling, sampling, decoding, as GluonCV writes them."""

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(3)


def show(name, x):
    x = x.asnumpy().astype("float64")
    print(name, x.shape, np.round(x.ravel()[:8], 4).tolist(), round(float(np.abs(x).sum()), 2))


class BBoxCenterToCorner(object):
    def __init__(self, axis=-1):
        self._axis = axis

    def __call__(self, F, x):
        x, y, w, h = F.split(x, axis=self._axis, num_outputs=4)
        hw, hh = w / 2, h / 2
        return x - hw, y - hh, x + hw, y + hh


class NormalizedBoxCenterDecoder(object):
    def __init__(self, stds=(0.1, 0.1, 0.2, 0.2), clip=None):
        self._stds, self._clip = stds, clip

    def __call__(self, F, x, anchors):
        ax, ay, aw, ah = F.split(anchors, axis=-1, num_outputs=4)
        dx, dy, dw, dh = F.split(x, axis=-1, num_outputs=4)
        ox = F.broadcast_add(F.broadcast_mul(dx * self._stds[0], aw), ax)
        oy = F.broadcast_add(F.broadcast_mul(dy * self._stds[1], ah), ay)
        dw = F.minimum(dw * self._stds[2], self._clip)
        dh = F.minimum(dh * self._stds[3], self._clip)
        ow = F.broadcast_mul(F.exp(dw), aw) * 0.5
        oh = F.broadcast_mul(F.exp(dh), ah) * 0.5
        return F.concat(ox - ow, oy - oh, ox + ow, oy + oh, dim=-1)


feat = nd.array(rng.randn(2, 6, 16, 16))
cls = nd.array(rng.rand(2, 2 * 3, 16, 16))
loc = nd.array(rng.randn(2, 4 * 3, 16, 16) * 0.1)
info = nd.array([[128, 128, 1.0], [120, 128, 1.0]])
props = nd.contrib.MultiProposal(
    cls,
    loc,
    info,
    rpn_pre_nms_top_n=60,
    rpn_post_nms_top_n=12,
    threshold=0.7,
    rpn_min_size=8,
    scales=(4,),
    ratios=(0.5, 1, 2),
    feature_stride=8,
)
show("proposals", props)
feat.attach_grad()
with autograd.record():
    aligned = nd.contrib.ROIAlign(feat, props, (7, 7), 0.125, 2)
    pooled = nd.ROIPooling(feat, props, (7, 7), 0.125)
    loss = (aligned * aligned).mean() + nd.sum(pooled) * 1e-3
loss.backward()
show("align", aligned)
show("pool", pooled)
show("loss", loss)
show("grad", feat.grad)
w = nd.array(rng.randn(5 * 4, 6 * 49) * 0.1)
deltas = nd.FullyConnected(aligned, w, None, num_hidden=20, no_bias=True).reshape((-1, 5, 4))
rois = props.slice_axis(axis=-1, begin=1, end=5)
xmin, ymin, xmax, ymax = rois.split(axis=-1, num_outputs=4)
center = nd.concat((xmin + xmax) / 2, (ymin + ymax) / 2, xmax - xmin, ymax - ymin, dim=-1)
boxes = NormalizedBoxCenterDecoder(clip=4.42)(nd, deltas.transpose((1, 0, 2)), center.expand_dims(0))
show("boxes", boxes)
scores = nd.softmax(nd.array(rng.randn(5, 24)), axis=0)
ids = nd.broadcast_mul(nd.arange(5).reshape((5, 1)), nd.ones((1, 24)))
res = nd.concat(ids.expand_dims(-1), scores.expand_dims(-1), boxes, dim=-1)
res = nd.contrib.box_nms(
    res, overlap_thresh=0.3, valid_thresh=0.05, topk=-1, id_index=0, score_index=1, coord_start=2, force_suppress=False
)
show("detected", res)
clipped = nd.broadcast_minimum(nd.maximum(boxes, 0.0), nd.array([127, 119, 127, 119]))
show("clipped", clipped)
samples, matches = nd.contrib.box_encode(
    nd.array(rng.randint(-1, 2, (1, 6))),
    nd.array(rng.randint(0, 2, (1, 6))),
    rois[:6].expand_dims(0),
    nd.array([[[1, 2, 60, 60], [30, 20, 90, 100]]]),
    nd.array([0.0, 0.0, 0.0, 0.0]),
    nd.array([0.1, 0.1, 0.2, 0.2]),
)
show("encode", samples)
show("mask", matches)
dec = nd.contrib.box_decode(samples, center[:6].expand_dims(0), 0.1, 0.1, 0.2, 0.2, clip=-1, format="center")
show("decode", dec)
print("box_encode" in nd.contrib.__dict__)
ind = nd.argsort(res[:, :, 1].reshape((-1,)), is_ascend=False)[:5]
show("top", res.reshape((-1, 6)).take(ind))
lvl = nd.floor(4 + nd.log2(nd.sqrt((xmax - xmin + 1) * (ymax - ymin + 1)) / 224.0 + 1e-6))
lvl = nd.clip(lvl, 2, 5)
show("levels", lvl.squeeze(axis=-1))
m = [nd.where(lvl.squeeze() == k, nd.ones(24), nd.zeros(24)) for k in (2, 3)]
show("m", nd.stack(*m, axis=0))
show(
    "ps",
    nd.contrib.PSROIPooling(
        nd.array(rng.randn(2, 8, 16, 16)), props, spatial_scale=0.125, output_dim=2, pooled_size=2, group_size=2
    ),
)
