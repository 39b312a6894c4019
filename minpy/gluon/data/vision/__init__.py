"""`mx.gluon.data.vision`: datasets of images, and their transforms."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.data.vision", "name", __all__)
