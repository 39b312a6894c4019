"""`mx.recordio`: files of records, and what stands in a record."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.recordio", "name", __all__)
