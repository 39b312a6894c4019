"""`mx.contrib.amp.lists`: which operators compute in which precision, by MXNet's names."""

from __future__ import annotations

from minpy.contrib.amp.lists import symbol_bf16, symbol_fp16
from minpy.namespaces import module_functions

__all__ = ["symbol_bf16", "symbol_fp16"]
__dir__, __getattr__ = module_functions(__name__, __all__)
