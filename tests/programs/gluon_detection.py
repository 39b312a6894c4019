"""Detection in the way of computer vision toolkits: SSD over features of a symbolic net, YOLO heads, targets, losses."""

import os
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.contrib.nn import HybridConcurrent, Identity
from mxnet.gluon.loss import Loss, _apply_weighting, _reshape_like

rng = np.random.RandomState(0)


def fill(net, scale=None):
    for name, p in net.collect_params().items():
        if name.endswith("weight"):
            s = scale or (1.5 / np.prod(p.shape[1:])) ** 0.5
            p.set_data(nd.array(rng.randn(*p.shape) * s))


def _conv2d(channel, kernel, padding, stride, norm_layer=nn.BatchNorm, norm_kwargs=None):
    cell = nn.HybridSequential(prefix="")
    cell.add(nn.Conv2D(channel, kernel_size=kernel, strides=stride, padding=padding, use_bias=False))
    cell.add(norm_layer(epsilon=1e-5, momentum=0.9, **({} if norm_kwargs is None else norm_kwargs)))
    cell.add(nn.LeakyReLU(0.1))
    return cell


class BasicBlockV1(gluon.HybridBlock):
    def __init__(self, channels, stride, downsample=False, in_channels=0, last_gamma=False, **kwargs):
        super(BasicBlockV1, self).__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=in_channels))
        self.body.add(nn.BatchNorm())
        self.body.add(nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, 3, 1, 1, use_bias=False, in_channels=channels))
        self.body.add(nn.BatchNorm(gamma_initializer="zeros") if last_gamma else nn.BatchNorm())
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels))
            self.downsample.add(nn.BatchNorm())
        else:
            self.downsample = None

    def hybrid_forward(self, F, x):
        residual = x
        x = self.body(x)
        if self.downsample:
            residual = self.downsample(residual)
        return F.Activation(residual + x, act_type="relu")


class ResNet(gluon.HybridBlock):
    def __init__(self, layers, channels, classes=10, **kwargs):
        super(ResNet, self).__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels[0], 3, 1, 1, use_bias=False))
            self.features.add(nn.BatchNorm())
            self.features.add(nn.Activation("relu"))
            for i, num_layer in enumerate(layers):
                layer = nn.HybridSequential(prefix="stage%d_" % (i + 1))
                with layer.name_scope():
                    layer.add(BasicBlockV1(channels[i + 1], 2, True, in_channels=channels[i], prefix=""))
                    for _ in range(num_layer - 1):
                        layer.add(BasicBlockV1(channels[i + 1], 1, False, in_channels=channels[i + 1], prefix=""))
                self.features.add(layer)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


class FeatureExpander(gluon.SymbolBlock):
    """Features of a network by the names of their outputs, with extra layers on top."""

    def __init__(self, network, outputs, num_filters):
        inputs = mx.sym.var("data")
        y = network(inputs)
        internals = y.get_internals()
        outs = [internals[o if o.endswith("_output") else o + "_output"] for o in outputs]
        weight_init = mx.init.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        y = outs[-1]
        for i, f in enumerate(num_filters):
            y = mx.sym.Convolution(
                y,
                num_filter=f,
                kernel=(3, 3),
                stride=(2, 2),
                pad=(1, 1),
                name="expand_conv%d" % i,
                attr={"__init__": weight_init.dumps()},
            )
            y = mx.sym.Activation(y, act_type="relu", name="expand_relu%d" % i)
            outs.append(y)
        params = network.collect_params()
        super(FeatureExpander, self).__init__(outs, inputs, params)


class ConvPredictor(gluon.HybridBlock):
    def __init__(self, num_channel, kernel=(3, 3), pad=(1, 1), **kwargs):
        super(ConvPredictor, self).__init__(**kwargs)
        with self.name_scope():
            self.predictor = nn.Conv2D(
                num_channel,
                kernel,
                padding=pad,
                weight_initializer=mx.init.Xavier(magnitude=2),
                bias_initializer="zeros",
            )

    def hybrid_forward(self, F, x):
        return self.predictor(x)


