"""Layers of windows: convolutions, transposed and deformable ones, pooling, reflected edges, shuffled pixels."""

from gluon_layers.declaration import Floats, Layer

LENGTHS = {1: (6,), 2: (4, 6), 3: (3, 4, 2)}
FIRST = {axes: Floats((2, 4, *lengths)) for axes, lengths in LENGTHS.items()}
LAST = {axes: Floats((2, *lengths, 4)) for axes, lengths in LENGTHS.items()}
# Outputs of transposed convolutions are larger.
SHORT = {axes: Floats((1, 4, *lengths)) for axes, lengths in {1: (4,), 2: (3, 2), 3: (2, 3, 1)}.items()}
LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
# MXNet 1.9.1 has no gradient for it on a CPU.
ON_GPUS = {"mxnet_runs": False}


def convolution(name: str, kind: str, options: str, axes: int, **claims: bool) -> Layer:
    """Declare a convolution of 4 channels, which it may have to find out."""
    build = f"nn.{kind}({options})"
    inputs = SHORT if kind.endswith("Transpose") else FIRST
    return Layer(name, build, inputs[axes], given=f"{build[:-1]}, in_channels=4)", **claims)


def deformable(name: str, kind: str, options: str, **claims: bool) -> Layer:
    """Declare a deformable convolution of 4 channels, whose offsets are in between the image's points."""
    build = f"gluon.contrib.cnn.{kind}({options})"
    return Layer(name, build, Floats((1, 4, 4, 5)), given=f"{build[:-1]}, in_channels=4)", mxnet_numpy=False, **claims)


