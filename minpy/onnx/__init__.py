"""`mx.onnx`: models out to ONNX and in from ONNX, each compared with what it came from.

The libraries `onnx` and `onnxruntime` (the extra `onnx`) are imported when a function is called for the first time.
"""

from __future__ import annotations

from typing import Any

from minpy.importing import import_module
from minpy.namespaces import listing, missing

_DEFINED_IN = {
    "export_model": "minpy.onnx.exporting.export_model",
    "get_model_metadata": "minpy.onnx.importing.metadata",
    "get_operator_support": "minpy.onnx.exporting.operator_support",
    "import_model": "minpy.onnx.importing.import_model",
    "import_to_gluon": "minpy.onnx.importing.import_model",
}
__all__ = ["export_model", "get_model_metadata", "get_operator_support", "import_model", "import_to_gluon"]
__dir__ = listing(__all__)
_refuse = missing("minpy.onnx", "function", __all__)


def __getattr__(name: str) -> Any:
    module = _DEFINED_IN.get(name)
    if module is None:
        return _refuse(name)
    value = globals()[name] = getattr(import_module(module), name)
    return value