class NormalizedBoxCenterDecoder(gluon.HybridBlock):
    def __init__(self, stds=(0.1, 0.1, 0.2, 0.2), clip=None):
        super(NormalizedBoxCenterDecoder, self).__init__()
        self._stds = stds
        self._clip = clip

    def hybrid_forward(self, F, x, anchors):
        a = F.split(anchors, axis=-1, num_outputs=4)
        p = F.split(x, axis=-1, num_outputs=4)
        ox = F.broadcast_add(F.broadcast_mul(p[0] * self._stds[0], a[2]), a[0])
        oy = F.broadcast_add(F.broadcast_mul(p[1] * self._stds[1], a[3]), a[1])
        dw, dh = F.exp(p[2] * self._stds[2]), F.exp(p[3] * self._stds[3])
        ow, oh = F.broadcast_mul(dw, a[2]) / 2, F.broadcast_mul(dh, a[3]) / 2
        return F.concat(ox - ow, oy - oh, ox + ow, oy + oh, dim=-1)


class AnchorGenerator(gluon.HybridBlock):
    def __init__(self, index, size, step, alloc_size=(16, 16), **kwargs):
        super(AnchorGenerator, self).__init__(**kwargs)
        boxes = []
        for i in range(alloc_size[0]):
            for j in range(alloc_size[1]):
                for ratio in (1, 2):
                    boxes.append([(j + 0.5) * step, (i + 0.5) * step, size * ratio**0.5, size / ratio**0.5])
        anchors = np.array(boxes).reshape(1, 1, alloc_size[0], alloc_size[1], -1)
        self.anchors = self.params.get_constant("anchor_%d" % index, anchors)

    def hybrid_forward(self, F, x, anchors):
        a = F.slice_like(anchors, x * 0, axes=(2, 3))
        return a.reshape((1, -1, 4))


class SSD(gluon.HybridBlock):
    def __init__(self, network, features, num_filters, classes=2, nms_thresh=0.45, post_nms=5, **kwargs):
        super(SSD, self).__init__(**kwargs)
        self.classes, self.nms_thresh, self.post_nms = classes, nms_thresh, post_nms
        with self.name_scope():
            self.features = FeatureExpander(network, features, num_filters)
            self.class_predictors = nn.HybridSequential()
            self.box_predictors = nn.HybridSequential()
            self.anchor_generators = nn.HybridSequential()
            for i, step in enumerate((4, 8, 16)):
                self.anchor_generators.add(AnchorGenerator(i, step * 2, step))
                self.class_predictors.add(ConvPredictor(2 * (classes + 1)))
                self.box_predictors.add(ConvPredictor(2 * 4))
            self.bbox_decoder = NormalizedBoxCenterDecoder()

    def hybrid_forward(self, F, x):
        features = self.features(x)
        cls_preds = [
            F.flatten(F.transpose(cp(feat), (0, 2, 3, 1))) for feat, cp in zip(features, self.class_predictors)
        ]
        box_preds = [F.flatten(F.transpose(bp(feat), (0, 2, 3, 1))) for feat, bp in zip(features, self.box_predictors)]
        anchors = [F.reshape(ag(feat), shape=(1, -1)) for feat, ag in zip(features, self.anchor_generators)]
        cls_preds = F.concat(*cls_preds, dim=1).reshape((0, -1, self.classes + 1))
        box_preds = F.concat(*box_preds, dim=1).reshape((0, -1, 4))
        anchors = F.concat(*anchors, dim=1).reshape((1, -1, 4))
        if autograd.is_training():
            return [cls_preds, box_preds, anchors]
        bboxes = self.bbox_decoder(box_preds, anchors)
        scores = F.slice_axis(F.softmax(cls_preds, axis=-1), axis=-1, begin=1, end=None)
        results = []
        for i in range(self.classes):
            cls_id = F.ones_like(F.slice_axis(scores, axis=-1, begin=i, end=i + 1)) * i
            score = F.slice_axis(scores, axis=-1, begin=i, end=i + 1)
            results.append(F.concat(cls_id, score, bboxes, dim=-1))
        result = F.concat(*results, dim=1)
        result = F.contrib.box_nms(
            result,
            overlap_thresh=self.nms_thresh,
            topk=40,
            valid_thresh=0.01,
            id_index=0,
            score_index=1,
            coord_start=2,
            force_suppress=False,
        )
        result = result.slice_axis(axis=1, begin=0, end=self.post_nms)
        return F.slice_axis(result, 2, 0, 1), F.slice_axis(result, 2, 1, 2), F.slice_axis(result, 2, 2, 6)


