"""VGG: Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition" (2014)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, KeyMissingError
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, prepared, variant
from minpy.initializer import Xavier
from minpy.namespaces import module_functions

__all__ = ["VGG", "get_vgg", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

_CHANNELS = [64, 128, 256, 512, 512]
# How many layers stand between two poolings, and their channels (table 1 of the paper: columns A, B, D, E).
vgg_spec = {
    11: ([1, 1, 2, 2, 2], _CHANNELS),
    13: ([2, 2, 2, 2, 2], _CHANNELS),
    16: ([2, 2, 3, 3, 3], _CHANNELS),
    19: ([2, 2, 4, 4, 4], _CHANNELS),
}


class VGG(Classifier):
    """A network of Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition" (2014).

    Parameters
    ----------
    layers : list of int
        How many convolutions stand between two poolings.
    filters : list of int
        How many channels they have.
    classes : int
        How many scores there are for each image.
    batch_norm : bool
        Whether each convolution is normalized over the batch.
    **kwargs
        `prefix` and `params`, as of any block.

    Raises
    ------
    ArgumentValueError
        If the two lists have different lengths.

    Examples
    --------
    >>> net = VGG([1, 1], [8, 16], classes=10)
    >>> len(net.features), net.output
    (10, Dense(None -> 10, linear))
    """

    def __init__(
        self, layers: list[int], filters: list[int], classes: int = 1000, batch_norm: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise ArgumentValueError(
                f"VGG: layers has {len(layers)} numbers and filters {len(filters)}; expected as many of both."
            )
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for count, channels in zip(layers, filters, strict=True):
                for _ in range(count):
                    first = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                    self.features.add(nn.Conv2D(channels, 3, padding=1, weight_initializer=first))
                    if batch_norm:
                        self.features.add(nn.BatchNorm())
                    self.features.add(nn.Activation("relu"))
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal"))
                self.features.add(nn.Dropout(rate=0.5))
            self.output = nn.Dense(classes, weight_initializer="normal")


@documented(pretrained=PRETRAINED)
def get_vgg(num_layers: int, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any) -> VGG:
    """Return a VGG network, for images of shape (3, 224, 224).

    Parameters
    ----------
    num_layers : {11, 13, 16, 19}
        How many layers it has.
    {pretrained}
    **kwargs
        What `VGG` takes: `classes`, `batch_norm`, `prefix`.

    Raises
    ------
    KeyMissingError
        For another number of layers.

    Examples
    --------
    >>> get_vgg(11, classes=10).output
    Dense(None -> 10, linear)
    """
    if num_layers not in vgg_spec:
        raise KeyMissingError(
            f"get_vgg: num_layers is {num_layers!r}; expected one of {', '.join(map(str, vgg_spec))}."
        )
    net = VGG(*vgg_spec[num_layers], **kwargs)
    suffix = "_bn" if kwargs.get("batch_norm") else ""
    return prepared(net, f"vgg{num_layers}{suffix}", pretrained, ctx, root)


def _variant(num_layers: int, batch_norm: bool = False) -> Callable[..., VGG]:
    return variant(
        f"vgg{num_layers}{'_bn' if batch_norm else ''}",
        VGG,
        f"VGG-{num_layers}{' with batch normalization' if batch_norm else ''}",
        f"get_vgg({num_layers}{', batch_norm=True' if batch_norm else ''})",
        ".output\nDense(None -> 10, linear)",
        functools.partial(get_vgg, batch_norm=True) if batch_norm else get_vgg,
        num_layers,
    )


vgg11 = _variant(11)
vgg13 = _variant(13)
vgg16 = _variant(16)
vgg19 = _variant(19)
vgg11_bn = _variant(11, batch_norm=True)
vgg13_bn = _variant(13, batch_norm=True)
vgg16_bn = _variant(16, batch_norm=True)
vgg19_bn = _variant(19, batch_norm=True)

__dir__, __getattr__ = module_functions(__name__, __all__)
