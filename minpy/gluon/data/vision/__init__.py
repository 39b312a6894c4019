"""`mx.gluon.data.vision`: datasets of images, and their transforms."""

from minpy.gluon.data.vision import datasets, transforms
from minpy.gluon.data.vision.datasets import *
from minpy.namespaces import module_functions

__all__ = [*datasets.__all__, "datasets", "transforms"]
__dir__, __getattr__ = module_functions(__name__, __all__)
