"""`mx.mod`: modules, which train symbols."""

from __future__ import annotations

from minpy.module import (
    base_module,
    bucketing_module,
    executor_group,
    module,
    python_module,
    sequential_module,
)
from minpy.module.base_module import BaseModule
from minpy.module.bucketing_module import BucketingModule
from minpy.module.module import Module
from minpy.module.python_module import PythonLossModule, PythonModule
from minpy.module.sequential_module import SequentialModule
from minpy.namespaces import module_functions

__all__ = [
    "BaseModule",
    "BucketingModule",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
    "base_module",
    "bucketing_module",
    "executor_group",
    "module",
    "python_module",
    "sequential_module",
]
__dir__, __getattr__ = module_functions(__name__, __all__)
