"""What layers say to those who misspell an argument, or give them data of another number of axes."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import gluon, nd
from minpy.core.errors import ArgumentError, ShapeError
from minpy.gluon import nn

MODULES = (nn, gluon.rnn, gluon.loss, gluon.contrib.nn, gluon.contrib.rnn, gluon.contrib.cnn)
BLOCKS = sorted(
    {
        cls
        for module in MODULES
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, gluon.Block)
    },
    key=lambda cls: (cls.__module__, cls.__name__),
)
# What blocks are made with that need something else than numbers.
REQUIRED: dict[str, Any] = {
    "activation": "relu",
    "base_cell": gluon.rnn.RNNCell(2),
    "l_cell": gluon.rnn.RNNCell(2),
    "r_cell": gluon.rnn.RNNCell(2),
    "input_shape": (2, 8, 8),
}


@pytest.mark.parametrize("cls", BLOCKS, ids=lambda cls: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}")
def test_a_misspelt_keyword_is_told_with_the_class_and_the_nearest_name(cls: Any) -> None:
    parameters = [*inspect.signature(cls).parameters.values()]
    required = [one.name for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    given = {name: REQUIRED.get(name, 3) for name in required}
    names = [one.name for one in parameters if one.default is not one.empty] or ["prefix"]
    name = max(names, key=len)
    misspelt = name[:-3] + name[-2:]
    with pytest.raises(TypeError) as caught:
        cls(**given, **{misspelt: 1})
    assert isinstance(caught.value, ArgumentError)
    text = str(caught.value)
    assert text.startswith(f"{cls.__name__} has no argument {misspelt!r}; it takes "), text
    if name in text.partition("it takes ")[2].partition(".")[0].split(", "):
        assert f" Did you mean {name!r}" in text or f"or {name!r}?" in text, text


def test_the_whole_message() -> None:
    with pytest.raises(ArgumentError) as caught:
        nn.Dense(3, activaton="relu")  # type: ignore[call-arg]
    assert str(caught.value) == (
        "Dense has no argument 'activaton'; it takes units, activation, use_bias, flatten, dtype, weight_initializer, "
        "bias_initializer, in_units, prefix, params. Did you mean 'activation'?"
    )
    assert str(inspect.signature(gluon.rnn.LSTMCell)).startswith("(hidden_size: ")
    assert pickle.loads(pickle.dumps(nn.LayerNorm)) is nn.LayerNorm


class Net(gluon.HybridBlock):
    def __init__(self, width: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width = width


def test_a_users_block_hands_on_a_keyword_that_nobody_takes() -> None:
    with pytest.raises(ArgumentError) as caught:
        Net(3, widht=4)
    assert str(caught.value) == ("Net has no argument 'widht'; it takes width, prefix, params. Did you mean 'width'?")
    assert Net(3, prefix="net_").prefix == "net_"


IMAGES = "(batch, channels, height, width)"
LAYERS: dict[str, tuple[Any, str]] = {
    "Conv1D": (lambda: nn.Conv1D(3, 2), "(batch, channels, width)"),
    "Conv2D": (lambda: nn.Conv2D(3, 2), IMAGES),
    "Conv3D": (lambda: nn.Conv3D(3, 2), "(batch, channels, depth, height, width)"),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(3, 2), IMAGES),
    "DeformableConvolution": (lambda: nn.DeformableConvolution(3, (2, 2)), IMAGES),
    "MaxPool1D": (lambda: nn.MaxPool1D(), "(batch, channels, width)"),
    "AvgPool2D": (lambda: nn.AvgPool2D(layout="NHWC"), "(batch, height, width, channels)"),
    "GlobalMaxPool3D": (lambda: nn.GlobalMaxPool3D(), "(batch, channels, depth, height, width)"),
    "ReflectionPad2D": (lambda: nn.ReflectionPad2D(1), IMAGES),
    "PixelShuffle2D": (lambda: nn.PixelShuffle2D(2), IMAGES),
}


@pytest.mark.parametrize("hybridized", [False, True], ids=["eager", "hybridized"])
@pytest.mark.parametrize("name", LAYERS)
def test_data_of_another_number_of_axes(name: str, hybridized: bool) -> None:
    make, axes = LAYERS[name]
    count = axes.count(",") + 1
    for rank in {2, 3, 4, 5} - {count}:
        layer = make()
        layer.initialize()
        if hybridized:
            layer.hybridize()
        shape = (2, 4, 6, 6, 6)[:rank]
        with pytest.raises(ShapeError) as caught:
            layer(nd.ones(shape))
        expected = f"{name} {layer.name!r}: data has shape {shape}, with {rank} axes; expected {count}: {axes}. "
        one_less = "One item without a batch becomes a batch of one with data.expand_dims(0)."
        expected += one_less if rank == count - 1 else f"Give it these axes with data.reshape({axes})."
        assert str(caught.value) == expected
    good = layer(nd.ones((2, 4, 6, 6, 6)[:count]))  # nothing is spoilt
    assert good.shape[0] == 2


@pytest.mark.parametrize("kind", ["conv", "pool"])
def test_a_layer_inside_of_a_hybridized_net(kind: str) -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(3, 2) if kind == "conv" else nn.MaxPool2D())
    net.initialize()
    net.hybridize()
    with pytest.raises(ShapeError) as caught:
        net(nd.ones((2, 4)))
    assert f"node 'net_{kind}0_fwd'" in str(caught.value)
    assert f"data has shape (2, 4), with 2 axes; expected 4: {IMAGES}." in str(caught.value)
    net.hybridize(False)
    with pytest.raises(ShapeError, match=rf"^(Conv2D|MaxPool2D) 'net_{kind}0': data has shape \(2, 4\)"):
        net(nd.ones((2, 4)))
    np.testing.assert_equal(net(mx.nd.ones((1, 1, 4, 4))).shape[0], 1)
