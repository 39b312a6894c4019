"""`mx.contrib.svrg_optimization`: stochastic variance-reduced gradients."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.contrib.svrg_optimization", "name", __all__)
