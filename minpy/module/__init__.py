"""`mx.mod`: modules, which train symbols."""

from __future__ import annotations

from minpy.module import base_module, executor_group, module
from minpy.module.base_module import BaseModule
from minpy.module.module import Module
from minpy.namespaces import listing, missing

__all__ = ["BaseModule", "Module", "base_module", "executor_group", "module"]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.module", "name", __all__)
