"""Layers of networks as expressions, to be exported to ONNX and compared."""

from __future__ import annotations

from typing import Any

import minpy as mx

# By a name: the layer as an expression of `sym` and `x`, the data's shape, and the nodes that it becomes at the newest
# version ("" for any).
LAYERS: dict[str, tuple[str, tuple[int, ...], str]] = {
    # -- convolutions
    "conv 1d": ("sym.Convolution(x, kernel=(3,), num_filter=4)", (2, 3, 7), "Conv"),
    "conv 2d": ("sym.Convolution(x, kernel=(3, 2), num_filter=4, stride=(2, 1), pad=(1, 0))", (2, 3, 7, 6), "Conv"),
    "conv 3d": ("sym.Convolution(x, kernel=(2, 2, 3), num_filter=2, pad=(0, 1, 1))", (1, 2, 4, 3, 5), "Conv"),
    "conv groups dilated": (
        "sym.Convolution(x, kernel=(2, 3), num_filter=6, num_group=2, dilate=(2, 1), no_bias=True)",
        (2, 4, 6, 5),
        "Conv",
    ),
    "conv number as kernel": ("sym.Convolution(x, kernel=3, num_filter=2, stride=2)", (2, 3, 7), "Conv"),
    "deconv 1d": ("sym.Deconvolution(x, kernel=(3,), num_filter=2, stride=(2,))", (2, 3, 5), "ConvTranspose"),
    "deconv adj bias": (
        "sym.Deconvolution(x, kernel=(3, 4), num_filter=2, stride=(2, 3), pad=(1, 1), adj=(1, 2), no_bias=False)",
        (2, 3, 4, 5),
        "ConvTranspose",
    ),
    "deconv target": (
        "sym.Deconvolution(x, kernel=(4, 4), num_filter=2, stride=(2, 2), target_shape=(9, 8))",
        (1, 3, 4, 4),
        "ConvTranspose",
    ),
    "deconv target odd": (
        "sym.Deconvolution(x, kernel=(5, 3), num_filter=2, stride=(3, 2), target_shape=(10, 6))",
        (1, 3, 4, 4),
        "ConvTranspose",
    ),
    "deconv groups dilated": (
        "sym.Deconvolution(x, kernel=(2, 2), num_filter=4, num_group=2, dilate=(2, 1))",
        (2, 4, 3, 4),
        "ConvTranspose",
    ),
    "deconv 3d": (
        "sym.Deconvolution(x, kernel=(2, 2, 2), num_filter=2, stride=(2, 1, 2))",
        (1, 2, 2, 3, 2),
        "ConvTranspose",
    ),
    "deformable": (
        (
            "sym.contrib.DeformableConvolution(x, sym.tile(x, reps=(1, 9, 1, 1)), kernel=(3, 3), num_filter=4, "
            "pad=(1, 1), num_group=2, num_deformable_group=1)"
        ),
        (2, 2, 5, 5),
        "",
    ),
    "modulated deformable": (
        (
            "sym.contrib.ModulatedDeformableConvolution(x, sym.tile(x, reps=(1, 4, 1, 1)), "
            "sym.tile(x, reps=(1, 2, 1, 1)), kernel=(1, 2), num_filter=4, dilate=(1, 2), pad=(0, 1), "
            "num_deformable_group=2)"
        ),
        (2, 2, 5, 5),
        "",
    ),
    # -- pooling
    "max pool": ("sym.Pooling(x, kernel=(2, 3), stride=(2, 1), pool_type='max')", (2, 3, 7, 6), "MaxPool"),
    "max pool padded": (
        "sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='max')",
        (2, 3, 7, 6),
        "MaxPool",
    ),
    "max pool full": (
        "sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pooling_convention='full')",
        (2, 3, 8, 7),
        "MaxPool",
    ),
    "max pool full padded": (
        "sym.Pooling(x, kernel=(2, 2), stride=(2, 3), pad=(1, 1), pooling_convention='full')",
        (2, 3, 7, 6),
        "",
    ),
    "max pool full far": (
        "sym.Pooling(x, kernel=(1, 1), stride=(3, 2), pooling_convention='full')",
        (2, 3, 7, 6),
        "",
    ),
    "max pool beyond": ("sym.Pooling(x, kernel=(2, 2), stride=(4, 4), pooling_convention='full')", (1, 2, 9, 8), ""),
    "max pool same": (
        "sym.Pooling(x, kernel=(3, 2), stride=(2, 2), pooling_convention='same')",
        (2, 3, 7, 6),
        "MaxPool",
    ),
    "max pool 1d": ("sym.Pooling(x, kernel=(3,), stride=(2,))", (2, 3, 9), "MaxPool"),
    "max pool 3d": ("sym.Pooling(x, kernel=(2, 2, 2), stride=(1, 2, 2))", (1, 2, 4, 5, 4), "MaxPool"),
    "max pool channels last": (
        "sym.Pooling(x, kernel=(2, 2), layout='NHWC')",
        (2, 5, 6, 3),
        "Transpose MaxPool Transpose",
    ),
    "avg pool": ("sym.Pooling(x, kernel=(2, 3), stride=(2, 1), pool_type='avg')", (2, 3, 7, 6), "AveragePool"),
    "avg pool padded": (
        "sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='avg')",
        (2, 3, 7, 6),
        "AveragePool",
    ),
    "avg pool without padding": (
        "sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='avg', count_include_pad=False)",
        (2, 3, 7, 6),
        "AveragePool",
    ),
    "avg pool full": (
        "sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type='avg', pooling_convention='full')",
        (2, 3, 8, 6),
        "",
    ),
    "avg pool full padded": (
        "sym.Pooling(x, kernel=(3, 2), stride=(2, 3), pad=(1, 1), pool_type='avg', pooling_convention='full')",
        (2, 3, 8, 6),
        "",
    ),
    "avg pool full without padding": (
        (
            "sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='avg', pooling_convention='full', "
            "count_include_pad=False)"
        ),
        (2, 3, 8, 6),
        "",
    ),
    "avg pool full far": (
        "sym.Pooling(x, kernel=(2, 2), stride=(3, 3), pad=(0, 1), pool_type='avg', pooling_convention='full')",
        (2, 3, 6, 9),
        "",
    ),
    "avg pool same": (
        "sym.Pooling(x, kernel=(3, 2), stride=(2, 2), pool_type='avg', pooling_convention='same')",
        (2, 3, 7, 6),
        "",
    ),
    "avg pool same 5": (
        "sym.Pooling(x, kernel=(5, 4), stride=(2, 3), pool_type='avg', pooling_convention='same')",
        (2, 3, 9, 8),
        "",
    ),
    "avg pool channels last": (
        "sym.Pooling(x, kernel=(2,), pool_type='avg', layout='NWC')",
        (2, 5, 3),
        "Transpose AveragePool Transpose",
    ),
    "sum pool": ("sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pad=(1, 0), pool_type='sum')", (2, 3, 6, 6), ""),
    "sum pool full": (
        "sym.Pooling(x, kernel=(3, 2), stride=(2, 2), pad=(1, 0), pool_type='sum', pooling_convention='full')",
        (2, 3, 6, 7),
        "",
    ),
    "lp pool 1": ("sym.Pooling(x, kernel=(2, 2), pool_type='lp', p_value=1)", (2, 3, 5, 4), ""),
    "lp pool 2": (
        "sym.Pooling(x, kernel=(2, 2), stride=(2, 1), pad=(1, 1), pool_type='lp', p_value=2)",
        (2, 3, 5, 4),
        "",
    ),
    "lp pool 3": ("sym.Pooling(x, kernel=(2, 2), pool_type='lp', p_value=3)", (2, 3, 5, 4), ""),
    "global max": ("sym.Pooling(x, global_pool=True, kernel=(7, 7))", (2, 3, 5, 4), "GlobalMaxPool"),
    "global avg": ("sym.Pooling(x, global_pool=True, pool_type='avg')", (2, 3, 5, 4), "GlobalAveragePool"),
    "global sum": ("sym.Pooling(x, global_pool=True, pool_type='sum')", (2, 3, 5, 4), "ReduceSum"),
    "global lp": ("sym.Pooling(x, global_pool=True, pool_type='lp', p_value=2)", (2, 3, 5, 4), ""),
    "global avg channels last": (
        "sym.Pooling(x, global_pool=True, pool_type='avg', layout='NDHWC')",
        (2, 2, 3, 2, 3),
        "Transpose GlobalAveragePool Transpose",
    ),
    "pooling v1": ("sym.Pooling_v1(x, kernel=(3, 3), stride=(2, 2), pool_type='avg')", (2, 3, 7, 8), ""),
    "pooling v1 full": (
        "sym.Pooling_v1(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type='max', pooling_convention='full')",
        (2, 3, 7, 8),
        "Pad MaxPool",
    ),
    "adaptive 1": ("sym.contrib.AdaptiveAvgPooling2D(x)", (2, 3, 6, 5), "GlobalAveragePool"),
    "adaptive even": ("sym.contrib.AdaptiveAvgPooling2D(x, output_size=(3, 2))", (2, 3, 6, 4), "AveragePool"),
    "adaptive uneven": ("sym.contrib.AdaptiveAvgPooling2D(x, output_size=(4, 3))", (2, 3, 6, 5), ""),
    "adaptive larger": ("sym.contrib.AdaptiveAvgPooling2D(x, output_size=5)", (2, 3, 4, 3), ""),
    # -- normalizations
    "batch norm": ("sym.BatchNorm(x, fix_gamma=False)", (2, 3, 4, 5), "BatchNormalization"),
    "batch norm fixed gamma": ("sym.BatchNorm(x, eps=1e-5)", (2, 3, 4, 5), "BatchNormalization"),
    "batch norm of rows": ("sym.BatchNorm(x, fix_gamma=False)", (4, 3), "BatchNormalization"),
    "batch norm last axis": (
        "sym.BatchNorm(x, fix_gamma=False, axis=-1)",
        (2, 3, 4),
        "Transpose BatchNormalization Transpose",
    ),
    "batch norm first axis": ("sym.BatchNorm(x, fix_gamma=False, axis=0)", (3, 2, 4), ""),
    "batch norm of a vector": ("sym.BatchNorm(x, fix_gamma=False, axis=0)", (3,), ""),
    "batch norm global": ("sym.BatchNorm(x, fix_gamma=False, use_global_stats=True)", (2, 3, 4), "BatchNormalization"),
    "batch norm outputs": ("sym.Group(list(sym.BatchNorm(x, fix_gamma=False, output_mean_var=True)))", (2, 3, 4), ""),
    "batch norm v1": ("sym.BatchNorm_v1(x, fix_gamma=False)", (2, 3, 4, 5), "BatchNormalization"),
    "batch norm v1 fixed": ("sym.BatchNorm_v1(x)", (2, 3, 4, 5), "BatchNormalization"),
    "sync batch norm": ("sym.contrib.SyncBatchNorm(x, key='a', fix_gamma=False)", (2, 3, 4, 5), "BatchNormalization"),
    "batch norm relu": (
        "sym.contrib.BatchNormWithReLU(x, fix_gamma=False)",
        (2, 3, 4, 5),
        "BatchNormalization Relu",
    ),
    "layer norm": ("sym.LayerNorm(x)", (2, 3, 4), "LayerNormalization"),
    "layer norm axis": ("sym.LayerNorm(x, axis=1, eps=1e-3)", (2, 3, 4), "Transpose LayerNormalization Transpose"),
    "layer norm outputs": ("sym.Group(list(sym.LayerNorm(x, output_mean_var=True)))", (2, 3, 4), ""),
    "group norm": ("sym.GroupNorm(x, num_groups=2)", (2, 4, 3, 5), ""),
    "group norm outputs": ("sym.Group(list(sym.GroupNorm(x, num_groups=2, output_mean_var=True)))", (2, 4, 3), ""),
    "instance norm": ("sym.InstanceNorm(x)", (2, 3, 4, 5), "InstanceNormalization"),
    "instance norm 1d": ("sym.InstanceNorm(x, eps=1e-5)", (2, 3, 4), "InstanceNormalization"),
    "l2 instance": ("sym.L2Normalization(x)", (2, 3, 4, 2), ""),
    "l2 channel": ("sym.L2Normalization(x, mode='channel')", (2, 3, 4, 2), ""),
    "l2 spatial": ("sym.L2Normalization(x, mode='spatial', eps=0.1)", (2, 3, 4, 2), ""),
    "lrn": ("sym.LRN(x, nsize=3, alpha=0.1, beta=0.5, knorm=1)", (2, 5, 3, 4), "LRN"),
    "lrn wide": ("sym.LRN(x, nsize=7, alpha=0.1)", (2, 5, 3, 4), "LRN"),
    # -- activations
    **{
        f"activation {name}": (f"sym.Activation(x, act_type='{name}')", (3, 4), op_type)
        for name, op_type in {
            "relu": "Relu",
            "sigmoid": "Sigmoid",
            "tanh": "Tanh",
            "softrelu": "",
            "softsign": "Softsign",
        }.items()
    },
    "relu": ("sym.relu(x)", (3, 4), "Relu"),
    "sigmoid": ("sym.sigmoid(x)", (3, 4), "Sigmoid"),
    "softsign": ("sym.softsign(x)", (3, 4), "Softsign"),
    "hard sigmoid": ("sym.hard_sigmoid(x, alpha=0.3, beta=0.4)", (3, 4), "HardSigmoid"),
    "leaky": ("sym.LeakyReLU(x, slope=0.1)", (3, 4), "LeakyRelu"),
    "prelu": ("sym.LeakyReLU(x, act_type='prelu')", (2, 3, 4, 5), "PRelu"),
    "prelu one slope": ("sym.LeakyReLU(x, sym.var('slope', shape=(1,)), act_type='prelu')", (2, 3, 4), "PRelu"),
    "prelu of examples": ("sym.LeakyReLU(x, sym.var('slope', shape=(2, 3)), act_type='prelu')", (2, 3, 4), "PRelu"),
    "elu": ("sym.LeakyReLU(x, act_type='elu', slope=0.7)", (3, 4), "Elu"),
    "selu": ("sym.LeakyReLU(x, act_type='selu')", (3, 4), "Selu"),
    "gelu": ("sym.LeakyReLU(x, act_type='gelu')", (3, 4), "Gelu"),
    "rrelu": ("sym.LeakyReLU(x, act_type='rrelu', lower_bound=0.1, upper_bound=0.5)", (3, 4), "LeakyRelu"),
    "softmax": ("sym.softmax(x)", (2, 3, 4), "Softmax"),
    "softmax axis temperature": ("sym.softmax(x, axis=1, temperature=2.5)", (2, 3, 4), "Div Softmax"),
    "softmax first axis": ("sym.softmax(x, axis=0)", (2, 3, 4), "Softmax"),
    "softmax dtype": ("sym.softmax(x, dtype='float64')", (2, 3), "Cast Softmax"),
    "log softmax": ("sym.log_softmax(x, axis=1)", (2, 3, 4), "LogSoftmax"),
    "softmin": ("sym.softmin(x, axis=-2)", (2, 3, 4), "Neg Softmax"),
    "softmax activation": ("sym.SoftmaxActivation(x)", (2, 3), "Softmax"),
    "softmax activation instance": ("sym.SoftmaxActivation(x)", (2, 3, 4), ""),
    "softmax activation channel": ("sym.SoftmaxActivation(x, mode='channel')", (2, 3, 4, 5), "Softmax"),
    "masked softmax": (
        "sym._internal._npx_masked_softmax(x, sym.broadcast_greater(x, x * 0))",
        (3, 4),
        "",
    ),
    "masked log softmax": (
        "sym._internal._npx_masked_log_softmax(x, sym.broadcast_greater(x, x * 0 - 5))",
        (3, 4),
        "",
    ),
    # -- heads
    "softmax output": ("sym.SoftmaxOutput(x, name='softmax')", (3, 4), "Softmax"),
    "softmax output multi": ("sym.SoftmaxOutput(x, multi_output=True, name='softmax')", (3, 4, 2), "Softmax"),
    "softmax output preserved": ("sym.SoftmaxOutput(x, preserve_shape=True, name='softmax')", (3, 4, 2), "Softmax"),
    "linear regression": ("sym.LinearRegressionOutput(x * 2, name='lro')", (3, 4), ""),
    "logistic regression": ("sym.LogisticRegressionOutput(x, name='lro')", (3, 4), "Sigmoid"),
    "mae regression": ("sym.MAERegressionOutput(x * 2, name='lro')", (3, 4), ""),
    "svm output": ("sym.SVMOutput(x * 2, name='svm')", (3, 4), ""),
    "make loss": ("sym.MakeLoss(sym.square(x))", (3, 4), ""),
    "make_loss": ("sym.make_loss(sym.square(x))", (3, 4), ""),
    "block grad": ("sym.BlockGrad(x * 2) + x", (3, 4), ""),
    "dropout": ("sym.Dropout(x * 2, p=0.7) + 1", (3, 4), ""),
    "identity": ("sym.identity(x)", (3, 4), "Identity"),
    "ctc head": ("sym.log_softmax(sym.transpose(x, axes=(1, 0, 2)), axis=-1)", (2, 5, 3), "Transpose LogSoftmax"),
    "smooth l1": ("sym.smooth_l1(x, scalar=0.8)", (3, 4), ""),
    "softmax cross entropy": ("sym.softmax_cross_entropy(x, sym.argmax(x, axis=1))", (3, 4), ""),
    # -- products and shapes
    "fully connected": ("sym.FullyConnected(x, num_hidden=3)", (2, 4), "Gemm"),
    "fully connected flattened": ("sym.FullyConnected(x, num_hidden=3)", (2, 4, 3), "Flatten Gemm"),
    "fully connected rows": ("sym.FullyConnected(x, num_hidden=3, flatten=False, no_bias=True)", (2, 4, 3), ""),
    "fully connected rows bias": ("sym.FullyConnected(x, num_hidden=3, flatten=False)", (2, 4, 3), ""),
    "flatten": ("sym.Flatten(x)", (2, 3, 4), "Flatten"),
    "flatten vector": ("sym.Flatten(x)", (4,), ""),
    "upsampling": ("sym.UpSampling(x, scale=2, sample_type='nearest')", (1, 2, 3, 2), "Resize"),
    "upsampling several": (
        "sym.UpSampling(x, sym.Pooling(x, kernel=(2, 2), stride=(2, 2)), scale=2, sample_type='nearest', num_args=2)",
        (1, 2, 4, 6),
        "",
    ),
    "upsampling sum": (
        (
            "sym.UpSampling(x, sym.Pooling(x, kernel=(2, 2), stride=(2, 2)), scale=2, sample_type='nearest', "
            "num_args=2, multi_input_mode='sum')"
        ),
        (1, 2, 4, 6),
        "",
    ),
    "upsampling bilinear": (
        (
            "sym.UpSampling(x, sym.var('up', shape=(2, 1, 4, 4)), scale=2, sample_type='bilinear', num_filter=2, "
            "num_args=2)"
        ),
        (1, 2, 3, 4),
        "",
    ),
    "bilinear resize": ("sym.contrib.BilinearResize2D(x, height=7, width=5)", (1, 2, 3, 4), ""),
    "bilinear resize smaller": ("sym.contrib.BilinearResize2D(x, height=3, width=2)", (1, 2, 7, 5), ""),
    "bilinear resize half pixels": (
        "sym.contrib.BilinearResize2D(x, height=7, width=5, align_corners=False)",
        (1, 2, 3, 4),
        "",
    ),
    "bilinear resize scale": (
        "sym.contrib.BilinearResize2D(x, scale_height=2, scale_width=1.5)",
        (1, 2, 3, 4),
        "",
    ),
    **{
        f"bilinear resize {mode}": (
            f"sym.contrib.BilinearResize2D(x, scale_height=2, scale_width=2, mode='{mode}')",
            (1, 2, 3, 4),
            "",
        )
        for mode in ("odd_scale", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")
    },
    "bilinear resize like": (
        "sym.contrib.BilinearResize2D(x, sym.tile(x, reps=(1, 1, 2, 3)), mode='like')",
        (1, 2, 3, 4),
        "",
    ),
    "crop": ("sym.Crop(x, h_w=(2, 3), offset=(1, 1))", (1, 2, 4, 5), ""),
    "crop centre": ("sym.Crop(x, h_w=(2, 3), center_crop=True)", (1, 2, 4, 5), ""),
    "crop like": ("sym.Crop(x, sym.Pooling(x, kernel=(2, 3)), num_args=2, offset=(1, 0))", (1, 2, 4, 5), ""),
    "pad constant": (
        "sym.Pad(x, mode='constant', constant_value=1.5, pad_width=(0, 0, 0, 0, 1, 2, 0, 1))",
        (1, 2, 3, 4),
        "Pad",
    ),
    "pad edge": ("sym.Pad(x, mode='edge', pad_width=(0, 0, 0, 0, 1, 2, 3, 1))", (1, 2, 3, 4), "Pad"),
    "pad reflect": ("sym.Pad(x, mode='reflect', pad_width=(0, 0, 0, 0, 1, 2, 3, 1))", (1, 2, 3, 4), "Pad"),
    "concat": ("sym.Concat(x, x * 2, dim=1)", (2, 3), "Mul Concat"),
    "concat last": ("sym.Concat(x, x * 2, dim=-1)", (2, 3), "Mul Concat"),
    "slice channel": ("sym.Group(list(sym.SliceChannel(x, num_outputs=3)))", (2, 6), "Split"),
    "slice channel squeezed": (
        "sym.Group(list(sym.SliceChannel(x, num_outputs=3, axis=2, squeeze_axis=True)))",
        (2, 4, 3),
        "",
    ),
    "slice": ("sym.slice(x, begin=(None, 1), end=(None, 3))", (2, 4), "Slice"),
    "slice steps": ("sym.slice(x, begin=(None, 3, 0), end=(None, None, 3), step=(-1, -2, 2))", (2, 4, 5), "Slice"),
    "slice negative": ("sym.slice(x, begin=(0, -3), end=(1, -1))", (2, 4), "Slice"),
    "slice axis": ("sym.slice_axis(x, axis=-1, begin=-3, end=None)", (2, 4), "Slice"),
    "slice like": ("sym.slice_like(x, sym.slice_axis(x, axis=1, begin=0, end=2), axes=(1,))", (2, 4), ""),
    "slice like all": ("sym.slice_like(x, sym.slice(x, begin=(0, 0), end=(1, 2)))", (2, 4), ""),
    "swap axes": ("sym.SwapAxis(x, dim1=0, dim2=2)", (2, 3, 4), "Transpose"),
    **{
        f"reshape {shape}": (f"sym.Reshape(x, shape={shape}, reverse={reverse})", (2, 3, 4), "Reshape")
        for shape, reverse in {
            (0, -1): False,
            (-1, 0): True,
            (-2,): False,
            (-3, 0): False,
            (0, -3): False,
            (-4, 1, -1, -2): False,
            (-4, -1, 2, -2): False,
            (4, 3, -1): False,
            (0, 0, -4, 2, -1): False,
            (-3, -1): True,
        }.items()
    },
    "depth to space": ("sym.depth_to_space(x, block_size=2)", (1, 8, 2, 3), "DepthToSpace"),
    "space to depth": ("sym.space_to_depth(x, block_size=2)", (1, 2, 4, 6), "SpaceToDepth"),
    "im2col": ("sym.im2col(x, kernel=(2, 3), stride=(2, 1), pad=(1, 0))", (2, 3, 4, 5), ""),
    "correlation": (
        "sym.Correlation(x, x * 2, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=1)",
        (1, 2, 4, 5),
        "",
    ),
    "clip": ("sym.clip(x, a_min=-0.5, a_max=1)", (3, 4), "Clip"),
    "grid sampling": (
        "sym.BilinearSampler(x, sym.tanh(sym.slice_axis(x, axis=1, begin=0, end=2)))",
        (2, 3, 4, 5),
        "",
    ),
    "spatial transformer": (
        (
            "sym.SpatialTransformer(x, sym.reshape(sym.slice(x, begin=(0, 0, 0, 0), end=(2, 3, 1, 2)), shape=(2, 6)), "
            "target_shape=(3, 4), transform_type='affine', sampler_type='bilinear')"
        ),
        (2, 3, 4, 5),
        "",
    ),
    "arange": ("sym.broadcast_add(x, sym.arange(0, 4))", (2, 4), ""),
    "div sqrt dim": ("sym.contrib.div_sqrt_dim(x)", (2, 5), "Div"),
    "selfatt qk": ("sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2)", (5, 3, 24), ""),
    "selfatt valatt": (
        (
            "sym.contrib.interleaved_matmul_selfatt_valatt(x, sym.softmax(sym.contrib.interleaved_matmul_selfatt_qk(x, "
            "heads=2)), heads=2)"
        ),
        (5, 3, 24),
        "",
    ),
    "encdec qk": (
        (
            "sym.contrib.interleaved_matmul_encdec_qk(sym.slice_axis(x, axis=2, begin=0, end=8), "
            "sym.slice_axis(x, axis=2, begin=8, end=24), heads=2)"
        ),
        (5, 3, 24),
        "",
    ),
    "encdec valatt": (
        (
            "sym.contrib.interleaved_matmul_encdec_valatt(sym.slice_axis(x, axis=2, begin=8, end=24), "
            "sym.softmax(sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2)), heads=2)"
        ),
        (5, 3, 24),
        "",
    ),
}


def layer(expression: str) -> Any:
    return eval(expression, {"sym": mx.sym, "x": mx.sym.var("x")})
