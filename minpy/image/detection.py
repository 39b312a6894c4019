"""What is for pictures with objects in them, under the name of MXNet's module, and what that imports from `image`."""

from __future__ import annotations

from minpy.image.augmenters import Augmenter, CastAug, ForceResizeAug, RandomOrderAug, ResizeAug
from minpy.image.color_augmenters import ColorJitterAug, ColorNormalizeAug, HueJitterAug, LightingAug, RandomGrayAug
from minpy.image.creating import CreateDetAugmenter, CreateMultiRandCropAugmenter
from minpy.image.cropping import fixed_crop
from minpy.image.detection_augmenters import (
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
)
from minpy.image.detection_iterator import ImageDetIter
from minpy.image.iterator import ImageIter
from minpy.image.sizes import copyMakeBorder
from minpy.namespaces import module_functions

__all__ = [
    "Augmenter",
    "CastAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ForceResizeAug",
    "HueJitterAug",
    "ImageDetIter",
    "ImageIter",
    "LightingAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "ResizeAug",
    "copyMakeBorder",
    "fixed_crop",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
