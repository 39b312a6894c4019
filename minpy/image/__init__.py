"""`mx.image`: pictures read, cropped, resized and augmented, and iterators over them.

`reading`, `sizes`, `cropping` and `rotation` have functions of one picture; `augmenters`, `color_augmenters` and
`creating` what changes pictures; `iterator` batches of them; the files that begin with `detection`
the same for pictures with objects in them. `image` and `detection` are MXNet's names for all that.
"""

from __future__ import annotations

from minpy.image import detection, image
from minpy.image import detection as det
from minpy.image.detection import *
from minpy.image.image import *
from minpy.namespaces import module_functions

__all__ = ["det", "detection", "image", *sorted({*detection.__all__, *image.__all__})]
__dir__, __getattr__ = module_functions(__name__, __all__)
