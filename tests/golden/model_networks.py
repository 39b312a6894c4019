"""The networks of `models/`: what people bring in files, in small, built from public definitions.

``NETWORKS`` maps a name to (function that returns a symbol, shapes of the inputs, whether it is trained). The functions
are written in the manner of the programs that made such files, and run under MXNet and the library alike.
"""

import zlib
from typing import Any

import numpy as np

SCALES = ((0.3, 0.4), (0.6, 0.75))
RATIOS = (1.0, 2.0, 0.5)


# -- classification --------------------------------------------------------------------------------------------------


def conv_bn(sym: Any, data: Any, channels: int, name: str, kernel: int = 3, stride: int = 1, **keywords: Any) -> Any:
    """Returns a convolution without bias, normalized and rectified."""
    data = sym.Convolution(
        data=data,
        num_filter=channels,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(kernel // 2, kernel // 2),
        no_bias=True,
        workspace=256,
        name=name,
        **keywords,
    )
    data = sym.BatchNorm(data=data, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn")
    return sym.Activation(data=data, act_type="relu", name=f"{name}_relu")


def resnet(mx: Any) -> Any:
    """Returns a residual network whose normalization comes before its convolutions."""
    sym = mx.sym

    def unit(data: Any, channels: int, stride: int, match: bool, name: str) -> Any:
        bn1 = sym.BatchNorm(data=data, fix_gamma=False, eps=2e-5, momentum=0.9, name=f"{name}_bn1")
        act1 = sym.Activation(data=bn1, act_type="relu", name=f"{name}_relu1")
        inner = conv_bn(sym, act1, channels, f"{name}_conv1", stride=stride)
        inner = sym.Convolution(
            data=inner, num_filter=channels, kernel=(3, 3), pad=(1, 1), no_bias=True, name=f"{name}_conv2"
        )
        shortcut = data
        if not match:
            shortcut = sym.Convolution(
                data=act1, num_filter=channels, kernel=(1, 1), stride=(stride, stride), no_bias=True, name=f"{name}_sc"
            )
        shortcut._set_attr(mirror_stage="True")
        return inner + shortcut

    net = sym.Variable(name="data")
    net = sym.BatchNorm(data=net, fix_gamma=True, eps=2e-5, momentum=0.9, name="bn_data")
    net = conv_bn(sym, net, 4, "conv0")
    net = sym.Pooling(data=net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="pool0")
    net = unit(net, 4, 1, True, "stage1_unit1")
    net = unit(net, 6, 2, False, "stage2_unit1")
    net = sym.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn1")
    net = sym.Activation(data=net, act_type="relu", name="relu1")
    net = sym.Pooling(data=net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    net = sym.FullyConnected(data=sym.Flatten(data=net), num_hidden=5, name="fc1")
    return sym.SoftmaxOutput(data=net, name="softmax")


def inception_bn(mx: Any) -> Any:
    """Returns two Inception blocks with batch normalization, the second of which halves the resolution."""
    sym = mx.sym

    def factory(data: Any, channels: int, kernel: Any, name: str, stride: Any = (1, 1), pad: Any = (0, 0)) -> Any:
        conv = sym.Convolution(
            data=data, num_filter=channels, kernel=kernel, stride=stride, pad=pad, name=f"conv_{name}"
        )
        norm = sym.BatchNorm(data=conv, name=f"bn_{name}")
        return sym.Activation(data=norm, act_type="relu", name=f"relu_{name}")

    data = sym.Variable(name="data")
    net = factory(data, 4, (3, 3), "1", pad=(1, 1))
    net = sym.Pooling(data=net, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full", name="pool1")
    net = sym.LRN(data=net, alpha=0.0001, beta=0.75, knorm=2, nsize=5, name="lrn1")
    plain = factory(net, 3, (1, 1), "3a_1x1")
    three = factory(factory(net, 2, (1, 1), "3a_3x3r"), 3, (3, 3), "3a_3x3", pad=(1, 1))
    double = factory(net, 2, (1, 1), "3a_d3x3r")
    double = factory(factory(double, 3, (3, 3), "3a_d3x3_0", pad=(1, 1)), 3, (3, 3), "3a_d3x3_1", pad=(1, 1))
    pooled = sym.Pooling(data=net, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="avg", name="avg_pool_3a")
    net = sym.Concat(plain, three, double, factory(pooled, 2, (1, 1), "3a_proj"), name="ch_concat_3a")
    left = factory(factory(net, 3, (1, 1), "3c_3x3r"), 4, (3, 3), "3c_3x3", stride=(2, 2), pad=(1, 1))
    right = sym.Pooling(data=net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", name="max_pool_3c")
    net = sym.Concat(*[left, right], name="ch_concat_3c")
    net = sym.Pooling(data=net, kernel=(4, 4), stride=(1, 1), pool_type="avg", name="global_pool")
    net = sym.FullyConnected(data=sym.Flatten(data=net, name="flatten"), num_hidden=5, name="fc1")
    return sym.SoftmaxOutput(data=net, name="softmax")


def mobilenet(mx: Any) -> Any:
    """Returns depthwise separable convolutions, a linear bottleneck with ReLU6, and squeeze and excitation."""
    sym = mx.sym
    net = conv_bn(sym, sym.Variable("data"), 4, "conv1", stride=2)
    net = conv_bn(sym, net, 4, "conv2_dw", num_group=4)
    net = conv_bn(sym, net, 6, "conv2_sep", kernel=1)
    wide = sym.Convolution(net, num_filter=12, kernel=(1, 1), no_bias=True, name="expand")
    wide = sym.clip(sym.BatchNorm(wide, fix_gamma=False, name="expand_bn"), a_min=0, a_max=6, name="relu6")
    wide = sym.Convolution(
        wide, num_filter=12, kernel=(3, 3), pad=(1, 1), num_group=12, no_bias=True, cudnn_tune="off", name="dw"
    )
    squeezed = sym.Pooling(wide, global_pool=True, kernel=(1, 1), pool_type="avg", name="squeeze")
    squeezed = sym.Convolution(squeezed, num_filter=3, kernel=(1, 1), name="se_reduce")
    squeezed = sym.Convolution(sym.relu(squeezed), num_filter=12, kernel=(1, 1), name="se_expand")
    wide = sym.broadcast_mul(wide, sym.Activation(squeezed, act_type="sigmoid", name="gate"))
    narrow = sym.Convolution(wide, num_filter=6, kernel=(1, 1), no_bias=True, name="project")
    net = sym.elemwise_add(net, sym.BatchNorm(narrow, fix_gamma=False, name="project_bn"), name="added")
    net = sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool")
    net = sym.Convolution(net, num_filter=5, kernel=(1, 1), name="fc7")
    return sym.SoftmaxOutput(sym.Flatten(net), name="softmax")


def arcface(mx: Any) -> Any:
    """Returns a network for faces: PReLU, an embedding normalized with gamma fixed, and the additive angular margin."""
    sym = mx.sym
    margin, scale, classes = 0.5, 64.0, 6
    data = sym.Variable(name="data")
    data = sym.identity(data=data, name="id")
    data = (data - 127.5) * 0.0078125
    net = sym.Convolution(data=data, num_filter=4, kernel=(3, 3), pad=(1, 1), no_bias=True, name="conv0")
    net = sym.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn0")
    net = sym.LeakyReLU(data=net, act_type="prelu", name="relu0")
    inner = sym.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name="unit1_bn1")
    inner = sym.Convolution(data=inner, num_filter=6, kernel=(3, 3), pad=(1, 1), no_bias=True, name="unit1_conv1")
    inner = sym.LeakyReLU(data=inner, act_type="prelu", name="unit1_relu1")
    inner = sym.Convolution(
        data=inner, num_filter=6, kernel=(3, 3), stride=(2, 2), pad=(1, 1), no_bias=True, name="unit1_conv2"
    )
    short = sym.Convolution(data=net, num_filter=6, kernel=(1, 1), stride=(2, 2), no_bias=True, name="unit1_sc")
    net = inner + sym.BatchNorm(data=short, fix_gamma=False, eps=2e-5, momentum=0.9, name="unit1_sc_bn")
    net = sym.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn1")
    net = sym.Dropout(data=net, p=0.0, name="dropout0")
    net = sym.FullyConnected(data=net, num_hidden=8, name="pre_fc1")
    embedding = sym.BatchNorm(data=net, fix_gamma=True, eps=2e-5, momentum=0.9, name="fc1")

    label = sym.Variable("softmax_label")
    weight = sym.Variable("fc7_weight", shape=(classes, 8), lr_mult=1.0, wd_mult=1.0)
    weight = sym.L2Normalization(weight, mode="instance")
    normed = sym.L2Normalization(embedding, mode="instance", name="fc1n") * scale
    fc7 = sym.FullyConnected(data=normed, weight=weight, no_bias=True, num_hidden=classes, name="fc7")
    zy = sym.pick(fc7, label, axis=1)
    angle = sym.arccos(zy / scale) + margin
    difference = sym.expand_dims(sym.cos(angle) * scale - zy, 1)
    hot = sym.one_hot(label, depth=classes, on_value=1.0, off_value=0.0)
    fc7 = fc7 + sym.broadcast_mul(hot, difference)
    return sym.Group([sym.BlockGrad(embedding), sym.SoftmaxOutput(data=fc7, label=label, name="softmax")])


# -- detection -------------------------------------------------------------------------------------------------------


def ssd_layers(sym: Any) -> Any:
    """Returns what two scales predict: (boxes, classes with their axis second, anchors)."""
    net = conv_bn(sym, sym.Variable("data"), 4, "conv1", stride=2)
    first = conv_bn(sym, net, 6, "conv2", stride=2)
    second = conv_bn(sym, first, 6, "conv3", stride=2)
    boxes, classes, anchors = [], [], []
    for number, layer in enumerate((first, second)):
        name = f"multi_feat_{number}"
        if not number:
            layer = sym.L2Normalization(data=layer, mode="channel", name=f"{name}_norm")
            factor = sym.Variable(f"{name}_scale", shape=(1, 6, 1, 1), init='["constant", {"value": 20}]')
            layer = sym.broadcast_mul(lhs=factor, rhs=layer)
        count = 4
        box = sym.Convolution(data=layer, num_filter=count * 4, kernel=(3, 3), pad=(1, 1), name=f"{name}_loc_pred_conv")
        boxes.append(sym.Flatten(data=sym.transpose(box, axes=(0, 2, 3, 1))))
        kind = sym.Convolution(
            data=layer, num_filter=count * 4, kernel=(3, 3), pad=(1, 1), name=f"{name}_cls_pred_conv"
        )
        classes.append(sym.Flatten(data=sym.transpose(kind, axes=(0, 2, 3, 1))))
        anchor = sym.contrib.MultiBoxPrior(
            layer, sizes=SCALES[number], ratios=RATIOS, clip=False, steps=(-1.0, -1.0), name=f"{name}_anchors"
        )
        anchors.append(sym.Flatten(data=anchor))
    loc = sym.Concat(*boxes, num_args=2, dim=1, name="multibox_loc_pred")
    cls = sym.Concat(*classes, num_args=2, dim=1)
    cls = sym.transpose(sym.Reshape(data=cls, shape=(0, -1, 4)), axes=(0, 2, 1), name="multibox_cls_pred")
    anchor = sym.Concat(*anchors, num_args=2, dim=1)
    return loc, cls, sym.Reshape(data=anchor, shape=(0, -1, 4), name="multibox_anchors")


def ssd(mx: Any) -> Any:
    """Returns the SSD detector as it is trained: matched targets, two losses, and what it detects."""
    sym = mx.sym
    label = sym.Variable("label")
    loc, cls, anchors = ssd_layers(sym)
    target, mask, kind = sym.contrib.MultiBoxTarget(
        anchors,
        label,
        cls,
        overlap_threshold=0.5,
        ignore_label=-1,
        negative_mining_ratio=3,
        minimum_negative_samples=0,
        negative_mining_thresh=0.5,
        variances=(0.1, 0.1, 0.2, 0.2),
        name="multibox_target",
    )
    cls_prob = sym.SoftmaxOutput(
        data=cls,
        label=kind,
        ignore_label=-1,
        use_ignore=True,
        grad_scale=1.0,
        multi_output=True,
        normalization="valid",
        name="cls_prob",
    )
    loss = sym.smooth_l1(data=mask * (loc - target), scalar=1.0, name="loc_loss_")
    loss = sym.MakeLoss(loss, grad_scale=1.0, normalization="valid", name="loc_loss")
    kind = sym.MakeLoss(data=kind, grad_scale=0, name="cls_label")
    detected = sym.contrib.MultiBoxDetection(
        cls_prob,
        loc,
        anchors,
        name="detection",
        nms_threshold=0.45,
        force_suppress=False,
        variances=(0.1, 0.1, 0.2, 0.2),
        nms_topk=400,
    )
    return sym.Group([cls_prob, loss, kind, sym.MakeLoss(data=detected, grad_scale=0, name="det_out")])


def ssd_deployed(mx: Any) -> Any:
    """Returns the SSD detector as it is served: without labels."""
    sym = mx.sym
    loc, cls, anchors = ssd_layers(sym)
    prob = sym.SoftmaxActivation(data=cls, mode="channel", name="cls_prob")
    return sym.contrib.MultiBoxDetection(prob, loc, anchors, name="detection", nms_threshold=0.5, nms_topk=20)


def ssd_exported(mx: Any) -> Any:
    """Returns a detector as blocks are exported: decoded boxes, per-class scores, and suppression as one operator."""
    sym = mx.sym
    net = conv_bn(sym, sym.var("data"), 6, "ssd0_conv0", stride=4)
    kind = sym.Convolution(net, num_filter=8, kernel=(3, 3), pad=(1, 1), name="ssd0_class0")
    kind = sym.reshape(sym.flatten(sym.transpose(kind, axes=(0, 2, 3, 1))), shape=(0, -1, 4))
    box = sym.Convolution(net, num_filter=8, kernel=(3, 3), pad=(1, 1), name="ssd0_box0")
    box = sym.reshape(sym.flatten(sym.transpose(box, axes=(0, 2, 3, 1))), shape=(0, -1, 4))
    table = sym.var("ssd0_anchors", shape=(1, 1, 8, 8, 8), init="zeros")
    anchor = sym.reshape(sym.slice_like(table, net * 0, axes=(2, 3)), shape=(1, -1, 4))
    x, y, w, h = sym.split(box, axis=-1, num_outputs=4)
    ax, ay, aw, ah = sym.split(anchor, axis=-1, num_outputs=4)
    middle_x = sym.broadcast_add(sym.broadcast_mul(x * 0.1, aw), ax)
    middle_y = sym.broadcast_add(sym.broadcast_mul(y * 0.1, ah), ay)
    half_w = sym.broadcast_mul(sym.exp(w * 0.2), aw) / 2
    half_h = sym.broadcast_mul(sym.exp(h * 0.2), ah) / 2
    box = sym.concat(middle_x - half_w, middle_y - half_h, middle_x + half_w, middle_y + half_h, dim=-1)
    scores = sym.softmax(kind, axis=-1)
    found = []
    for number in range(3):
        score = sym.slice_axis(scores, axis=-1, begin=number + 1, end=number + 2)
        mask = score > 0.2
        index = sym.where(mask, sym.ones_like(mask) * number, sym.ones_like(mask) * -1)
        score = sym.where(mask, score, sym.zeros_like(score))
        found.append(sym.concat(index, score, box, dim=-1))
    result = sym.contrib.box_nms(
        sym.concat(*found, dim=1),
        overlap_thresh=0.45,
        topk=16,
        valid_thresh=0.01,
        id_index=0,
        score_index=1,
        coord_start=2,
        force_suppress=False,
    )
    result = sym.slice_axis(result, axis=1, begin=0, end=10)
    parts = [(0, 1), (1, 2), (2, 6)]
    return sym.Group([sym.slice_axis(result, axis=2, begin=begin, end=end) for begin, end in parts])


def rpn_layers(sym: Any) -> Any:
    """Returns the features, and what the region proposal network predicts of them."""
    features = conv_bn(sym, conv_bn(sym, sym.Variable("data"), 4, "conv1", stride=4), 6, "conv2", stride=2)
    net = sym.Convolution(data=features, kernel=(3, 3), pad=(1, 1), num_filter=6, name="rpn_conv_3x3")
    net = sym.Activation(data=net, act_type="relu", name="rpn_relu")
    score = sym.Convolution(data=net, kernel=(1, 1), num_filter=12, name="rpn_cls_score")
    box = sym.Convolution(data=net, kernel=(1, 1), num_filter=24, name="rpn_bbox_pred")
    return features, sym.Reshape(data=score, shape=(0, 2, -1, 0), name="rpn_cls_score_reshape"), box


def faster_rcnn(mx: Any) -> Any:
    """Returns the Faster R-CNN detector as it is tested: one picture, its regions, and what these are."""
    sym = mx.sym
    info = sym.Variable(name="im_info")
    features, score, box = rpn_layers(sym)
    prob = sym.SoftmaxActivation(data=score, mode="channel", name="rpn_cls_prob")
    prob = sym.Reshape(data=prob, shape=(0, 12, -1, 0), name="rpn_cls_prob_reshape")
    settings = {
        "feature_stride": 8,
        "scales": (2, 4),
        "ratios": (0.5, 1, 2),
        "rpn_pre_nms_top_n": 60,
        "rpn_post_nms_top_n": 8,
        "threshold": 0.7,
        "rpn_min_size": 4,
    }
    rois = sym.contrib.Proposal(cls_prob=prob, bbox_pred=box, im_info=info, name="rois", **settings)
    pooled = sym.ROIPooling(data=features, rois=rois, pooled_size=(3, 3), spatial_scale=0.125, name="roi_pool5")
    net = sym.FullyConnected(data=sym.Flatten(data=pooled, name="flatten"), num_hidden=10, name="fc6")
    net = sym.Dropout(data=sym.Activation(data=net, act_type="relu", name="relu6"), p=0.5, name="drop6")
    kind = sym.SoftmaxActivation(data=sym.FullyConnected(data=net, num_hidden=4, name="cls_score"), name="cls_prob")
    shift = sym.FullyConnected(data=net, num_hidden=16, name="bbox_pred")
    kind = sym.Reshape(data=kind, shape=(1, -1, 4), name="cls_prob_reshape")
    return sym.Group([rois, kind, sym.Reshape(data=shift, shape=(1, -1, 16), name="bbox_pred_reshape")])


def multi_proposal(mx: Any) -> Any:
    """Returns a detector for several pictures at once, with their regions aligned."""
    sym = mx.sym
    info = sym.Variable(name="im_info")
    features, score, box = rpn_layers(sym)
    prob = sym.Reshape(sym.softmax(score, axis=1), shape=(0, 12, -1, 0), name="rpn_cls_prob")
    rois, scores = sym.contrib.MultiProposal(
        prob,
        box,
        info,
        feature_stride=8,
        scales=(2, 4),
        ratios=(0.5, 1, 2),
        rpn_pre_nms_top_n=60,
        rpn_post_nms_top_n=6,
        threshold=0.7,
        rpn_min_size=4,
        output_score=True,
        name="rois",
    )
    aligned = sym.contrib.ROIAlign(
        features, rois, pooled_size=(2, 2), spatial_scale=0.125, sample_ratio=2, name="roi_align"
    )
    kind = sym.softmax(sym.FullyConnected(aligned, num_hidden=4, name="cls_score"))
    return sym.Group([rois, scores, kind])


def rpn_training(mx: Any) -> Any:
    """Returns the region proposal network with its two losses."""
    sym = mx.sym
    label, target, weight = (sym.Variable(name) for name in ("label", "bbox_target", "bbox_weight"))
    _, score, box = rpn_layers(sym)
    prob = sym.SoftmaxOutput(
        data=score,
        label=label,
        multi_output=True,
        normalization="valid",
        use_ignore=True,
        ignore_label=-1,
        name="rpn_cls_prob",
    )
    loss = weight * sym.smooth_l1(name="rpn_bbox_loss_", scalar=3.0, data=(box - target))
    return sym.Group([prob, sym.MakeLoss(name="rpn_bbox_loss", data=loss, grad_scale=1.0 / 256)])


# -- sequences -------------------------------------------------------------------------------------------------------


def crnn(mx: Any) -> Any:
    """Returns a reader of text in pictures: convolutions, a fused bidirectional LSTM, and the CTC loss."""
    sym = mx.sym
    net = conv_bn(sym, sym.Variable("data"), 4, "conv0")
    net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool0")
    net = conv_bn(sym, net, 5, "conv1")
    net = sym.Pooling(net, kernel=(2, 2), stride=(2, 1), pad=(0, 1), pool_type="max", name="pool1")
    net = sym.transpose(net, axes=(3, 0, 1, 2), name="time_first")
    net = sym.Reshape(net, shape=(0, 0, -3), name="columns")
    net = sym.RNN(
        data=net,
        parameters=sym.Variable("lstm_parameters", init='["uniform", {"scale": 0.1}]'),
        state=sym.Variable("lstm_init_h", shape=(2, 2, 5)),
        state_cell=sym.Variable("lstm_init_c", shape=(2, 2, 5)),
        state_size=5,
        num_layers=1,
        bidirectional=True,
        mode="lstm",
        name="lstm",
    )
    net = sym.Reshape(net, shape=(-3, 0), name="rows")
    net = sym.FullyConnected(net, num_hidden=6, name="pred_fc")
    steps = sym.Reshape(net, shape=(-4, -1, 2, 0), name="steps")
    loss = sym.contrib.ctc_loss(data=steps, label=sym.Variable("label"), name="ctc")
    prob = sym.softmax(data=sym.BlockGrad(net), name="softmax")
    return sym.Group([prob, sym.MakeLoss(loss, name="ctc_loss")])


def text_cnn(mx: Any) -> Any:
    """Returns convolutions over the words of sentences, and the maximum over time."""
    sym = mx.sym
    data, label = sym.Variable("data"), sym.Variable("softmax_label")
    embedded = sym.Embedding(data=data, input_dim=30, output_dim=6, name="vocab_embed")
    net = sym.Reshape(data=embedded, target_shape=(3, 1, 12, 6))
    pooled = []
    for size in (3, 4, 5):
        conv = sym.Convolution(data=net, kernel=(size, 6), num_filter=4, name=f"convolution{size}")
        relu = sym.Activation(data=conv, act_type="relu")
        pooled.append(sym.Pooling(data=relu, pool_type="max", kernel=(12 - size + 1, 1), stride=(1, 1)))
    net = sym.Reshape(data=sym.Concat(*pooled, dim=1), target_shape=(3, 12))
    over_time = sym.max(embedded, axis=1, name="over_time")
    net = sym.Dropout(data=sym.concat(net, over_time, dim=1), p=0.0)
    weight, bias = sym.Variable("cls_weight"), sym.Variable("cls_bias")
    net = sym.FullyConnected(data=net, weight=weight, bias=bias, num_hidden=2)
    return sym.SoftmaxOutput(data=net, label=label, name="softmax")


def lstm_lm(mx: Any) -> Any:
    """Returns a language model of two unrolled LSTM layers, as bucketing makes it for one length."""
    sym = mx.sym
    length, hidden, layers = 5, 6, 2
    data, label = sym.Variable("data"), sym.Variable("softmax_label")
    embedded = sym.Embedding(data=data, input_dim=20, output_dim=hidden, name="embed")
    steps = sym.SliceChannel(data=embedded, axis=1, num_outputs=length, squeeze_axis=1)
    state = [
        (sym.zeros(shape=(0, hidden), name=f"begin{layer}_h"), sym.zeros(shape=(0, hidden), name=f"begin{layer}_c"))
        for layer in range(layers)
    ]
    weights = [
        {
            "i2h": (sym.Variable(f"lstm_l{layer}_i2h_weight"), sym.Variable(f"lstm_l{layer}_i2h_bias")),
            "h2h": (sym.Variable(f"lstm_l{layer}_h2h_weight"), sym.Variable(f"lstm_l{layer}_h2h_bias")),
        }
        for layer in range(layers)
    ]
    outputs = []
    for step in range(length):
        net = steps[step]
        for layer in range(layers):
            name = f"lstm_l{layer}_t{step}_"
            h, c = state[layer]
            i2h = sym.FullyConnected(net, *weights[layer]["i2h"], num_hidden=hidden * 4, name=f"{name}i2h")
            h2h = sym.FullyConnected(h, *weights[layer]["h2h"], num_hidden=hidden * 4, name=f"{name}h2h")
            gates = sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
            i, f, o = (sym.Activation(gates[number], act_type="sigmoid") for number in (0, 1, 3))
            c = sym._internal._plus(f * c, i * sym.Activation(gates[2], act_type="tanh"), name=f"{name}state")
            net = sym._internal._mul(o, sym.Activation(c, act_type="tanh"), name=f"{name}out")
            state[layer] = (net, c)
        outputs.append(sym.expand_dims(net, axis=1))
    net = sym.Reshape(sym.Concat(*outputs, dim=1), shape=(-1, hidden))
    net = sym.FullyConnected(data=net, num_hidden=20, name="pred")
    return sym.SoftmaxOutput(data=net, label=sym.Reshape(label, shape=(-1,)), name="softmax")


def transformer(mx: Any) -> Any:
    """Returns a layer of a transformer encoder, as blocks are exported: masked attention over words."""
    sym = mx.sym
    tokens, lengths = sym.var("data0"), sym.var("data1")
    net = sym.Embedding(tokens, input_dim=20, output_dim=8, dtype="float32", name="word_embed")
    places = sym.contrib.arange_like(tokens, axis=1, name="arange")
    places = sym.Embedding(places, input_dim=10, output_dim=8, name="position_embed")
    net = sym.broadcast_add(net, sym.expand_dims(places, axis=0))
    net = sym.LayerNorm(net, axis=-1, eps=1e-12, name="ln0")
    heads = []
    for kind in ("query", "key", "value"):
        one = sym.FullyConnected(net, num_hidden=8, flatten=False, name=kind)
        one = sym.transpose(sym.reshape(one, shape=(0, 0, 2, -1)), axes=(0, 2, 1, 3))
        heads.append(sym.reshape(one, shape=(-1, 0, 0), reverse=True))
    scores = sym.batch_dot(heads[0], heads[1], transpose_b=True) / np.sqrt(4)
    mask = sym.broadcast_lesser(
        sym.contrib.arange_like(scores, axis=2), sym.reshape(sym.repeat(lengths, repeats=2), shape=(-1, 1, 1))
    )
    mask = sym.broadcast_like(mask, scores)
    scores = sym.where(mask, scores, -1e18 * sym.ones_like(scores))
    context = sym.batch_dot(sym.softmax(scores, axis=-1) * mask, heads[2])
    context = sym.transpose(sym.reshape(context, shape=(-1, 2, 0, 0), reverse=True), axes=(0, 2, 1, 3))
    context = sym.FullyConnected(sym.reshape(context, shape=(0, 0, -1)), num_hidden=8, flatten=False, name="proj")
    net = sym.LayerNorm(context + net, eps=1e-12, name="ln1")
    wide = sym.LeakyReLU(sym.FullyConnected(net, num_hidden=12, flatten=False, name="ffn1"), act_type="gelu")
    net = sym.LayerNorm(sym.FullyConnected(wide, num_hidden=8, flatten=False, name="ffn2") + net, name="ln2")
    net = sym.SequenceMask(net, lengths, use_sequence_length=True, axis=1, value=0)
    first = sym.slice_axis(net, axis=1, begin=0, end=1)
    pooled = sym.FullyConnected(first, num_hidden=8, name="pooler")
    return sym.Group([net, sym.Activation(pooled, act_type="tanh")])


def factorization(mx: Any) -> Any:
    """Returns the factorization of a matrix of ratings."""
    sym = mx.sym
    user = sym.Embedding(data=sym.Variable("user"), input_dim=12, output_dim=5, name="user_embed")
    item = sym.Embedding(data=sym.Variable("item"), input_dim=9, output_dim=5, name="item_embed")
    user = sym.FullyConnected(data=sym.Activation(data=user, act_type="relu"), num_hidden=5, name="fc_user")
    pred = sym.Flatten(data=sym.sum_axis(data=user * item, axis=1))
    return sym.LinearRegressionOutput(data=pred, label=sym.Variable("score"), name="lro")


# -- pictures out of networks ------------------------------------------------------------------------------------------


def dcgan(mx: Any) -> Any:
    """Returns a generator of pictures, and a discriminator's judgement of them."""
    sym = mx.sym
    net = sym.Variable("rand")
    for number, (channels, kernel, keywords) in enumerate(
        ((6, 4, {}), (4, 4, {"stride": (2, 2), "pad": (1, 1)}), (3, 4, {"stride": (2, 2), "pad": (1, 1)})), 1
    ):
        net = sym.Deconvolution(
            net, name=f"g{number}", kernel=(kernel, kernel), num_filter=channels, no_bias=True, **keywords
        )
        if number < 3:
            net = sym.BatchNorm(net, name=f"gbn{number}", fix_gamma=True, eps=1e-5 + 1e-12)
            net = sym.Activation(net, name=f"gact{number}", act_type="relu")
    picture = sym.Activation(net, name="gact5", act_type="tanh")
    net = sym.Convolution(picture, name="d1", kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=4, no_bias=True)
    net = sym.LeakyReLU(net, name="dact1", act_type="leaky", slope=0.2)
    net = sym.Convolution(net, name="d2", kernel=(8, 8), num_filter=1, no_bias=True)
    judged = sym.LogisticRegressionOutput(data=sym.Flatten(net), label=sym.Variable("label"), name="dloss")
    return sym.Group([sym.BlockGrad(picture), judged])


def unet(mx: Any) -> Any:
    """Returns a segmenting network: up again by nearest and bilinear upsampling, cropped to what came down."""
    sym = mx.sym
    data = sym.Variable("data")
    top = conv_bn(sym, data, 4, "down1")
    half = conv_bn(sym, sym.Pooling(top, kernel=(2, 2), stride=(2, 2), pool_type="max"), 5, "down2")
    low = sym.Pooling(half, kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="full")
    low = conv_bn(sym, low, 6, "down3")
    up = sym.UpSampling(low, scale=2, sample_type="nearest", num_args=1, name="up1")
    up = sym.Crop(*[up, half], name="crop1")
    net = conv_bn(sym, sym.Concat(up, half, dim=1), 5, "up_conv1")
    up = sym.UpSampling(net, scale=2, sample_type="bilinear", num_filter=5, num_args=1, name="up2")
    up = sym.Crop(up, top, offset=(0, 0), num_args=2, name="crop2")
    net = conv_bn(sym, sym.concat(up, top), 4, "up_conv2")
    coarse = sym.Deconvolution(
        low, kernel=(8, 8), stride=(4, 4), num_filter=3, no_bias=True, attr={"lr_mult": "0"}, name="bigscore"
    )
    coarse = sym.Crop(*[coarse, data], offset=(2, 2), name="upscore")
    net = sym.Convolution(net, kernel=(1, 1), num_filter=3, name="score") + coarse
    return sym.SoftmaxOutput(
        data=net, multi_output=True, use_ignore=True, ignore_label=255, normalization="valid", name="softmax"
    )


def style_transfer(mx: Any) -> Any:
    """Returns a network that paints: reflected borders, instance normalization, and the Gram matrix as a loss."""
    sym = mx.sym
    data = sym.Variable("data")
    net = sym.pad(data, mode="reflect", pad_width=(0, 0, 0, 0, 2, 2, 2, 2), name="pad0")
    net = sym.Convolution(net, num_filter=4, kernel=(5, 5), name="conv0")
    net = sym.Activation(sym.InstanceNorm(net, eps=1e-5, name="in0"), act_type="relu")
    net = sym.pad(net, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 1, 1), name="pad1")
    net = sym.Convolution(net, num_filter=3, kernel=(3, 3), name="conv1")
    painted = sym.Activation(net, act_type="tanh") * 150 + 255.0 / 2
    flat = sym.Reshape(painted, shape=(0, 3, -1))
    gram = sym.batch_dot(flat, sym.transpose(flat, axes=(0, 2, 1))) / (3 * 64)
    difference = sym.square(gram - sym.Variable("target_gram"))
    moved = painted - data
    wiggle = sym.sum(sym.abs(sym.slice_axis(moved, axis=2, begin=1, end=None)), axis=(1, 2, 3))
    loss = sym.sum(difference, axis=(1, 2)) * 1e-4 + wiggle * 1e-3
    return sym.Group([sym.BlockGrad(painted), sym.MakeLoss(loss, name="loss")])


def pyramid(mx: Any) -> Any:
    """Returns a segmenting network as blocks are exported: pyramid pooling, resized bilinearly, channels shuffled."""
    sym = mx.sym
    net = conv_bn(sym, sym.var("data"), 4, "psp0_conv0", stride=2)
    parts = [net]
    for size in (1, 2, 3):
        pooled = sym.contrib.AdaptiveAvgPooling2D(net, output_size=size)
        pooled = conv_bn(sym, pooled, 2, f"psp0_pool{size}", kernel=1)
        parts.append(sym.contrib.BilinearResize2D(pooled, height=6, width=6))
    net = sym.concat(*parts, dim=1)
    net = sym.reshape(sym.swapaxes(sym.reshape(net, shape=(0, -4, 2, -1, -2)), 1, 2), shape=(0, -3, -2))
    net = sym.Convolution(net, num_filter=3, kernel=(3, 3), pad=(2, 2), dilate=(2, 2), name="psp0_conv1")
    net = sym.BatchNorm(net, fix_gamma=True, use_global_stats=True, name="psp0_norm")
    return sym.contrib.BilinearResize2D(net, height=12, width=12)


# Name: function, shapes of the inputs, whether there is a training step. What is not trained draws random numbers
# there, or has no loss.
NETWORKS: dict[str, tuple[Any, dict[str, tuple[int, ...]], bool]] = {
    "resnet": (resnet, {"data": (3, 3, 12, 12), "softmax_label": (3,)}, True),
    "inception_bn": (inception_bn, {"data": (3, 3, 16, 16), "softmax_label": (3,)}, True),
    "mobilenet": (mobilenet, {"data": (3, 3, 12, 12), "softmax_label": (3,)}, True),
    "arcface": (arcface, {"data": (4, 3, 8, 8), "softmax_label": (4,)}, True),
    "ssd": (ssd, {"data": (2, 3, 32, 32), "label": (2, 2, 5)}, True),
    "ssd_deployed": (ssd_deployed, {"data": (2, 3, 32, 32)}, False),
    "ssd_exported": (ssd_exported, {"data": (2, 3, 16, 16)}, False),
    "faster_rcnn": (faster_rcnn, {"data": (1, 3, 48, 64), "im_info": (1, 3)}, False),
    "multi_proposal": (multi_proposal, {"data": (2, 3, 48, 64), "im_info": (2, 3)}, False),
    "rpn_training": (
        rpn_training,
        {"data": (1, 3, 48, 64), "label": (1, 288), "bbox_target": (1, 24, 6, 8), "bbox_weight": (1, 24, 6, 8)},
        True,
    ),
    "crnn": (crnn, {"data": (2, 1, 8, 20), "lstm_init_h": (2, 2, 5), "lstm_init_c": (2, 2, 5), "label": (2, 4)}, True),
    "text_cnn": (text_cnn, {"data": (3, 12), "softmax_label": (3,)}, True),
    "lstm_lm": (lstm_lm, {"data": (4, 5), "softmax_label": (4, 5)}, True),
    "transformer": (transformer, {"data0": (3, 6), "data1": (3,)}, False),
    "factorization": (factorization, {"user": (6,), "item": (6,), "score": (6,)}, True),
    "dcgan": (dcgan, {"rand": (3, 5, 1, 1), "label": (3, 1)}, True),
    "unet": (unet, {"data": (2, 3, 14, 14), "softmax_label": (2, 14, 14)}, True),
    "style_transfer": (style_transfer, {"data": (2, 3, 8, 8), "target_gram": (2, 3, 3)}, True),
    "pyramid": (pyramid, {"data": (2, 3, 12, 12)}, False),
}
LEARNING_RATE = 0.1


# -- numbers -----------------------------------------------------------------------------------------------------------

_BOXES = [[[0, 0.1, 0.1, 0.5, 0.6], [2, 0.4, 0.5, 0.9, 0.8]], [[1, 0.3, 0.2, 0.7, 0.95], [-1, -1, -1, -1, -1]]]


def input_values(network: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the values of an input: pictures, words, labels."""
    generator = np.random.RandomState(zlib.crc32(f"{network} {name}".encode()))
    if (network, name) == ("ssd", "label"):
        return np.array(_BOXES, "float32")
    if name == "im_info":
        return np.array([[48, 64, 1.5]] * shape[0], "float32")
    if name == "data1":
        return np.array([6, 2, 4], "float32")
    words = {"text_cnn": 30, "lstm_lm": 20, "transformer": 20}
    if name in ("data", "data0") and network in words:
        return generator.randint(0, words[network], shape).astype("float32")
    if name in ("user", "item"):
        return generator.randint(0, 9, shape).astype("float32")
    if name == "label" and network == "dcgan":
        return np.ones(shape, "float32")
    if name == "label" and network == "crnn":
        return np.array([[1, 3, 2, 0], [4, 4, 0, 0]], "float32")
    if name == "label":
        return generator.randint(-1, 2, shape).astype("float32")
    if name == "softmax_label":
        highest = {"lstm_lm": 20, "text_cnn": 2, "unet": 3}.get(network, 5)
        return generator.randint(0, highest, shape).astype("float32")
    if name == "bbox_weight":
        return generator.randint(0, 2, shape).astype("float32")
    if network in ("arcface", "style_transfer") and name == "data":
        return generator.randint(0, 256, shape).astype("float32")
    if name.startswith("lstm_init"):
        return np.zeros(shape, "float32")
    return generator.uniform(-1, 1, shape).astype("float32")


def parameter_values(network: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the values of a parameter or a state: such that what layers compute neither vanishes nor grows."""
    generator = np.random.RandomState(zlib.crc32(f"{network} {name}".encode()))
    drawn = generator.uniform(-1, 1, shape)
    if name.endswith("_anchors"):
        middles = np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1).reshape(64, 1, 2).repeat(2, 1)
        sizes = np.array([[[0.3, 0.4], [0.5, 0.25]]]).repeat(64, 0)
        return np.concatenate([(middles + 0.5) / 4, sizes], 2).reshape(shape).astype("float32")
    if name.endswith(("_var", "moving_var")):
        drawn = 1 + 0.5 * drawn
    elif name.endswith(("gamma", "_scale")):
        drawn = 1 + 0.2 * drawn
    elif name.endswith("parameters"):
        drawn = 0.5 * drawn
    elif name.endswith("weight") and len(shape) > 1:
        drawn *= 1.7 / np.sqrt(np.prod(shape[1:]))
        if name.endswith("embed_weight"):
            drawn = 0.5 * generator.uniform(-1, 1, shape)
    else:
        drawn *= 0.3
    return drawn.astype("float32")


# -- as older versions wrote them --------------------------------------------------------------------------------------

_OLD_NAMES = {
    "elemwise_add": "_Plus",
    "elemwise_sub": "_Minus",
    "elemwise_mul": "_Mul",
    "elemwise_div": "_Div",
    "_plus_scalar": "_PlusScalar",
    "_minus_scalar": "_MinusScalar",
    "_mul_scalar": "_MulScalar",
    "_div_scalar": "_DivScalar",
    "add_n": "ElementWiseSum",
}
_OLDER_NAMES = {"SliceChannel": "SliceChannel", "elemwise_add": "_plus", "elemwise_mul": "_mul"}
VERSIONS = {"0.8": None, "0.9": 905, "0.11": 1100, "1.2": 10200}
_HIDDEN = ("lr_mult", "wd_mult", "ctx_group", "force_mirroring", "mirror_stage")


def as_written_by(document: dict[str, Any], version: str) -> dict[str, Any]:
    """Returns a file's content as an older version of MXNet would have written it.

    Before 1.0 attributes stood under "attr", before 0.9 those of the operator under "param" and the users' under
    "attr", without underscores; states were no inputs, inputs had no version, and operators had older names.
    """
    oldest = version == "0.8"
    names = _OLD_NAMES if oldest else _OLDER_NAMES if version == "0.9" else {}
    numbers: dict[int, int] = {}
    states: set[int] = set()
    if oldest:
        for node in document["nodes"]:
            if node["op"] == "BatchNorm":
                states |= {number for number, *_ in node["inputs"][3:]}
    nodes: list[dict[str, Any]] = []
    for number, node in enumerate(document["nodes"]):
        if number in states:
            continue
        numbers[number] = len(nodes)
        attributes = dict(node.get("attrs", {}))
        noted = {key: attributes.pop(key) for key in list(attributes) if key.startswith("__")}
        noted = {(key.strip("_") if key.strip("_") in _HIDDEN else key): text for key, text in noted.items()}
        noted |= {key: attributes.pop(key) for key in list(attributes) if key in _HIDDEN}
        inputs = [[numbers[entry[0]], *entry[1:]] for entry in node["inputs"] if entry[0] not in states]
        made: dict[str, Any] = {"op": names.get(node["op"], node["op"]), "name": node["name"]}
        if oldest:
            made |= {"param": attributes, "inputs": [entry[:2] for entry in inputs], "backward_source_id": -1}
            if noted:
                made["attr"] = noted
        else:
            together = {**attributes, **noted}
            if together:
                made["attrs" if version == "1.2" else "attr"] = together
            made["inputs"] = inputs
        nodes.append(made)
    heads = [[numbers[entry[0]], *entry[1:]] for entry in document["heads"]]
    found: dict[str, Any] = {
        "nodes": nodes,
        "arg_nodes": [number for number, node in enumerate(nodes) if node["op"] == "null"],
        "heads": [entry[:2] for entry in heads] if oldest else heads,
    }
    if VERSIONS[version] is not None:
        found["attrs"] = {"mxnet_version": ["int", VERSIONS[version]]}
    return found
