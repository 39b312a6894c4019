"""Residual networks: He, Zhang, Ren and Sun, "Deep residual learning for image recognition" (2015), version 1, and
"Identity mappings in deep residual networks" (2016), version 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, CheckError
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, Network, prepared, variant
from minpy.namespaces import module_functions

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
]


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=in_channels)


def _conv1x1(channels: int, stride: int, in_channels: int = 0) -> nn.Conv2D:
    return nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)


_BLOCK = """
Parameters
----------
channels : int
    How many channels there are behind it{inside}.
stride : int
    Of the {strided} convolution.
downsample : bool
    Whether the shortcut is a projection to the new shape.
in_channels : int
    How many channels there are before it; 0 if that follows from the data.
**kwargs
    `prefix` and `params`, as of any block.

Examples
--------
>>> from minpy import nd
>>> block = {name}(8, 2, downsample=True, in_channels=4)
>>> block.initialize()
>>> block(nd.zeros((1, 4, 6, 6))).shape
(1, 8, 3, 3)
"""


class _BlockV1(HybridBlock):
    """A residual block: the sum of `body(x)` and the shortcut, which may be projected, then rectified."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self._fill(channels, stride, in_channels)
        self.downsample: nn.HybridSequential | None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(_conv1x1(channels, stride, in_channels), nn.BatchNorm())
        else:
            self.downsample = None

    def _fill(self, channels: int, stride: int, in_channels: int) -> None:
        raise NotImplementedError

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(self._added(residual, self.body(x)), act_type="relu")

    def _added(self, residual: Any, computed: Any) -> Any:
        return residual + computed


@documented(parameters=_BLOCK.format(name="BasicBlockV1", strided="first", inside=""))
class BasicBlockV1(_BlockV1):
    """Two convolutions with a shortcut: figure 5, left, of "Deep residual learning for image recognition" (2015).

    {parameters}
    """

    def _fill(self, channels: int, stride: int, in_channels: int) -> None:
        self.body.add(_conv3x3(channels, stride, in_channels), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(channels, 1, channels), nn.BatchNorm())


@documented(parameters=_BLOCK.format(name="BottleneckV1", strided="first", inside="; a fourth of them inside"))
class BottleneckV1(_BlockV1):
    """Three convolutions with a shortcut: figure 5, right, of "Deep residual learning for image recognition" (2015).

    The first and the last convolution have biases, as in MXNet, though they are normalized.

    {parameters}
    """

    def _fill(self, channels: int, stride: int, in_channels: int) -> None:
        inside = channels // 4
        self.body.add(nn.Conv2D(inside, 1, stride), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(inside, 1, inside), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, 1, 1), nn.BatchNorm())

    def _added(self, residual: Any, computed: Any) -> Any:
        return computed + residual  # so that graphs list their nodes as MXNet's do


class _BlockV2(HybridBlock):
    """A residual block of convolutions `conv1`, ..., each normalized and rectified before, by `bn1`, ..."""

    _count: ClassVar[int]

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for number, convolution in enumerate(self._convolutions(channels, stride, in_channels), 1):
            setattr(self, f"bn{number}", nn.BatchNorm())
            setattr(self, f"conv{number}", convolution)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> Iterator[nn.Conv2D]:
        raise NotImplementedError

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x
        for number in range(1, self._count + 1):
            x = F.Activation(getattr(self, f"bn{number}")(x), act_type="relu")
            if number == 1 and self.downsample is not None:
                residual = self.downsample(x)
            x = getattr(self, f"conv{number}")(x)
        return x + residual


@documented(parameters=_BLOCK.format(name="BasicBlockV2", strided="first", inside=""))
class BasicBlockV2(_BlockV2):
    """Two convolutions, normalized and rectified before: "Identity mappings in deep residual networks" (2016).

    {parameters}
    """

    _count = 2

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> Iterator[nn.Conv2D]:
        yield _conv3x3(channels, stride, in_channels)
        yield _conv3x3(channels, 1, channels)


@documented(parameters=_BLOCK.format(name="BottleneckV2", strided="second", inside="; a fourth of them inside"))
class BottleneckV2(_BlockV2):
    """Three convolutions, normalized and rectified before: "Identity mappings in deep residual networks" (2016).

    {parameters}
    """

    _count = 3

    def _convolutions(self, channels: int, stride: int, in_channels: int) -> Iterator[nn.Conv2D]:
        inside = channels // 4
        yield _conv1x1(inside, 1)
        yield _conv3x3(inside, stride, inside)
        yield _conv1x1(channels, 1)


def _stage(block: Any, layers: int, channels: int, stride: int, number: int, in_channels: int) -> nn.HybridSequential:
    """Return a stage: blocks of as many channels, the first of which may make the image smaller."""
    stage = nn.HybridSequential(prefix=f"stage{number}_")
    with stage.name_scope():
        stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
        for _ in range(layers - 1):
            stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
    return stage


