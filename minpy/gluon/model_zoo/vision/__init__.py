"""`mx.gluon.model_zoo.vision`: networks that classify images."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.model_zoo.vision", "name", __all__)
