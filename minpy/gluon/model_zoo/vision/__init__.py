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
from minpy.gluon.model_zoo.vision.inception import Inception3, inception_v3
from minpy.gluon.model_zoo.vision.mobilenet import (
    MobileNet,
    MobileNetV2,
    get_mobilenet,
    get_mobilenet_v2,
    mobilenet0_5,
    mobilenet0_25,
    mobilenet0_75,
    mobilenet1_0,
    mobilenet_v2_0_5,
    mobilenet_v2_0_25,
    mobilenet_v2_0_75,
    mobilenet_v2_1_0,
)
from minpy.gluon.model_zoo.vision.resnet import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    get_resnet,
    resnet18_v1,
    resnet18_v2,
    resnet34_v1,
    resnet34_v2,
    resnet50_v1,
    resnet50_v2,
    resnet101_v1,
    resnet101_v2,
    resnet152_v1,
    resnet152_v2,
)
from minpy.gluon.model_zoo.vision.squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1
from minpy.gluon.model_zoo.vision.vgg import (
    VGG,
    get_vgg,
    vgg11,
    vgg11_bn,
    vgg13,
    vgg13_bn,
    vgg16,
    vgg16_bn,
    vgg19,
    vgg19_bn,
)
from minpy.namespaces import listing, missing

__all__ = [
    "VGG",
    "AlexNet",
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "DenseNet",
    "Inception3",
    "MobileNet",
    "MobileNetV2",
    "ResNetV1",
    "ResNetV2",
    "SqueezeNet",
    "alexnet",
    "densenet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "get_mobilenet",
    "get_mobilenet_v2",
    "get_model",
    "get_resnet",
    "get_vgg",
    "inception",
    "inception_v3",
    "mobilenet",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
    "resnet",
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
    "squeezenet",
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# By the names of their weights.
_MODELS = {
    **{f"resnet{n}_v{v}": globals()[f"resnet{n}_v{v}"] for v in (1, 2) for n in (18, 34, 50, 101, 152)},
    **{f"vgg{n}{bn}": globals()[f"vgg{n}{bn}"] for bn in ("", "_bn") for n in (11, 13, 16, 19)},
    "alexnet": alexnet,
    **{f"densenet{n}": globals()[f"densenet{n}"] for n in (121, 161, 169, 201)},
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    "inceptionv3": inception_v3,
    "mobilenet1.0": mobilenet1_0,
    "mobilenet0.75": mobilenet0_75,
    "mobilenet0.5": mobilenet0_5,
    "mobilenet0.25": mobilenet0_25,
    "mobilenetv2_1.0": mobilenet_v2_1_0,
    "mobilenetv2_0.75": mobilenet_v2_0_75,
    "mobilenetv2_0.5": mobilenet_v2_0_5,
    "mobilenetv2_0.25": mobilenet_v2_0_25,
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
    found = _MODELS.get(name.lower())
    if found is None:
        options = "".join(f"\n\t{one}" for one in sorted(_MODELS))
        raise ArgumentValueError(
            f"Model {name} is not supported.{nearest(name.lower(), _MODELS)} Available options are{options}"
        )
    return found(**kwargs)


__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.model_zoo.vision", "name", __all__)
