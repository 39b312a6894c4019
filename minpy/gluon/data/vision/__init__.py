"""`mx.gluon.data.vision`: datasets of images, and their transforms."""

from minpy.gluon.data.vision import datasets, transforms
from minpy.gluon.data.vision.datasets import *
from minpy.namespaces import public

__all__ = [*datasets.__all__, "datasets", "transforms"]
__dir__, __getattr__ = public("minpy.gluon.data.vision", "name", __all__)
