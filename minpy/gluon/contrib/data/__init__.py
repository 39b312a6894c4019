"""`mx.gluon.contrib.data`: texts as datasets, and samplers."""

from minpy.gluon.contrib.data import sampler, text
from minpy.gluon.contrib.data.sampler import IntervalSampler
from minpy.namespaces import listing, missing

__all__ = ["IntervalSampler", "sampler", "text"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.data", "name", __all__)
