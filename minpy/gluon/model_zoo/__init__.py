"""`mx.gluon.model_zoo`: networks, with weights from local files."""

from __future__ import annotations

from minpy.gluon.model_zoo import model_store, vision
from minpy.namespaces import listing, missing

__all__: list[str] = ["model_store", "vision"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.gluon.model_zoo", "name", __all__)