class FocalLoss(Loss):
    def __init__(
        self,
        axis=-1,
        alpha=0.25,
        gamma=2,
        sparse_label=True,
        from_logits=False,
        batch_axis=0,
        weight=None,
        num_class=None,
        eps=1e-12,
        **kwargs,
    ):
        super(FocalLoss, self).__init__(weight, batch_axis, **kwargs)
        self._axis, self._alpha, self._gamma = axis, alpha, gamma
        self._sparse_label, self._from_logits, self._num_class, self._eps = sparse_label, from_logits, num_class, eps

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = F.sigmoid(pred)
        if self._sparse_label:
            one_hot = F.one_hot(label, self._num_class)
        else:
            one_hot = label > 0
        pt = F.where(one_hot, pred, 1 - pred)
        t = F.ones_like(one_hot)
        alpha = F.where(one_hot, self._alpha * t, (1 - self._alpha) * t)
        loss = -alpha * ((1 - pt) ** self._gamma) * F.log(F.minimum(pt + self._eps, 1))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class MultiBoxLoss(gluon.Block):
    def __init__(self, negative_mining_ratio=3, rho=1.0, lambd=1.0, **kwargs):
        super(MultiBoxLoss, self).__init__(**kwargs)
        self._negative_mining_ratio = max(0, negative_mining_ratio)
        self._rho, self._lambd = rho, lambd

    def forward(self, cls_pred, box_pred, cls_target, box_target):
        cls_pred, box_pred, cls_target, box_target = [
            self._as_list(x) for x in (cls_pred, box_pred, cls_target, box_target)
        ]
        num_pos = []
        for cp, bp, ct, bt in zip(*[cls_pred, box_pred, cls_target, box_target]):
            num_pos.append((ct > 0).sum())
        num_pos_all = sum([p.asscalar() for p in num_pos])
        cls_losses, box_losses, sum_losses = [], [], []
        for cp, bp, ct, bt in zip(*[cls_pred, box_pred, cls_target, box_target]):
            pred = nd.log_softmax(cp, axis=-1)
            pos = ct > 0
            cls_loss = -nd.pick(pred, ct, axis=-1, keepdims=False)
            rank = (cls_loss * (pos - 1)).argsort(axis=1).argsort(axis=1)
            hard_negative = rank < (pos.sum(axis=1) * self._negative_mining_ratio).expand_dims(-1)
            cls_loss = nd.where((pos + hard_negative) > 0, cls_loss, nd.zeros_like(cls_loss))
            cls_losses.append(nd.sum(cls_loss, axis=0, exclude=True) / max(1.0, num_pos_all))
            bp = _reshape_like(nd, bp, bt)
            box_loss = nd.abs(bp - bt)
            box_loss = nd.where(
                box_loss > self._rho, box_loss - 0.5 * self._rho, (0.5 / self._rho) * nd.square(box_loss)
            )
            box_loss = box_loss * pos.expand_dims(axis=-1)
            box_losses.append(nd.sum(box_loss, axis=0, exclude=True) / max(1.0, num_pos_all))
            sum_losses.append(cls_losses[-1] + self._lambd * box_losses[-1])
        return sum_losses, cls_losses, box_losses

    @staticmethod
    def _as_list(x):
        return x if isinstance(x, (list, tuple)) else [x]


ctx = [mx.cpu(0), mx.cpu(1)]
base = ResNet([1, 1], [4, 6, 8], prefix="resnet_")
base.initialize()
base(nd.zeros((1, 3, 32, 32)))
print(sorted(base.collect_params())[:4], len(list(base.collect_params().keys())))
names = [n for n in base(mx.sym.var("data")).get_internals().list_outputs() if "activation" in n or "relu" in n]
print(names)
outputs = [n for n in names if "stage" in n][1::2]


def make():
    net = SSD(base, outputs, [8], prefix="ssd_")
    net.initialize(ctx=ctx)
    net.collect_params().reset_ctx(ctx)
    for g in net.anchor_generators:
        g.anchors.reset_ctx(ctx)
    return net


