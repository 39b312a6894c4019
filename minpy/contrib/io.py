"""`mx.contrib.io`: iterators over Gluon's data loaders."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.contrib.io", "name", __all__)
