"""`mx.gluon.data.vision.transforms`: images changed on their way into a batch."""

from minpy import image  # noqa: F401 - programs find it, and the four classes of blocks, here
from minpy.gluon.block import Block, HybridBlock  # noqa: F401
from minpy.gluon.data.vision.transforms.colors import (
    RandomBrightness,
    RandomColorJitter,
    RandomContrast,
    RandomGray,
    RandomHue,
    RandomLighting,
    RandomSaturation,
)
from minpy.gluon.data.vision.transforms.composing import Compose, HybridCompose, HybridRandomApply, RandomApply
from minpy.gluon.data.vision.transforms.cropping import CenterCrop, CropResize, RandomCrop, RandomResizedCrop, Resize
from minpy.gluon.data.vision.transforms.tensors import Cast, Normalize, ToTensor
from minpy.gluon.data.vision.transforms.turning import RandomFlipLeftRight, RandomFlipTopBottom, RandomRotation, Rotate
from minpy.gluon.nn import HybridSequential, Sequential  # noqa: F401
from minpy.namespaces import module_functions

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "HybridCompose",
    "HybridRandomApply",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomCrop",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
