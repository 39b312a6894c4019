"""`mx.gluon.contrib.data`: texts as datasets, and samplers."""

from minpy.gluon.contrib.data import sampler, text
from minpy.gluon.contrib.data.sampler import IntervalSampler
from minpy.namespaces import module_functions

__all__ = ["IntervalSampler", "sampler", "text"]
__dir__, __getattr__ = module_functions(__name__, __all__)