LAYERS = [
    convolution("conv1d", "Conv1D", "3, 3", 1),
    convolution("conv1d_all", "Conv1D", "6, 3, strides=2, padding=2, dilation=2, groups=2, activation='tanh'", 1),
    convolution("conv2d", "Conv2D", "3, 3", 2),
    convolution("conv2d_uneven", "Conv2D", "3, (3, 2), strides=(2, 1), padding=(1, 0), dilation=(1, 2)", 2),
    convolution("conv2d_all", "Conv2D", "6, 3, strides=2, padding=2, dilation=2, groups=2, activation='sigmoid'", 2),
    convolution("conv2d_no_bias", "Conv2D", "3, 2, use_bias=False", 2),
    convolution("conv2d_no_bias_relu", "Conv2D", "3, 2, activation='relu', use_bias=False", 2),
    convolution("conv2d_pointwise", "Conv2D", "3, 1", 2),
    convolution("conv2d_depthwise", "Conv2D", "4, 3, padding=1, groups=4", 2),
    convolution("conv2d_multiplier", "Conv2D", "8, 3, padding=1, groups=4, use_bias=False", 2),
    convolution("conv2d_prefix", "Conv2D", "3, 3, prefix='stem_', activation='softrelu'", 2),
    convolution("conv2d_initializers", "Conv2D", "3, 3, weight_initializer='xavier', bias_initializer='ones'", 2),
    convolution("conv3d", "Conv3D", "2, 2", 3),
    convolution("conv3d_all", "Conv3D", "4, (2, 3, 1), strides=(1, 2, 1), padding=1, groups=2, activation='tanh'", 3),
    convolution("conv1d_transpose", "Conv1DTranspose", "3, 3", 1),
    convolution("conv1d_transpose_all", "Conv1DTranspose",
                "3, 3, strides=3, padding=1, output_padding=2, activation='tanh', use_bias=False", 1),
    convolution("conv2d_transpose", "Conv2DTranspose", "3, 3", 2),
    convolution("conv2d_transpose_doubles", "Conv2DTranspose", "3, 4, strides=2, padding=1, use_bias=False", 2),
    convolution("conv2d_transpose_uneven", "Conv2DTranspose",
                "3, (3, 2), strides=(2, 3), padding=(1, 0), output_padding=(1, 2), dilation=(1, 2)", 2),
    convolution("conv2d_transpose_groups", "Conv2DTranspose", "4, 3, strides=2, groups=2, activation='tanh'", 2,
                mxnet=False),
    Layer("conv2d_transpose_groups_given", "nn.Conv2DTranspose(4, 3, strides=2, groups=2, in_channels=4)", SHORT[2]),
    convolution("conv3d_transpose", "Conv3DTranspose", "2, 2", 3),
    convolution("conv3d_transpose_all", "Conv3DTranspose",
                "2, 2, strides=(2, 1, 2), output_padding=(1, 0, 1), padding=(0, 1, 0), activation='tanh'", 3),
    *[
        layer
        for axes in (1, 2, 3)
        for layer in (
            Layer(f"max_pool{axes}d", f"nn.MaxPool{axes}D()", FIRST[axes], mxnet_predicts=False),
            Layer(f"max_pool{axes}d_all", f"nn.MaxPool{axes}D(3, 2, 1, ceil_mode=True)", FIRST[axes],
                  mxnet_predicts=False),
            Layer(f"max_pool{axes}d_last", f"nn.MaxPool{axes}D(2, 1, layout={LAYOUTS[axes]!r})", LAST[axes]),
            Layer(f"avg_pool{axes}d", f"nn.AvgPool{axes}D()", FIRST[axes]),
            Layer(f"avg_pool{axes}d_all", f"nn.AvgPool{axes}D(3, 2, 1, ceil_mode=True)", FIRST[axes]),
            Layer(f"avg_pool{axes}d_without_pad", f"nn.AvgPool{axes}D(3, 2, 1, count_include_pad=False)", FIRST[axes]),
            Layer(f"avg_pool{axes}d_last", f"nn.AvgPool{axes}D(2, 1, layout={LAYOUTS[axes]!r})", LAST[axes]),
            Layer(f"global_max_pool{axes}d", f"nn.GlobalMaxPool{axes}D()", FIRST[axes], mxnet_predicts=False),
            Layer(f"global_avg_pool{axes}d", f"nn.GlobalAvgPool{axes}D()", FIRST[axes]),
            Layer(f"global_avg_pool{axes}d_last", f"nn.GlobalAvgPool{axes}D({LAYOUTS[axes]!r})", LAST[axes]),
        )
    ],
    Layer("max_pool2d_uneven", "nn.MaxPool2D((2, 3), (1, 2), (0, 1))", FIRST[2], mxnet_predicts=False),
    Layer("reflection_pad2d", "nn.ReflectionPad2D(2)", Floats((1, 2, 3, 4)), mxnet_numpy=False),
    Layer("reflection_pad2d_sides", "nn.ReflectionPad2D((0, 0, 0, 0, 1, 2, 3, 0))", Floats((1, 2, 3, 4)),
          mxnet_numpy=False),
    Layer("pixel_shuffle1d", "gluon.contrib.nn.PixelShuffle1D(2)", FIRST[1], mxnet_numpy=False),
    Layer("pixel_shuffle2d", "gluon.contrib.nn.PixelShuffle2D(2)", FIRST[2], mxnet_numpy=False),
    Layer("pixel_shuffle2d_uneven", "gluon.contrib.nn.PixelShuffle2D((1, 2))", FIRST[2], mxnet_numpy=False),
    Layer("pixel_shuffle3d", "gluon.contrib.nn.PixelShuffle3D((1, 2, 3))", Floats((1, 12, 2, 1, 3)),
          mxnet_numpy=False),
    deformable("deformable_convolution", "DeformableConvolution", "3, kernel_size=(3, 2), padding=1"),
    deformable("deformable_convolution_all", "DeformableConvolution",
               "6, kernel_size=3, strides=2, padding=2, dilation=2, groups=2, num_deformable_group=2,"
               " activation='tanh'"),
    deformable("deformable_convolution_no_bias", "DeformableConvolution",
               "3, kernel_size=2, use_bias=False, offset_use_bias=False"),
    deformable("modulated_deformable_convolution", "ModulatedDeformableConvolution",
               "3, kernel_size=(3, 2), padding=1", **ON_GPUS),
    deformable("modulated_deformable_convolution_all", "ModulatedDeformableConvolution",
               "6, kernel_size=3, strides=2, padding=2, groups=2, num_deformable_group=2, activation='tanh'",
               **ON_GPUS),
    deformable("modulated_deformable_convolution_no_bias", "ModulatedDeformableConvolution",
               "3, kernel_size=2, use_bias=False, offset_use_bias=False", **ON_GPUS),
]  # fmt: skip