net = make()
x = nd.array(rng.rand(4, 3, 32, 32))
net(x[:1])
fill(net)
gt_ids = nd.array(rng.randint(1, 3, (4, 1)))
with autograd.record():
    cls_preds, box_preds, anchors = net(x[:1])
autograd.backward([cls_preds, box_preds])
print(cls_preds.shape, box_preds.shape, anchors.shape, anchors[0, :3].asnumpy().tolist())
corner = nd.contrib.box_iou(
    nd.concat(anchors[0, :, :2] - anchors[0, :, 2:] / 2, anchors[0, :, :2] + anchors[0, :, 2:] / 2, dim=1),
    nd.array([[4, 4, 20, 16], [14, 12, 30, 30]]),
    format="corner",
)
ids, match = corner.argmax(axis=1), corner.max(axis=1)
cls_target = nd.tile(nd.where(match > 0.4, ids + 1, nd.zeros_like(ids)).expand_dims(0), (4, 1))
box_target = nd.random.normal(shape=(4, anchors.shape[1], 4)) * 0 + nd.arange(4).reshape((1, 1, 4)) / 10
print("matched", (cls_target[0] > 0).sum().asscalar())

scheduler = mx.lr_scheduler.MultiFactorScheduler(step=[2, 4], factor=0.5, base_lr=0.002)
trainer = gluon.Trainer(
    net.collect_params(), "sgd", {"learning_rate": 0.002, "wd": 0.0005, "momentum": 0.9, "lr_scheduler": scheduler}
)
mbox_loss = MultiBoxLoss()
ce_metric, smoothl1_metric = mx.metric.Loss("CrossEntropy"), mx.metric.Loss("SmoothL1")
net.hybridize(static_alloc=True, static_shape=True)
for step in range(5):
    data = gluon.utils.split_and_load(x, ctx_list=ctx, batch_axis=0)
    cls_targets = gluon.utils.split_and_load(cls_target, ctx_list=ctx, batch_axis=0)
    box_targets = gluon.utils.split_and_load(box_target, ctx_list=ctx, batch_axis=0)
    with autograd.record():
        cls_preds, box_preds = [], []
        for d in data:
            cls_pred, box_pred, _ = net(d)
            cls_preds.append(cls_pred)
            box_preds.append(box_pred)
        sum_loss, cls_loss, box_loss = mbox_loss(cls_preds, box_preds, cls_targets, box_targets)
        autograd.backward(sum_loss)
    nd.waitall()  # statistics have moved
    trainer.step(1)
    ce_metric.update(0, [l * 4 for l in cls_loss])
    smoothl1_metric.update(0, [l * 4 for l in box_loss])
    name1, loss1 = ce_metric.get()
    name2, loss2 = smoothl1_metric.get()
    print("[Step {}] lr={:.4f}, {}={:.3f}, {}={:.3f}".format(step, trainer.learning_rate, name1, loss1, name2, loss2))
mx.nd.waitall()
for name, p in list(net.collect_params(".*running.*").items())[:4]:
    print("  ", name, [float(d.sum().asscalar()).__round__(3) for d in p.list_data()])
folder = tempfile.mkdtemp()
path = os.path.join(folder, "ssd.params")
net.save_parameters(path)
net2 = make()
net2.load_parameters(path, ctx=ctx)
ids, scores, bboxes = net2(x[:1].as_in_context(ctx[1]))
print(ids.shape, scores.shape, bboxes.shape, ids.context)
print("best", ids[0].asnumpy().ravel(), scores[0].asnumpy().ravel().round(3))
print(bboxes[0].asnumpy().round(1))


