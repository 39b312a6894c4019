"""`mx.misc`: learning rates, by the first names that they had."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.misc", "name", __all__)
