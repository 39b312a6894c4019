"""`mx.contrib.amp`: training and inference in mixed precision."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.contrib.amp", "name", __all__)
