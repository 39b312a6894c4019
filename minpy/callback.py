"""`mx.callback`: what training calls after batches and epochs."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.callback", "name", __all__)
