"""ResNet-18 for small images (He et al., "Identity Mappings in Deep Residual Networks", 2016): Gluon and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array
from harness.resnet import FILTERS

__all__ = ["BATCH", "CHANNELS", "CLASSES", "SIDE", "gluon_resnet18", "inputs", "torch_resnet18"]

BATCH, CHANNELS, SIDE, CLASSES = 32, 3, 32, 10


def _units() -> list[tuple[int, int, int, bool]]:
    """Channels in, channels out, stride, and whether the shortcut is a convolution: for each residual unit."""
    found, channels = [], FILTERS[0]
    for stage, count in enumerate(FILTERS):
        for unit in range(2):
            widens = bool(stage) and not unit
            found.append((channels, count, 2 if widens else 1, widens))
            channels = count
    return found


def inputs() -> tuple[Array, ...]:
    """Images, labels, and the parameters that learn, in the order of the layers."""
    random = np.random.RandomState(0)
    images = random.normal(0, 1, (BATCH, CHANNELS, SIDE, SIDE))
    label = random.randint(0, CLASSES, BATCH)
    shapes: list[tuple[int, ...]] = [(FILTERS[0], CHANNELS, 3, 3)]
    for before, count, _, widens in _units():
        shapes += [(before,), (before,), (count, before, 3, 3), (count,), (count,), (count, count, 3, 3)]
        if widens:
            shapes.append((count, before, 1, 1))
    shapes += [FILTERS[-1:], FILTERS[-1:], (CLASSES, FILTERS[-1]), (CLASSES,)]
    arrays = []
    for shape, after in zip(shapes, [*shapes[1:], ()], strict=True):
        is_gamma = len(shape) == 1 and after == shape
        scale = 0.1 if len(shape) == 1 else np.prod(shape[1:]) ** -0.5
        arrays.append(is_gamma + random.normal(0, scale, shape))
    return (images.astype(np.float32), label, *(array.astype(np.float32) for array in arrays))


def gluon_resnet18(mx: Any) -> Any:
    """The network in the layers of MXNet or of minpy: `mx` is the library."""
    nn = mx.gluon.nn

    class Unit(mx.gluon.HybridBlock):
        def __init__(self, count: int, stride: int, widens: bool) -> None:
            super().__init__()
            with self.name_scope():
                self.bn1 = nn.BatchNorm()
                self.conv1 = nn.Conv2D(count, 3, stride, 1, use_bias=False)
                self.bn2 = nn.BatchNorm()
                self.conv2 = nn.Conv2D(count, 3, 1, 1, use_bias=False)
                self.shortcut = nn.Conv2D(count, 1, stride, use_bias=False) if widens else None

        def hybrid_forward(self, F, x):
            first = F.Activation(self.bn1(x), act_type="relu")
            inner = F.Activation(self.bn2(self.conv1(first)), act_type="relu")
            return self.conv2(inner) + (self.shortcut(first) if self.shortcut else x)

    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(FILTERS[0], 3, 1, 1, use_bias=False))
        for _, count, stride, widens in _units():
            net.add(Unit(count, stride, widens))
        net.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(CLASSES))
    return net


def torch_resnet18() -> Any:
    """The network as a PyTorch module."""
    from torch import nn
    from torch.nn import functional

    class Unit(nn.Module):
        def __init__(self, before: int, count: int, stride: int, widens: bool) -> None:
            super().__init__()
            self.bn1 = nn.BatchNorm2d(before)
            self.conv1 = nn.Conv2d(before, count, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(count)
            self.conv2 = nn.Conv2d(count, count, 3, 1, 1, bias=False)
            self.shortcut = nn.Conv2d(before, count, 1, stride, bias=False) if widens else None

        def forward(self, x):
            first = functional.relu(self.bn1(x))
            inner = functional.relu(self.bn2(self.conv1(first)))
            return self.conv2(inner) + (self.shortcut(first) if self.shortcut else x)

    return nn.Sequential(
        nn.Conv2d(CHANNELS, FILTERS[0], 3, 1, 1, bias=False),
        *(Unit(*unit) for unit in _units()),
        *(nn.BatchNorm2d(FILTERS[-1]), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(FILTERS[-1], CLASSES),
    )
