"""SSD: anchors, target assignment with hard negative mining, losses, and detection."""

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(7)


def show(name, x):
    x = x.asnumpy() if isinstance(x, nd.NDArray) else np.asarray(x)
    print(
        name,
        x.shape,
        x.dtype,
        np.round(x.astype("float64").ravel()[:12], 4).tolist(),
        round(float(np.abs(x.astype("float64")).sum()), 3),
    )


num_classes = 3
features = [nd.array(rng.randn(2, 8, size, size)) for size in (8, 4, 2)]
sizes = [(0.2, 0.272), (0.37, 0.447), (0.54, 0.619)]
ratios = [(1, 2, 0.5)] * 3
weights_cls = [nd.array(rng.randn(4 * (num_classes + 1), 8, 3, 3) * 0.05) for _ in features]
weights_loc = [nd.array(rng.randn(4 * 4, 8, 3, 3) * 0.05) for _ in features]
for w in weights_cls + weights_loc:
    w.attach_grad()


def flatten_pred(pred):
    return nd.flatten(nd.transpose(pred, axes=(0, 2, 3, 1)))


def forward():
    anchors, classes, boxes = [], [], []
    for f, s, r, wc, wl in zip(features, sizes, ratios, weights_cls, weights_loc):
        anchors.append(nd.contrib.MultiBoxPrior(f, sizes=s, ratios=r, clip=False).reshape((1, -1, 4)))
        classes.append(
            flatten_pred(nd.Convolution(f, wc, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=wc.shape[0]))
        )
        boxes.append(
            flatten_pred(nd.Convolution(f, wl, no_bias=True, kernel=(3, 3), pad=(1, 1), num_filter=wl.shape[0]))
        )
    return (
        nd.concat(*anchors, dim=1),
        nd.concat(*classes, dim=1).reshape((0, -1, num_classes + 1)),
        nd.concat(*boxes, dim=1),
    )


labels = nd.array(
    [
        [[0, 0.1, 0.1, 0.45, 0.5], [2, 0.5, 0.4, 0.9, 0.95], [-1, -1, -1, -1, -1]],
        [[1, 0.25, 0.3, 0.75, 0.8], [-1, -1, -1, -1, -1], [-1, -1, -1, -1, -1]],
    ]
)


def focal_loss(gamma, x):
    return -((1 - x) ** gamma) * x.log()


def smooth_l1(x):
    return nd.smooth_l1(x, scalar=1.0)


for step in range(3):
    with autograd.record():
        anchors, cls_preds, box_preds = forward()
        with autograd.pause():
            box_target, box_mask, cls_target = nd.contrib.MultiBoxTarget(
                anchors,
                labels,
                cls_preds.transpose((0, 2, 1)),
                overlap_threshold=0.5,
                negative_mining_ratio=3,
                negative_mining_thresh=0.5,
                ignore_label=-1,
            )
        log_prob = cls_preds.log_softmax(axis=-1)
        keep = cls_target >= 0
        cls_loss = -(log_prob.pick(cls_target.clip(0, num_classes), axis=-1) * keep).sum() / keep.sum()
        box_loss = smooth_l1((box_preds - box_target) * box_mask).sum() / box_mask.sum()
        loss = cls_loss + box_loss
    loss.backward()
    for w in weights_cls + weights_loc:
        nd.sgd_update(w, w.grad, lr=0.5, wd=1e-4, out=w)
    show("step %d" % step, loss)
show("anchors", anchors)
show("cls_target", cls_target)
show("box_target", box_target)
show("grad", weights_loc[1].grad)
prob = nd.softmax(cls_preds, axis=-1).transpose((0, 2, 1))
out = nd.contrib.MultiBoxDetection(prob, box_preds, anchors, nms_threshold=0.45, nms_topk=40, force_suppress=False)
kept = out.asnumpy()
show("detections", kept[kept[:, :, 0] >= 0][:10])
print((kept[:, :, 0] >= 0).sum(axis=1))
ids, scores, bboxes = [nd.slice_axis(out, axis=-1, begin=b, end=e) for b, e in ((0, 1), (1, 2), (2, 6))]
x = nd.concat(ids, scores, bboxes, dim=-1)
result = nd.contrib.box_nms(
    x, overlap_thresh=0.3, topk=20, id_index=0, score_index=1, coord_start=2, force_suppress=True, valid_thresh=0.01
)
show("nms", result.slice_axis(axis=1, begin=0, end=5))
iou = nd.contrib.box_iou(bboxes[0, :4], labels[0, :2, 1:], format="corner")
show("iou", iou)
rows, cols = nd.contrib.bipartite_matching(iou, threshold=1e-12)
show("match", rows)
show("match", cols)
for row in labels[0]:
    if row[0].asscalar() < 0:
        continue
    print("label", int(row[0].asscalar()), ["%.2f" % v for v in row[1:5].asnumpy().tolist()])
