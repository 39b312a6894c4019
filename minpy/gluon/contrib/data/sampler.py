"""`mx.gluon.contrib.data.sampler`: where MXNet 1.x has `IntervalSampler`."""

from minpy.gluon.data.sampler import IntervalSampler
from minpy.namespaces import module_functions

__all__ = ["IntervalSampler"]
__dir__, __getattr__ = module_functions(__name__, __all__)
