"""`mx.gluon.contrib.data.sampler`: where MXNet 1.x has `IntervalSampler`."""

from minpy.gluon.data.sampler import IntervalSampler
from minpy.namespaces import listing, missing

__all__ = ["IntervalSampler"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.data.sampler", "name", __all__)
