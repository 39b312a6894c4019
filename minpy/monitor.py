"""`mx.monitor`: the inner arrays of executors, watched while they run."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.monitor", "name", __all__)
