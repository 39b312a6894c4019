"""`mx.contrib.tensorboard`: metrics written for TensorBoard."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.contrib.tensorboard", "name", __all__)