_NETWORK = """
Parameters
----------
block : type
    What it consists of: `BasicBlockV{version}` or `BottleneckV{version}`.
layers : list of int
    How many blocks there are in each stage.
channels : list of int
    How many channels there are before the first stage, and in each stage.
classes : int
    How many scores there are for each image.
thumbnail : bool
    Whether it begins with a small convolution, for small images, in place of one of 7 × 7 pixels and a pooling.
**kwargs
    `prefix` and `params`, as of any block.

Raises
------
ArgumentValueError
    If the lists do not fit.

Examples
--------
>>> from minpy import nd
>>> net = ResNetV{version}(BasicBlockV{version}, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
>>> net.initialize()
>>> net(nd.zeros((1, 3, 32, 32))).shape
(1, 10)
"""


class _ResNet(Classifier):
    """Stages of residual blocks; the versions differ in the layers before and after them."""

    def __init__(
        self,
        block: Any,
        layers: list[int],
        channels: list[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(channels) - 1:
            raise ArgumentValueError(
                f"{type(self).__name__}: layers has {len(layers)} numbers and channels {len(channels)}; expected one "
                "more, those before the first stage."
            )
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_first(channels[0], thumbnail)
            for number, count in enumerate(layers):
                stride = 2 if number else 1
                self.features.add(_stage(block, count, channels[number + 1], stride, number + 1, channels[number]))
            self._add_last()
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _add_first(self, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
            return
        self.features.add(nn.Conv2D(channels, 7, 2, 3, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        self.features.add(nn.MaxPool2D(3, 2, 1))

    def _add_last(self) -> None:
        self.features.add(nn.GlobalAvgPool2D())


@documented(parameters=_NETWORK.format(version=1))
class ResNetV1(_ResNet):
    """A network of He et al., "Deep residual learning for image recognition" (2015).

    {parameters}
    """


@documented(parameters=_NETWORK.format(version=2))
class ResNetV2(_ResNet):
    """A network of He et al., "Identity mappings in deep residual networks" (2016).

    {parameters}
    """

    def _add_first(self, channels: int, thumbnail: bool) -> None:
        self.features.add(nn.BatchNorm(scale=False, center=False))
        super()._add_first(channels, thumbnail)

    def _add_last(self) -> None:
        self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())


# The block, and the numbers of layers and channels of the stages (table 1 of the first paper).
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}
resnet_net_versions: list[Any] = [ResNetV1, ResNetV2]
resnet_block_versions: list[dict[str, Any]] = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


@documented(pretrained=PRETRAINED)
def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any
) -> Any:
    """Return a residual network, for images of shape (3, 224, 224) or others.

    Parameters
    ----------
    version : {1, 2}
        That of 2015, or of 2016.
    num_layers : {18, 34, 50, 101, 152}
        How many layers it has.
    {pretrained}
    **kwargs
        What `ResNetV1` and `ResNetV2` take: `classes`, `thumbnail`, `prefix`.

    Returns
    -------
    ResNetV1 or ResNetV2

    Raises
    ------
    CheckError
        For another version, or number of layers.

    Examples
    --------
    >>> get_resnet(1, 18, classes=10).output
    Dense(512 -> 10, linear)
    """
    if num_layers not in resnet_spec:
        raise CheckError(
            f"get_resnet: Invalid number of layers: {num_layers!r}; expected one of {', '.join(map(str, resnet_spec))}."
        )
    if version not in (1, 2):
        raise CheckError(f"get_resnet: Invalid resnet version: {version!r}; expected 1 or 2.")
    kind, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][kind]
    net = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return prepared(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def _variant(network: type[Network], num_layers: int) -> Callable[..., Network]:
    version = 2 if network is ResNetV2 else 1
    return variant(
        f"resnet{num_layers}_v{version}",
        network,
        f"the residual network of {num_layers} layers, version {version}",
        f"get_resnet({version}, {num_layers})",
        f".output\nDense({resnet_spec[num_layers][2][-1]} -> 10, linear)",
        get_resnet,
        version,
        num_layers,
    )


resnet18_v1 = _variant(ResNetV1, 18)
resnet34_v1 = _variant(ResNetV1, 34)
resnet50_v1 = _variant(ResNetV1, 50)
resnet101_v1 = _variant(ResNetV1, 101)
resnet152_v1 = _variant(ResNetV1, 152)
resnet18_v2 = _variant(ResNetV2, 18)
resnet34_v2 = _variant(ResNetV2, 34)
resnet50_v2 = _variant(ResNetV2, 50)
resnet101_v2 = _variant(ResNetV2, 101)
resnet152_v2 = _variant(ResNetV2, 152)

__dir__, __getattr__ = module_functions(__name__, __all__)
