"""SqueezeNet: Iandola, Han, Moskewicz, Ashraf, Dally and Keutzer, "SqueezeNet: AlexNet-level accuracy with 50x fewer
parameters and < 0.5 MB model size" (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import CheckError
from minpy.gluon import nn
from minpy.gluon.block import HybridBlock as HybridBlock
from minpy.gluon.contrib.nn import HybridConcurrent
from minpy.gluon.model_zoo.vision.classifier import CPU, PRETRAINED, ROOT, Classifier, prepared, variant
from minpy.namespaces import module_functions

__all__ = ["SqueezeNet", "get_squeezenet", "squeezenet1_0", "squeezenet1_1"]


def _rectified(channels: int, kernel: int, padding: int = 0) -> nn.HybridSequential:
    layers = nn.HybridSequential(prefix="")
    layers.add(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))
    return layers


def _fire(squeezed: int) -> nn.HybridSequential:
    """Return the paper's fire module: few channels, then four times as many of each of two sizes of kernels."""
    expanded = HybridConcurrent(axis=1, prefix="")
    module = nn.HybridSequential(prefix="")
    module.add(_rectified(squeezed, 1))
    expanded.add(_rectified(4 * squeezed, 1), _rectified(4 * squeezed, 3, 1))
    module.add(expanded)
    return module


# Kernel and channels of the first convolution, and the channels of fire modules; None is a pooling.
_VERSIONS: dict[str, tuple[int, int, list[int | None]]] = {
    "1.0": (7, 96, [None, 16, 16, 32, None, 32, 48, 48, 64, None, 64]),
    "1.1": (3, 64, [None, 16, 16, None, 32, 32, None, 48, 48, 64, 64]),
}


class SqueezeNet(Classifier):
    """A network of Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters" (2016).

    Parameters
    ----------
    version : {'1.0', '1.1'}
        That of the paper, or the authors' later one, which takes less time.
    classes : int
        How many scores there are for each image.
    **kwargs
        `prefix` and `params`, as of any block.

    Raises
    ------
    CheckError
        For another version.

    Examples
    --------
    >>> net = SqueezeNet('1.1', classes=10)
    >>> net.output[0]
    Conv2D(None -> 10, kernel_size=(1, 1), stride=(1, 1))
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if version not in _VERSIONS:
            raise CheckError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        kernel, channels, modules = _VERSIONS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel, strides=2), nn.Activation("relu"))
            for squeezed in modules:
                if squeezed is None:
                    self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
                else:
                    self.features.add(_fire(squeezed))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


@documented(pretrained=PRETRAINED)
def get_squeezenet(
    version: str, pretrained: bool = False, ctx: Any = CPU, root: str = ROOT, **kwargs: Any
) -> SqueezeNet:
    """Return a SqueezeNet, for images of shape (3, 224, 224).

    Parameters
    ----------
    version : {'1.0', '1.1'}
        Which.
    {pretrained}
    **kwargs
        What `SqueezeNet` takes: `classes`, `prefix`.

    Examples
    --------
    >>> get_squeezenet('1.0', classes=10).features[0]
    Conv2D(None -> 96, kernel_size=(7, 7), stride=(2, 2))
    """
    return prepared(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)


def _variant(version: str, first: str) -> Callable[..., SqueezeNet]:
    return variant(
        f"squeezenet{version}".replace(".", "_"),
        SqueezeNet,
        f"SqueezeNet {version}",
        f"get_squeezenet('{version}')",
        f".features[0]\n{first}",
        get_squeezenet,
        version,
    )


squeezenet1_0 = _variant("1.0", "Conv2D(None -> 96, kernel_size=(7, 7), stride=(2, 2))")
squeezenet1_1 = _variant("1.1", "Conv2D(None -> 64, kernel_size=(3, 3), stride=(2, 2))")

__dir__, __getattr__ = module_functions(__name__, __all__)
