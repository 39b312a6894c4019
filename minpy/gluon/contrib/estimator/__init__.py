"""`mx.gluon.contrib.estimator`: a loop of training, and what it calls."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.estimator", "name", __all__)
