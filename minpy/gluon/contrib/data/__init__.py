"""`mx.gluon.contrib.data`: texts as datasets, and samplers."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.contrib.data", "name", __all__)
