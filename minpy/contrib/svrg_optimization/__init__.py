"""Training with gradients of reduced variance: R. Johnson and T. Zhang, NIPS 2013."""

from __future__ import annotations

from minpy.contrib.svrg_optimization import svrg_module, svrg_optimizer
from minpy.namespaces import module_functions

__all__ = ["svrg_module", "svrg_optimizer"]
__dir__, __getattr__ = module_functions(__name__, __all__)
