"""`mx.executor_manager`: executors on several devices, each with its part of a batch."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.executor_manager", "name", __all__)
