"""MobileNets: Howard et al., "MobileNets: efficient convolutional neural networks for mobile vision applications"
(2017), and Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks" (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.docstrings import documented
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, Network, prepared, variant
from minpy.namespaces import module_functions

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]

# Channels and stride of each separable convolution (table 1 of the first paper).
_V1 = [
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1),
]  # fmt: skip
# Expansion, channels, number and first stride of bottlenecks (table 2 of the second paper).
_V2 = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


_NETWORK = """
Parameters
----------
multiplier : float
    By which the numbers of channels are multiplied.
classes : int
    How many scores there are for each image.
**kwargs
    `prefix` and `params`, as of any block.

Examples
--------
>>> from minpy import nd
>>> net = {name}(0.25, classes=10)
>>> net.initialize()
>>> net(nd.zeros((1, 3, 32, 32))).shape
(1, 10)
"""


class RELU6(HybridBlock):
    """The rectifier that is cut off at 6: min(max(x, 0), 6).

    Parameters
    ----------
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> RELU6()(nd.array([-1, 3, 9])).asnumpy()
    array([0., 3., 6.], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6, name="relu6")


def _add_conv(
    layers: nn.HybridSequential,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
    active: bool = True,
    limited: bool = False,
) -> None:
    """Add a normalized convolution, rectified unless it is not `active`, and then below 6 if `limited`."""
    layers.add(nn.Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False), nn.BatchNorm(scale=True))
    if active:
        layers.add(RELU6() if limited else nn.Activation("relu"))


class LinearBottleneck(HybridBlock):
    """More channels, a convolution a channel, fewer channels without a rectifier: table 1 of "MobileNetV2" (2018).

    Parameters
    ----------
    in_channels : int
        How many channels there are before it.
    channels : int
        How many there are behind it.
    t : int
        How many times as many there are inside as before.
    stride : int
        Of the convolution; if it is 1 and the channels are as many, the input is added.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> block = LinearBottleneck(4, 8, t=6, stride=2)
    >>> block.initialize()
    >>> block(nd.zeros((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        with self.name_scope():
            self.out = nn.HybridSequential()
            inside = in_channels * t
            _add_conv(self.out, inside, limited=True)
            _add_conv(self.out, inside, 3, stride, 1, inside, limited=True)
            _add_conv(self.out, channels, active=False)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


@documented(parameters=_NETWORK.format(name="MobileNet"))
class MobileNet(Classifier):
    """A network of Howard et al., "MobileNets" (2017).

    {parameters}
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            channels = int(32 * multiplier)
            with self.features.name_scope():
                _add_conv(self.features, channels, 3, 2, 1)
                for wide, stride in _V1:
                    _add_conv(self.features, channels, 3, stride, 1, channels)
                    channels = int(wide * multiplier)
                    _add_conv(self.features, channels)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


@documented(parameters=_NETWORK.format(name="MobileNetV2"))
class MobileNetV2(Classifier):
    """A network of Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks" (2018).

    {parameters}
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                channels = int(32 * multiplier)
                _add_conv(self.features, channels, 3, 2, 1, limited=True)
                for expansion, wide, count, first in _V2:
                    for number in range(count):
                        before, channels = channels, int(wide * multiplier)
                        self.features.add(LinearBottleneck(before, channels, expansion, 1 if number else first))
                last = int(1280 * multiplier) if multiplier > 1 else 1280
                _add_conv(self.features, last, limited=True)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


def _file_name(prefix: str, multiplier: float) -> str:
    """Return the name of the weights: 'mobilenet0.25', 'mobilenet0.5'."""
    text = f"{multiplier:.2f}"
    return prefix + (text[:-1] if text in ("1.00", "0.50") else text)


@documented(pretrained=PRETRAINED)
def get_mobilenet(
    multiplier: float, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any
) -> MobileNet:
    """Return a MobileNet, for images of shape (3, 224, 224) or others.

    Parameters
    ----------
    multiplier : float
        By which the numbers of channels are multiplied: 0.25, 0.5, 0.75, 1, or another.
    {pretrained}
    **kwargs
        What `MobileNet` takes: `classes`, `prefix`.

    Examples
    --------
    >>> get_mobilenet(0.5, classes=10).output
    Dense(None -> 10, linear)
    """
    return prepared(MobileNet(multiplier, **kwargs), _file_name("mobilenet", multiplier), pretrained, ctx, root)


@documented(pretrained=PRETRAINED)
def get_mobilenet_v2(
    multiplier: float, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any
) -> MobileNetV2:
    """Return a MobileNet of version 2, for images of shape (3, 224, 224) or others.

    Parameters
    ----------
    multiplier : float
        By which the numbers of channels are multiplied: 0.25, 0.5, 0.75, 1, or another.
    {pretrained}
    **kwargs
        What `MobileNetV2` takes: `classes`, `prefix`.

    Examples
    --------
    >>> get_mobilenet_v2(0.5, classes=10).output[0]
    Conv2D(None -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)
    """
    return prepared(MobileNetV2(multiplier, **kwargs), _file_name("mobilenetv2_", multiplier), pretrained, ctx, root)


def _variant(network: type[Network], multiplier: float) -> Callable[..., Network]:
    is_first = network is MobileNet
    make = get_mobilenet if is_first else get_mobilenet_v2
    return variant(
        f"{make.__name__.removeprefix('get_')}{'' if is_first else '_'}{multiplier}".replace(".", "_"),
        network,
        f"{network.__name__} with {multiplier} times the channels",
        f"{make.__name__}({multiplier})",
        ".output\nDense(None -> 10, linear)" if is_first else ".output[1]\nFlatten",
        make,
        multiplier,
    )


mobilenet1_0 = _variant(MobileNet, 1.0)
mobilenet0_75 = _variant(MobileNet, 0.75)
mobilenet0_5 = _variant(MobileNet, 0.5)
mobilenet0_25 = _variant(MobileNet, 0.25)
mobilenet_v2_1_0 = _variant(MobileNetV2, 1.0)
mobilenet_v2_0_75 = _variant(MobileNetV2, 0.75)
mobilenet_v2_0_5 = _variant(MobileNetV2, 0.5)
mobilenet_v2_0_25 = _variant(MobileNetV2, 0.25)

__dir__, __getattr__ = module_functions(__name__, __all__)
