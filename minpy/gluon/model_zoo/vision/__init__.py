"""`mx.gluon.model_zoo.vision`: networks that classify images, of shape (batch, 3, height, width).

Their parameters have MXNet's names and shapes: files of weights are read in both directions. With `pretrained=True`
they come from a file in the folder `root` (`model_store.get_model_file` says which); nothing is downloaded.
"""

from __future__ import annotations

from typing import Any

from minpy.core.errors import ArgumentValueError, nearest
from minpy.gluon.model_zoo.vision import densenet, inception, mobilenet, resnet, squeezenet, vgg
from minpy.gluon.model_zoo.vision.alexnet import AlexNet, alexnet
from minpy.gluon.model_zoo.vision.densenet import DenseNet, densenet121, densenet161, densenet169, densenet201
from minpy.gluon.model_zoo.vision.inception import *
from minpy.gluon.model_zoo.vision.mobilenet import *
from minpy.gluon.model_zoo.vision.resnet import *
from minpy.gluon.model_zoo.vision.squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1
from minpy.gluon.model_zoo.vision.vgg import *
from minpy.namespaces import module_functions

__all__ = ["AlexNet", "alexnet", "densenet", "get_model", "inception", "mobilenet", "resnet", "squeezenet", "vgg"]
__all__ += ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]
__all__ += ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]
__all__ += inception.__all__
__all__ += mobilenet.__all__
__all__ += resnet.__all__
__all__ += vgg.__all__

# By the names of their weights.
_MODELS = {
    **{f"resnet{n}_v{v}": globals()[f"resnet{n}_v{v}"] for v in (1, 2) for n in (18, 34, 50, 101, 152)},
    **{f"vgg{n}{bn}": globals()[f"vgg{n}{bn}"] for bn in ("", "_bn") for n in (11, 13, 16, 19)},
    "alexnet": alexnet,
    **{f"densenet{n}": globals()[f"densenet{n}"] for n in (121, 161, 169, 201)},
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    "inceptionv3": inception_v3,
    **{f"mobilenet{m}": globals()[f"mobilenet{m}".replace(".", "_")] for m in ("1.0", "0.75", "0.5", "0.25")},
    **{f"mobilenetv2_{m}": globals()[f"mobilenet_v2_{m}".replace(".", "_")] for m in ("1.0", "0.75", "0.5", "0.25")},
}


def get_model(name: str, **kwargs: Any) -> Any:
    """Return a network by its name.

    Parameters
    ----------
    name : str
        'resnet18_v1', 'mobilenet0.25', ..., in any case.
    **kwargs
        What its function takes: `pretrained`, `ctx`, `root`, `classes`, `prefix`.

    Returns
    -------
    HybridBlock

    Raises
    ------
    ArgumentValueError
        If there is no such network: which ones there are.

    Examples
    --------
    >>> net = get_model('resnet18_v1', classes=10)
    >>> net.output
    Dense(512 -> 10, linear)
    """
    make = _MODELS.get(name.lower())
    if make is None:
        options = "".join(f"\n\t{names}" for names in sorted(_MODELS))
        raise ArgumentValueError(
            f"Model {name} is not supported.{nearest(name.lower(), _MODELS)} Available options are{options}"
        )
    return make(**kwargs)


__dir__, __getattr__ = module_functions(__name__, __all__)
