"""Training with gradients of reduced variance: R. Johnson and T. Zhang, NIPS 2013."""

from __future__ import annotations

from minpy.contrib.svrg_optimization import svrg_module, svrg_optimizer
from minpy.namespaces import listing, missing

__all__ = ["svrg_module", "svrg_optimizer"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.contrib.svrg_optimization", "name", __all__)
