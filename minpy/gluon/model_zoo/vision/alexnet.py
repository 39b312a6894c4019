"""AlexNet: Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014)."""

from __future__ import annotations

from typing import Any

from minpy.core.docstrings import documented
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, prepared
from minpy.namespaces import module_functions

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Classifier):
    """AlexNet, in the form of Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014).

    Parameters
    ----------
    classes : int
        How many scores there are for each image.
    **kwargs
        `prefix` and `params`, as of any block.

    Examples
    --------
    >>> net = AlexNet(classes=10)
    >>> net.output
    Dense(None -> 10, linear)
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                for channels, kernel, strides, padding, pooled in (
                    (64, 11, 4, 2, True),
                    (192, 5, 1, 2, True),
                    (384, 3, 1, 1, False),
                    (256, 3, 1, 1, False),
                    (256, 3, 1, 1, True),
                ):
                    self.features.add(nn.Conv2D(channels, kernel, strides, padding, activation="relu"))
                    if pooled:
                        self.features.add(nn.MaxPool2D(pool_size=3, strides=2))
                self.features.add(nn.Flatten())
                for _ in range(2):
                    self.features.add(nn.Dense(4096, activation="relu"))
                    self.features.add(nn.Dropout(0.5))
            self.output = nn.Dense(classes)


@documented(pretrained=PRETRAINED)
def alexnet(pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any) -> AlexNet:
    """Return AlexNet, for images of shape (3, 224, 224).

    Parameters
    ----------
    {pretrained}
    **kwargs
        What `AlexNet` takes.

    Examples
    --------
    >>> alexnet(classes=10).output
    Dense(None -> 10, linear)
    """
    return prepared(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)


__dir__, __getattr__ = module_functions(__name__, __all__)
