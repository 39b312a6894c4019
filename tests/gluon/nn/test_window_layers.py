"""Convolutions, pooling and their like as layers: what they compute, and what they say of bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import nd
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, ShapeError

gluon, nn = mx.gluon, mx.gluon.nn
NO_LAST = "which convolutions do not have here; expected 'NCHW'. Transpose the data with x.transpose((0, 3, 1, 2)), and"


def draw(*shape: int) -> Any:
    return nd.array(np.sin(np.arange(np.prod(shape)) * 1.7 + 1).reshape(shape))


# -- what they are -----------------------------------------------------------------------------------------------------


def test_modules_that_programs_import_from() -> None:
    from minpy.gluon.contrib.cnn.conv_layers import DeformableConvolution
    from minpy.gluon.contrib.nn.basic_layers import PixelShuffle2D
    from minpy.gluon.nn.conv_layers import Conv2D, _Conv, _Pooling

    assert Conv2D is nn.Conv2D
    assert issubclass(nn.Conv2DTranspose, _Conv)
    assert issubclass(nn.GlobalAvgPool2D, _Pooling)
    assert DeformableConvolution is gluon.contrib.cnn.DeformableConvolution is nn.DeformableConvolution
    assert PixelShuffle2D is gluon.contrib.nn.PixelShuffle2D is nn.PixelShuffle2D


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_transposed_convolution_undoes_the_lengths(axes: int) -> None:
    x = draw(1, 2, *(8, 6, 4)[:axes])
    down = getattr(nn, f"Conv{axes}D")(3, 3, strides=2, padding=1)
    up = getattr(nn, f"Conv{axes}DTranspose")(2, 3, strides=2, padding=1, output_padding=1)
    down.initialize()
    up.initialize()
    assert up(down(x)).shape == x.shape


@pytest.mark.parametrize("kind", ["DeformableConvolution", "ModulatedDeformableConvolution"])
def test_without_offsets_a_deformable_convolution_is_a_convolution(kind: str) -> None:
    options = {"kernel_size": 2, "strides": 2, "padding": 1, "groups": 2, "in_channels": 4, "activation": "tanh"}
    layer = getattr(nn, kind)(6, **options)
    layer.initialize(mx.init.Normal(1))
    plain = nn.Conv2D(6, **options)
    plain.initialize()
    plain.weight.set_data(layer.deformable_conv_weight.data())
    np.testing.assert_allclose(layer(draw(2, 4, 5, 6)).asnumpy(), plain(draw(2, 4, 5, 6)).asnumpy(), 1e-5, 1e-6)


def test_a_modulated_deformable_convolution_is_its_operators() -> None:
    layer = nn.ModulatedDeformableConvolution(3, kernel_size=2, num_deformable_group=2, offset_weight_initializer="one")
    layer.initialize(mx.init.Normal(1))
    x = draw(1, 4, 4, 5)
    out = layer(x)
    computed = nd.Convolution(x, layer.offset_weight.data(), layer.offset_bias.data(), kernel=(2, 2), num_filter=24)
    expected = nd.contrib.ModulatedDeformableConvolution(
        x,
        computed[:, :16],
        2 * nd.sigmoid(computed[:, 16:]),
        layer.deformable_conv_weight.data(),
        layer.deformable_conv_bias.data(),
        kernel=(2, 2),
        num_filter=3,
        num_deformable_group=2,
    )
    np.testing.assert_allclose(out.asnumpy(), expected.asnumpy(), 1e-5, 1e-6)


@pytest.mark.parametrize(("factors", "lengths"), [((2,), (3,)), ((2, 3), (3, 2)), ((1, 2, 3), (2, 1, 3))])
@pytest.mark.parametrize("numpy", [False, True])
def test_pixel_shuffle_is_its_formula(factors: tuple[int, ...], lengths: tuple[int, ...], numpy: bool) -> None:
    count, channels = len(factors), 2
    x = np.arange(2 * channels * np.prod(factors) * np.prod(lengths)).reshape(2, -1, *lengths)
    split = x.reshape(2, channels, *factors, *lengths)
    order = [0, 1] + [axis for one in range(count) for axis in (2 + count + one, 2 + one)]
    expected = split.transpose(order).reshape(2, channels, *np.multiply(factors, lengths))
    layer = getattr(nn, f"PixelShuffle{count}D")(factors)
    with mx.util.np_shape(numpy), mx.util.np_array(numpy):
        given = mx.np.array(x) if numpy else nd.array(x)
        for hybridized in (False, True):
            layer.hybridize(hybridized)
            assert (layer(given).asnumpy() == expected).all()


def test_lengths_may_be_lists_and_numpy_integers() -> None:
    layer = nn.Conv2D(np.int64(4), [3, np.int32(2)], strides=[2, 1], padding=np.arange(2))
    assert repr(layer) == "Conv2D(None -> 4, kernel_size=(3, 2), stride=(2, 1), padding=(0, 1))"
    layer.initialize()
    assert layer(draw(1, 3, 5, 5)).shape == (1, 4, 2, 6)


def test_parameters_are_shared_by_params() -> None:
    first = nn.Conv2D(4, 3, in_channels=2, prefix="first_")
    second = nn.Conv2D(4, 3, in_channels=2, params=first.params)
    assert second.weight is first.weight
    assert second.bias.name == "first_bias"


def test_groups_of_a_transposed_convolution_need_no_channels() -> None:
    layer = nn.Conv2DTranspose(6, 2, groups=2)
    layer.initialize()
    assert layer(draw(1, 4, 3, 3)).shape == (1, 6, 4, 4)
    assert layer.weight.shape == (4, 3, 2, 2)


def test_repr_under_np_shape() -> None:
    with mx.util.np_shape(True):
        assert repr(nn.Conv2D(4, 3)) == "Conv2D(None -> 4, kernel_size=(3, 3), stride=(1, 1))"


# -- bad input ---------------------------------------------------------------------------------------------------------

MADE: list[tuple[str, type[Exception], str]] = [
    ("nn.Conv2D(4, (3,))", ArgumentValueError,
     "Conv2D: kernel_size is (3,); expected a whole number or 2 of them, >= 1."),
    ("nn.Conv1D(4, (3, 3))", ArgumentValueError, "Conv1D: kernel_size is (3, 3); expected one whole number, >= 1."),
    ("nn.Conv3D(4, 0)", ArgumentValueError, "Conv3D: kernel_size is 0; expected a whole number or 3 of them, >= 1."),
    ("nn.Conv2D(4, 2.0)", ArgumentValueError, "kernel_size is 2.0; expected a whole number or 2 of them, >= 1."),
    ("nn.Conv2D(4, '3')", ArgumentValueError, "kernel_size is '3'; expected a whole number or 2 of them, >= 1."),
    ("nn.Conv2D(4, 3, strides=(2,))", ArgumentValueError, "strides is (2,); expected a whole number or 2 of them"),
    ("nn.Conv2D(4, 3, padding=-1)", ArgumentValueError, "padding is -1; expected a whole number or 2 of them, >= 0."),
    ("nn.Conv2D(4, 3, dilation=(1, 2, 1))", ArgumentValueError, "dilation is (1, 2, 1); expected a whole number or 2"),
    ("nn.Conv2D(0, 3)", ArgumentValueError, "Conv2D: channels is 0; expected an integer of at least 1."),
    ("nn.Conv2D(4.0, 3)", ArgumentError, "Conv2D: channels is float 4.0; expected an integer."),
    ("nn.Conv2D(4, 3, groups=0)", ArgumentValueError, "Conv2D: groups is 0; expected an integer of at least 1."),
    ("nn.Conv2D(4, 3, groups=3)", ShapeError, "Conv2D: groups is 3, which does not divide channels=4."),
    ("nn.Conv2D(4, 3, groups=2, in_channels=3)", ShapeError, "groups is 2, which does not divide in_channels=3."),
    ("nn.Conv2D(4, 3, layout='NCW')", ArgumentValueError,
     "Conv2D: layout is 'NCW'; expected 'NCHW' for data of 4 axes."),
    ("nn.Conv2D(4, 3, layout='NHWC')", ArgumentValueError, "Conv2D: layout is 'NHWC', " + NO_LAST),
    ("nn.Conv2DTranspose(4, 3, layout='NHWC')", ArgumentValueError, "Conv2DTranspose: layout is 'NHWC', " + NO_LAST),
    ("nn.Conv1D(4, 3, layout='NWC')", ArgumentValueError,
     "Conv1D: layout is 'NWC', which convolutions do not have here"),
    ("nn.Conv2DTranspose(4, 3, output_padding=(1,))", ArgumentValueError,
     "Conv2DTranspose: output_padding is (1,); expected a whole number or 2 of them, >= 0."),
    ("nn.Conv2DTranspose(4, 3, strides=2, output_padding=2)", ArgumentValueError,
     "output_padding is (2, 2) for strides (2, 2); it must be less than the stride of each axis."),
    ("nn.MaxPool2D((2,))", ArgumentValueError,
     "MaxPool2D: pool_size is (2,); expected a whole number or 2 of them, >= 1."),
    ("nn.AvgPool1D(2, 'a')", ArgumentValueError, "AvgPool1D: strides is 'a'; expected "),
    ("nn.AvgPool3D(layout='NCHW')", ArgumentValueError,
     "AvgPool3D: layout is 'NCHW'; expected 'NCDHW' or 'NDHWC' for data of 5 axes."),
    ("nn.GlobalAvgPool2D('NCW')", ArgumentValueError,
     "GlobalAvgPool2D: layout is 'NCW'; expected 'NCHW' or 'NHWC' for data of 4 axes."),
    ("nn.ReflectionPad2D((1, 2))", ArgumentValueError,
     "ReflectionPad2D: padding is (1, 2); expected a whole number >= 0, or 8 of them: (0, 0, 0, 0, top, bottom, "),
    ("nn.ReflectionPad2D((0, 0, 1, 1, 1, 1, 1, 1))", ArgumentValueError, "or 8 of them: (0, 0, 0, 0, top, bottom"),
    ("nn.ReflectionPad2D('1')", ArgumentValueError, "ReflectionPad2D: padding is '1'; expected a whole number >= 0"),
    ("nn.PixelShuffle1D('a')", ArgumentValueError, "PixelShuffle1D: factor is 'a'; expected a whole number, >= 1."),
    ("nn.PixelShuffle1D(2.5)", ArgumentValueError, "PixelShuffle1D: factor is 2.5; expected a whole number, >= 1."),
    ("nn.PixelShuffle2D((1, 2, 3))", ArgumentValueError,
     "PixelShuffle2D: factor is (1, 2, 3); expected a whole number or 2 of them, >= 1."),
    ("nn.DeformableConvolution(4, layout='NHWC')", ArgumentValueError, "DeformableConvolution: layout is 'NHWC', "),
    ("nn.DeformableConvolution(4, adj=1)", ArgumentError,
     "DeformableConvolution: adj is int 1; only transposed convolutions have one."),
    ("nn.DeformableConvolution(3, kernel_size=1, groups=3)", ShapeError,
     "groups is 3, which does not divide offset_channels=2"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "kind", "message"), MADE, ids=[row[0] for row in MADE])
def test_what_layers_cannot_be(source: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        eval(source)
    assert message in str(caught.value)
    assert isinstance(caught.value, MXNetError)


# The message of the operator, and that of the graph, if it is another.
CALLED: list[tuple[str, tuple[int, ...], str, str]] = [
    ("nn.Conv2D(4, 3, in_channels=5)", (2, 3, 6, 6),
     "weight has shape (4, 5, 3, 3); expected (4, 3, 3, 3), which is (num_filter, channels / num_group, *kernel), for",
     "weight conv0_weight (4, 5, 3, 3), bias conv0_bias (4,): lengths that must be equal are 3 and 5."),
    ("nn.Conv2D(4, 3, groups=2)", (2, 3, 6, 6), "num_group is 2; it must divide the 3 channels of data", ""),
    ("nn.Conv2D(4, 3)", (2, 3, 6), "Conv2D 'conv0': data has shape (2, 3, 6), with 3 axes; expected 4: ", ""),
    ("nn.Conv2D(4, 3, in_channels=3)", (2, 3, 6), "(batch, channels, height, width). One item without a batch", ""),
    ("nn.Conv2DTranspose(4, 3, in_channels=5)", (2, 3, 6, 6), "weight has shape (5, 4, 3, 3); expected (3, 4, 3, 3)",
     "(5, 4, 3, 3) and (3, 4, 3, 3) differ."),
    ("nn.Conv2D(4, 3)", (2, 3, 2, 2), "(2, 3, 2, 2)", ""),
    ("nn.MaxPool2D(7)", (2, 3, 6, 6), "kernel=(7, 7), pad=(0, 0) for data of shape (2, 3, 6, 6)", ""),
    ("nn.MaxPool2D()", (2, 3, 6), "MaxPool2D 'pool0': data has shape (2, 3, 6), with 3 axes; expected 4: ", ""),
    ("nn.PixelShuffle2D(2)", (2, 3, 6, 6), "cannot reshape (2, 3, 6, 6)", ""),
    ("nn.DeformableConvolution(4, num_deformable_group=3)", (2, 4, 6, 6),
     "num_deformable_group 3; both must divide the 4 channels", ""),
]  # fmt: skip


@pytest.mark.parametrize(("source", "shape", "eager", "hybridized"), CALLED, ids=[f"{row[:2]}" for row in CALLED])
@pytest.mark.parametrize("is_hybridized", [False, True], ids=["eager", "hybridized"])
def test_what_layers_cannot_be_called_on(
    source: str, shape: tuple[int, ...], eager: str, hybridized: str, is_hybridized: bool
) -> None:
    with mx.name.NameManager():
        layer = eval(source)
    layer.initialize()
    layer.hybridize(is_hybridized)
    with pytest.raises((ShapeError, ArgumentError)) as caught:
        layer(draw(*shape))
    assert (hybridized or eager if is_hybridized else eager) in str(caught.value)
