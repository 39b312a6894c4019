"""What is for single pictures and classifiers, under the name of MXNet's module."""

from __future__ import annotations

from minpy.image.augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ForceResizeAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SequentialAug,
)
from minpy.image.color_augmenters import (
    BrightnessJitterAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    HueJitterAug,
    LightingAug,
    RandomGrayAug,
    SaturationJitterAug,
    color_normalize,
)
from minpy.image.creating import CreateAugmenter
from minpy.image.cropping import center_crop, fixed_crop, random_crop, random_size_crop
from minpy.image.iterator import ImageIter
from minpy.image.reading import imdecode, imread
from minpy.image.rotation import imrotate, random_rotate
from minpy.image.sizes import _get_interp_method as _get_interp_method  # libraries import it
from minpy.image.sizes import copyMakeBorder, imresize, resize_short, scale_down
from minpy.namespaces import module_functions

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "ImageIter",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
