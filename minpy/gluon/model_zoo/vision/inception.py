"""Inception v3: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception architecture for computer
vision" (2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.docstrings import documented
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.contrib.nn import HybridConcurrent
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, prepared
from minpy.namespaces import module_functions

__all__ = ["Inception3", "inception_v3"]

# Channels, kernel, stride and padding of a convolution.
_Setting = tuple[int, Any, int, Any]


def _conv(channels: int, kernel: Any, stride: int = 1, padding: Any = 0) -> nn.HybridSequential:
    """Return a convolution, normalized and rectified."""
    layers = nn.HybridSequential(prefix="")
    layers.add(nn.Conv2D(channels, kernel, stride, padding, use_bias=False))
    layers.add(nn.BatchNorm(epsilon=0.001), nn.Activation("relu"))
    return layers


def _average() -> nn.AvgPool2D:
    return nn.AvgPool2D(pool_size=3, strides=1, padding=1)


def _branch(settings: Sequence[_Setting], pool: Any = None) -> nn.HybridSequential:
    """Return convolutions one after the other, behind a pooling if there is one."""
    layers = nn.HybridSequential(prefix="")
    if pool is not None:
        layers.add(pool)
    for setting in settings:
        layers.add(_conv(*setting))
    return layers


def _module(name: str, *branches: Any) -> HybridConcurrent:
    """Return a module of branches, which are functions so that their layers are made in its name scope."""
    module = HybridConcurrent(axis=1, prefix=f"{name}_")
    with module.name_scope():
        for branch in branches:
            module.add(branch())
    return module


def _same(pool_channels: int, name: str) -> HybridConcurrent:
    """Return a module of figure 5, with 5 × 5 pixels in one convolution."""
    return _module(
        name,
        lambda: _branch([(64, 1, 1, 0)]),
        lambda: _branch([(48, 1, 1, 0), (64, 5, 1, 2)]),
        lambda: _branch([(64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 1, 1)]),
        lambda: _branch([(pool_channels, 1, 1, 0)], _average()),
    )


def _smaller(name: str) -> HybridConcurrent:
    """Return the module after those of figure 5, with half as many rows and columns (figure 10)."""
    return _module(
        name,
        lambda: _branch([(384, 3, 2, 0)]),
        lambda: _branch([(64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 2, 0)]),
        lambda: _branch([], nn.MaxPool2D(pool_size=3, strides=2)),
    )


def _across(channels: int, name: str) -> HybridConcurrent:
    """Return a module of figure 6, where 7 × 7 pixels are taken as rows and columns."""
    row: _Setting = (channels, (1, 7), 1, (0, 3))
    column: _Setting = (channels, (7, 1), 1, (3, 0))
    last_row: _Setting = (192, (1, 7), 1, (0, 3))
    last_column: _Setting = (192, (7, 1), 1, (3, 0))
    return _module(
        name,
        lambda: _branch([(192, 1, 1, 0)]),
        lambda: _branch([(channels, 1, 1, 0), row, last_column]),
        lambda: _branch([(channels, 1, 1, 0), column, row, column, last_row]),
        lambda: _branch([(192, 1, 1, 0)], _average()),
    )


def _smallest(name: str) -> HybridConcurrent:
    """Return the module after those of figure 6, with half as many rows and columns."""
    return _module(
        name,
        lambda: _branch([(192, 1, 1, 0), (320, 3, 2, 0)]),
        lambda: _branch([(192, 1, 1, 0), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2, 0)]),
        lambda: _branch([], nn.MaxPool2D(pool_size=3, strides=2)),
    )


def _divided(settings: Sequence[_Setting]) -> nn.HybridSequential:
    """Return convolutions, and behind them one over rows beside one over columns."""
    layers = nn.HybridSequential(prefix="")
    layers.add(_branch(settings))
    joined = HybridConcurrent(axis=1, prefix="")
    joined.add(_branch([(384, (1, 3), 1, (0, 1))]))
    joined.add(_branch([(384, (3, 1), 1, (1, 0))]))
    layers.add(joined)
    return layers


def _wide(name: str) -> HybridConcurrent:
    """Return a module of figure 7, of many channels."""
    return _module(
        name,
        lambda: _branch([(320, 1, 1, 0)]),
        lambda: _divided([(384, 1, 1, 0)]),
        lambda: _divided([(448, 1, 1, 0), (384, 3, 1, 1)]),
        lambda: _branch([(192, 1, 1, 0)], _average()),
    )


def make_aux(classes: int) -> nn.HybridSequential:
    """Return the paper's auxiliary classifier (figure 8), which `Inception3` does not have.

    Parameters
    ----------
    classes : int
        How many scores there are for each image.

    Examples
    --------
    >>> make_aux(10)[4]
    Dense(None -> 10, linear)
    """
    layers = nn.HybridSequential(prefix="")
    layers.add(nn.AvgPool2D(pool_size=5, strides=3), _conv(128, 1), _conv(768, 5), nn.Flatten(), nn.Dense(classes))
    return layers


class Inception3(Classifier):
    """The network of Szegedy et al., "Rethinking the Inception architecture for computer vision" (2015).

    Parameters
    ----------
    classes : int
        How many scores there are for each image.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> Inception3(classes=10).output
    Dense(None -> 10, linear)
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            add = self.features.add
            add(_conv(32, 3, 2), _conv(32, 3), _conv(64, 3, 1, 1), nn.MaxPool2D(pool_size=3, strides=2))
            add(_conv(80, 1), _conv(192, 3), nn.MaxPool2D(pool_size=3, strides=2))
            add(_same(32, "A1"), _same(64, "A2"), _same(64, "A3"), _smaller("B"))
            add(_across(128, "C1"), _across(160, "C2"), _across(160, "C3"), _across(192, "C4"), _smallest("D"))
            add(_wide("E1"), _wide("E2"), nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


@documented(pretrained=PRETRAINED)
def inception_v3(pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any) -> Inception3:
    """Return Inception v3, for images of shape (3, 299, 299).

    Parameters
    ----------
    {pretrained}
    **kwargs
        What `Inception3` takes: `classes`, `prefix`.

    Examples
    --------
    >>> inception_v3(classes=10).output
    Dense(None -> 10, linear)
    """
    return prepared(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)


__dir__, __getattr__ = module_functions(__name__, __all__)
