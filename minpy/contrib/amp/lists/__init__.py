"""`mx.contrib.amp.lists`: which operators compute in which precision, by MXNet's names."""

from __future__ import annotations

from minpy.contrib.amp.lists import symbol_bf16, symbol_fp16
from minpy.namespaces import listing, missing

__all__ = ["symbol_bf16", "symbol_fp16"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.contrib.amp.lists", "name", __all__)
