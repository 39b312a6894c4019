"""`mx.io`: iterators over data, batch by batch."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.io", "name", __all__)
