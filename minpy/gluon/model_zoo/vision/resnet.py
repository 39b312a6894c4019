"""Residual networks: He, Zhang, Ren and Sun, "Deep residual learning for image recognition" (2015), version 1, and
"Identity mappings in deep residual networks" (2016), version 2.
"""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ArgumentValueError, CheckError
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock
from minpy.gluon.model_zoo.vision.weights import CPU, ROOT, prepared
from minpy.namespaces import listing, missing

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


class _BlockV1(HybridBlock):
    """What layers compute of x, and x itself, or projected to their shape, added; then rectified."""

    def __init__(self, channels: int, stride: int, downsample: bool, in_channels: int, **kwargs: Any) -> None:
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


class BasicBlockV1(_BlockV1):
    """Two convolutions with a shortcut: figure 5, left, of "Deep residual learning for image recognition" (2015).

    Parameters
    ----------
    channels : int
        How many channels there are behind it.
    stride : int
        Of the first convolution.
    downsample : bool
        Whether the shortcut is a projection to the new shape.
    in_channels : int
        How many channels there are before it; 0 if that follows from the data.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> block = BasicBlockV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(nd.zeros((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(channels, stride, downsample, in_channels, **kwargs)

    def _fill(self, channels: int, stride: int, in_channels: int) -> None:
        self.body.add(_conv3x3(channels, stride, in_channels), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(channels, 1, channels), nn.BatchNorm())


class BottleneckV1(_BlockV1):
    """Three convolutions with a shortcut: figure 5, right, of "Deep residual learning for image recognition" (2015).

    The first and the last convolution have biases, as in MXNet, though they are normalized.

    Parameters
    ----------
    channels : int
        How many channels there are behind it; a fourth of them inside.
    stride : int
        Of the first convolution.
    downsample : bool
        Whether the shortcut is a projection to the new shape.
    in_channels : int
        How many channels there are before it; 0 if that follows from the data.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> block = BottleneckV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(nd.zeros((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(channels, stride, downsample, in_channels, **kwargs)

    def _fill(self, channels: int, stride: int, in_channels: int) -> None:
        inside = channels // 4
        self.body.add(nn.Conv2D(inside, 1, stride), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(_conv3x3(inside, 1, inside), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, 1, 1), nn.BatchNorm())

    def _added(self, residual: Any, computed: Any) -> Any:
        return computed + residual  # so that graphs list their nodes as MXNet's do


class BasicBlockV2(HybridBlock):
    """Two convolutions, normalized and rectified before: "Identity mappings in deep residual networks" (2016).

    Parameters
    ----------
    channels : int
        How many channels there are behind it.
    stride : int
        Of the first convolution.
    downsample : bool
        Whether the shortcut is a projection to the new shape.
    in_channels : int
        How many channels there are before it; 0 if that follows from the data.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> block = BasicBlockV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(nd.zeros((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x
        x = F.Activation(self.bn1(x), act_type="relu")
        if self.downsample is not None:
            residual = self.downsample(x)
        x = self.conv1(x)
        x = self.conv2(F.Activation(self.bn2(x), act_type="relu"))
        return x + residual


class BottleneckV2(HybridBlock):
    """Three convolutions, normalized and rectified before: "Identity mappings in deep residual networks" (2016).

    Parameters
    ----------
    channels : int
        How many channels there are behind it; a fourth of them inside.
    stride : int
        Of the second convolution.
    downsample : bool
        Whether the shortcut is a projection to the new shape.
    in_channels : int
        How many channels there are before it; 0 if that follows from the data.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> block = BottleneckV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(nd.zeros((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        inside = channels // 4
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv1x1(inside, 1)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(inside, stride, inside)
        self.bn3 = nn.BatchNorm()
        self.conv3 = _conv1x1(channels, 1)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        residual = x
        x = F.Activation(self.bn1(x), act_type="relu")
        if self.downsample is not None:
            residual = self.downsample(x)
        x = self.conv1(x)
        x = self.conv2(F.Activation(self.bn2(x), act_type="relu"))
        x = self.conv3(F.Activation(self.bn3(x), act_type="relu"))
        return x + residual


def _require_stages(name: str, layers: list[int], channels: list[int]) -> None:
    if len(layers) != len(channels) - 1:
        raise ArgumentValueError(
            f"{name}: layers has {len(layers)} numbers and channels {len(channels)}; expected one more, those "
            "before the first stage."
        )


def _stage(block: Any, layers: int, channels: int, stride: int, number: int, in_channels: int) -> nn.HybridSequential:
    """Return a stage: blocks of as many channels, the first of which may make the image smaller."""
    stage = nn.HybridSequential(prefix=f"stage{number}_")
    with stage.name_scope():
        stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, prefix=""))
        for _ in range(layers - 1):
            stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
    return stage


def _add_beginning(features: nn.HybridSequential, channels: int, thumbnail: bool) -> None:
    """Add the layers before the first stage."""
    if thumbnail:
        features.add(_conv3x3(channels, 1, 0))
        return
    features.add(nn.Conv2D(channels, 7, 2, 3, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    features.add(nn.MaxPool2D(3, 2, 1))


class ResNetV1(HybridBlock):
    """A network of He et al., "Deep residual learning for image recognition" (2015).

    Parameters
    ----------
    block : type
        What it consists of: `BasicBlockV1` or `BottleneckV1`.
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
    >>> net = ResNetV1(BasicBlockV1, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """

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
        _require_stages("ResNetV1", layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            _add_beginning(self.features, channels[0], thumbnail)
            for number, count in enumerate(layers):
                stride = 2 if number else 1
                self.features.add(_stage(block, count, channels[number + 1], stride, number + 1, channels[number]))
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


class ResNetV2(HybridBlock):
    """A network of He et al., "Identity mappings in deep residual networks" (2016).

    Parameters
    ----------
    block : type
        What it consists of: `BasicBlockV2` or `BottleneckV2`.
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
    >>> net = ResNetV2(BasicBlockV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """

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
        _require_stages("ResNetV2", layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            _add_beginning(self.features, channels[0], thumbnail)
            in_channels = channels[0]
            for number, count in enumerate(layers):
                stride = 2 if number else 1
                self.features.add(_stage(block, count, channels[number + 1], stride, number + 1, in_channels))
                in_channels = channels[number + 1]
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes, in_units=in_channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


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


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Any = CPU,
    root: str = ROOT,
    **kwargs: Any,
) -> Any:
    """Return a residual network, for images of shape (3, 224, 224) or others.

    Parameters
    ----------
    version : {1, 2}
        That of 2015, or of 2016.
    num_layers : {18, 34, 50, 101, 152}
        How many layers it has.
    pretrained : bool
        Whether its weights are read from a file in `root`.
    ctx : Context
        Where they are put.
    root : str
        The folder of the file.
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


def resnet18_v1(**kwargs: Any) -> ResNetV1:
    """Return the residual network of 18 layers, version 1: `get_resnet(1, 18)`, which says what it takes.

    Examples
    --------
    >>> resnet18_v1(classes=10).output
    Dense(512 -> 10, linear)
    """
    net: ResNetV1 = get_resnet(1, 18, **kwargs)
    return net


def resnet34_v1(**kwargs: Any) -> ResNetV1:
    """Return the residual network of 34 layers, version 1: `get_resnet(1, 34)`, which says what it takes.

    Examples
    --------
    >>> resnet34_v1(classes=10).output
    Dense(512 -> 10, linear)
    """
    net: ResNetV1 = get_resnet(1, 34, **kwargs)
    return net


def resnet50_v1(**kwargs: Any) -> ResNetV1:
    """Return the residual network of 50 layers, version 1: `get_resnet(1, 50)`, which says what it takes.

    Examples
    --------
    >>> resnet50_v1(classes=10).output
    Dense(2048 -> 10, linear)
    """
    net: ResNetV1 = get_resnet(1, 50, **kwargs)
    return net


def resnet101_v1(**kwargs: Any) -> ResNetV1:
    """Return the residual network of 101 layers, version 1: `get_resnet(1, 101)`, which says what it takes.

    Examples
    --------
    >>> resnet101_v1(classes=10).output
    Dense(2048 -> 10, linear)
    """
    net: ResNetV1 = get_resnet(1, 101, **kwargs)
    return net


def resnet152_v1(**kwargs: Any) -> ResNetV1:
    """Return the residual network of 152 layers, version 1: `get_resnet(1, 152)`, which says what it takes.

    Examples
    --------
    >>> resnet152_v1(classes=10).output
    Dense(2048 -> 10, linear)
    """
    net: ResNetV1 = get_resnet(1, 152, **kwargs)
    return net


def resnet18_v2(**kwargs: Any) -> ResNetV2:
    """Return the residual network of 18 layers, version 2: `get_resnet(2, 18)`, which says what it takes.

    Examples
    --------
    >>> resnet18_v2(classes=10).output
    Dense(512 -> 10, linear)
    """
    net: ResNetV2 = get_resnet(2, 18, **kwargs)
    return net


def resnet34_v2(**kwargs: Any) -> ResNetV2:
    """Return the residual network of 34 layers, version 2: `get_resnet(2, 34)`, which says what it takes.

    Examples
    --------
    >>> resnet34_v2(classes=10).output
    Dense(512 -> 10, linear)
    """
    net: ResNetV2 = get_resnet(2, 34, **kwargs)
    return net


def resnet50_v2(**kwargs: Any) -> ResNetV2:
    """Return the residual network of 50 layers, version 2: `get_resnet(2, 50)`, which says what it takes.

    Examples
    --------
    >>> resnet50_v2(classes=10).output
    Dense(2048 -> 10, linear)
    """
    net: ResNetV2 = get_resnet(2, 50, **kwargs)
    return net


def resnet101_v2(**kwargs: Any) -> ResNetV2:
    """Return the residual network of 101 layers, version 2: `get_resnet(2, 101)`, which says what it takes.

    Examples
    --------
    >>> resnet101_v2(classes=10).output
    Dense(2048 -> 10, linear)
    """
    net: ResNetV2 = get_resnet(2, 101, **kwargs)
    return net


def resnet152_v2(**kwargs: Any) -> ResNetV2:
    """Return the residual network of 152 layers, version 2: `get_resnet(2, 152)`, which says what it takes.

    Examples
    --------
    >>> resnet152_v2(classes=10).output
    Dense(2048 -> 10, linear)
    """
    net: ResNetV2 = get_resnet(2, 152, **kwargs)
    return net


__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.model_zoo.vision.resnet", "name", __all__)
