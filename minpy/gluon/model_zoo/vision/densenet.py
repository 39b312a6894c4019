"""Densely connected networks: Huang, Liu, van der Maaten and Weinberger, "Densely connected convolutional networks"
(2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import KeyMissingError
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.contrib.nn import HybridConcurrent, Identity
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, prepared, variant
from minpy.namespaces import module_functions

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201", "get_densenet"]


def _dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """Return layers that add channels to those that they are given."""
    layers = nn.HybridSequential(prefix="")
    layers.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(bn_size * growth_rate, 1, use_bias=False))
    layers.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(growth_rate, 3, padding=1, use_bias=False))
    if dropout:
        layers.add(nn.Dropout(dropout))
    joined = HybridConcurrent(axis=1, prefix="")
    joined.add(Identity(), layers)
    return joined


def _dense_block(layers: int, bn_size: int, growth_rate: int, dropout: float, number: int) -> nn.HybridSequential:
    block = nn.HybridSequential(prefix=f"stage{number}_")
    with block.name_scope():
        for _ in range(layers):
            block.add(_dense_layer(growth_rate, bn_size, dropout))
    return block


def _transition(channels: int) -> nn.HybridSequential:
    """Return layers between two blocks, which make the image smaller."""
    layers = nn.HybridSequential(prefix="")
    layers.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(channels, 1, use_bias=False))
    layers.add(nn.AvgPool2D(pool_size=2, strides=2))
    return layers


class DenseNet(Classifier):
    """A network of Huang et al., "Densely connected convolutional networks" (2016).

    Parameters
    ----------
    num_init_features : int
        How many channels there are before the first block.
    growth_rate : int
        How many channels each layer adds (k in the paper).
    block_config : list of int
        How many layers there are in each block.
    bn_size : int
        How many times as many channels there are inside a layer as it adds.
    dropout : float
        Which part of the new channels is dropped in training.
    classes : int
        How many scores there are for each image.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> from minpy import nd
    >>> net = DenseNet(8, 4, [2, 1], classes=10)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3, 64, 64))).shape
    (1, 10)
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: list[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(num_init_features, 7, 2, 3, use_bias=False))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
            channels = num_init_features
            for number, layers in enumerate(block_config, 1):
                self.features.add(_dense_block(layers, bn_size, growth_rate, dropout, number))
                channels += layers * growth_rate
                if number < len(block_config):
                    channels //= 2
                    self.features.add(_transition(channels))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.output = nn.Dense(classes)


# Channels before the first block, those that a layer adds, and layers of the blocks (table 1 of the paper).
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


@documented(pretrained=PRETRAINED)
def get_densenet(
    num_layers: int, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any
) -> DenseNet:
    """Return a DenseNet, for images of shape (3, 224, 224).

    Parameters
    ----------
    num_layers : {121, 161, 169, 201}
        How many layers it has.
    {pretrained}
    **kwargs
        What `DenseNet` takes: `bn_size`, `dropout`, `classes`, `prefix`.

    Raises
    ------
    KeyMissingError
        For another number of layers.

    Examples
    --------
    >>> get_densenet(121, classes=10).output
    Dense(None -> 10, linear)
    """
    if num_layers not in densenet_spec:
        raise KeyMissingError(
            f"get_densenet: num_layers is {num_layers!r}; expected one of {', '.join(map(str, densenet_spec))}."
        )
    return prepared(DenseNet(*densenet_spec[num_layers], **kwargs), f"densenet{num_layers}", pretrained, ctx, root)


def _variant(num_layers: int) -> Callable[..., DenseNet]:
    return variant(
        f"densenet{num_layers}",
        DenseNet,
        f"DenseNet-{num_layers}",
        f"get_densenet({num_layers})",
        ".output\nDense(None -> 10, linear)",
        get_densenet,
        num_layers,
    )


densenet121 = _variant(121)
densenet161 = _variant(161)
densenet169 = _variant(169)
densenet201 = _variant(201)

__dir__, __getattr__ = module_functions(__name__, __all__)
