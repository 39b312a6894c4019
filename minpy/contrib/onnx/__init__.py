"""`mx.contrib.onnx`: the functions of `mx.onnx` where older programs look for them."""

from __future__ import annotations

from typing import Any

from minpy import onnx
from minpy.namespaces import listing

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]
__dir__ = listing(__all__)


def __getattr__(name: str) -> Any:
    return getattr(onnx, name)
