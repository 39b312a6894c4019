"""`mx.gluon.model_zoo`: networks, with weights from local files."""

from __future__ import annotations

from minpy.gluon.model_zoo import model_store, vision
from minpy.namespaces import module_functions

__all__: list[str] = ["model_store", "vision"]
__dir__, __getattr__ = module_functions(__name__, __all__)