# YOLO heads
class YOLOOutput(gluon.HybridBlock):
    def __init__(self, index, num_class, anchors, stride, alloc_size=(8, 8), **kwargs):
        super(YOLOOutput, self).__init__(**kwargs)
        anchors = np.array(anchors).astype("float32")
        self._classes, self._num_pred, self._num_anchors, self._stride = (
            num_class,
            5 + num_class,
            anchors.size // 2,
            stride,
        )
        with self.name_scope():
            self.prediction = nn.Conv2D(self._num_pred * self._num_anchors, kernel_size=1)
            self.anchors = self.params.get_constant("anchor_%d" % index, anchors.reshape(1, 1, -1, 2))
            grid_y, grid_x = np.mgrid[: alloc_size[0], : alloc_size[1]]
            offsets = np.concatenate((grid_x[:, :, np.newaxis], grid_y[:, :, np.newaxis]), axis=-1)
            self.offsets = self.params.get_constant("offset_%d" % index, offsets[np.newaxis, np.newaxis])

    def hybrid_forward(self, F, x, anchors, offsets):
        pred = self.prediction(x).reshape((0, self._num_anchors * self._num_pred, -1))
        pred = pred.transpose(axes=(0, 2, 1)).reshape((0, -1, self._num_anchors, self._num_pred))
        raw_box_centers = pred.slice_axis(axis=-1, begin=0, end=2)
        raw_box_scales = pred.slice_axis(axis=-1, begin=2, end=4)
        objness = pred.slice_axis(axis=-1, begin=4, end=5)
        class_pred = pred.slice_axis(axis=-1, begin=5, end=None)
        offsets = F.slice_like(offsets, x * 0, axes=(2, 3)).reshape((1, -1, 1, 2))
        box_centers = F.broadcast_add(F.sigmoid(raw_box_centers), offsets) * self._stride
        box_scales = F.broadcast_mul(F.exp(raw_box_scales), anchors)
        confidence = F.sigmoid(objness)
        class_score = F.broadcast_mul(F.sigmoid(class_pred), confidence)
        wh = box_scales / 2.0
        bbox = F.concat(box_centers - wh, box_centers + wh, dim=-1)
        if autograd.is_training():
            return bbox.reshape((0, -1, 4)), raw_box_centers, raw_box_scales, objness, class_pred, anchors, offsets
        bboxes = F.tile(bbox, reps=(self._classes, 1, 1, 1, 1))
        scores = F.transpose(class_score, axes=(3, 0, 1, 2)).expand_dims(axis=-1)
        ids = F.broadcast_add(scores * 0, F.arange(0, self._classes).reshape((0, 1, 1, 1, 1)))
        detections = F.concat(ids, scores, bboxes, dim=-1)
        return F.reshape(detections.transpose(axes=(1, 0, 2, 3, 4)), (0, -1, 6))


head = nn.HybridSequential(prefix="yolo_")
with head.name_scope():
    head.add(
        _conv2d(8, 3, 1, 2), _conv2d(8, 3, 1, 2, norm_kwargs={"scale": False}), YOLOOutput(0, 3, [10, 13, 16, 30], 4)
    )
head.initialize()
head(x)
fill(head)
print([k for k in head.collect_params() if "anchor" in k or "offset" in k])
plain = head(x)
head.hybridize()
hybrid = head(x)
print(plain.shape, float(nd.abs(plain - hybrid).max().asscalar()) < 1e-4)
print(plain[0, :2].asnumpy().round(3))
print(
    nd.contrib.box_nms(
        plain[:1], overlap_thresh=0.5, valid_thresh=0.1, topk=20, id_index=0, score_index=1, coord_start=2
    )[0, :3]
    .asnumpy()
    .round(2)
)

# Branches side by side, with lambdas
inception = HybridConcurrent(axis=1, prefix="mixed_")
with inception.name_scope():
    inception.add(
        nn.Conv2D(2, 1),
        nn.HybridLambda(lambda F, x: F.max(x, axis=1, keepdims=True)),
        Identity(),
        nn.HybridLambda("relu"),
    )
branch = HybridConcurrent(axis=1)
branch.add(_conv2d(3, (1, 3), (0, 1), 1), nn.AvgPool2D(3, 1, 1))
inception.add(branch)
inception.initialize()
inception(x)
fill(inception)
out = inception(x)
inception.hybridize()
print(
    inception(x).shape,
    float(nd.abs(inception(x) - out).max().asscalar()) < 1e-4,
    float(out.sum().asscalar()).__round__(1),
)
print(inception)
focal = FocalLoss(num_class=3, weight=2.0)
pred, label = nd.array(rng.randn(4, 5, 3)), nd.array(rng.randint(0, 3, (4, 5)))
print(focal(pred, label).asnumpy(), focal(pred, label, nd.array([[[1]], [[0]], [[2]], [[1]]])).asnumpy())
focal.hybridize()
print(focal(pred, label).asnumpy())
