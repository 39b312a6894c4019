"""Optimizers: how weights follow their gradients."""

from minpy.namespaces import module_functions
from minpy.optimizer import contrib, optimizer
from minpy.optimizer.optimizer import *

__all__ = ["contrib", "optimizer"]
__all__ += optimizer.__all__
__all__.remove("NDnorm")  # which MXNet does not list here
__dir__, __getattr__ = module_functions(__name__, __all__, "optimizer")
