"""`mx.device`: contexts by the names of MXNet 2, where they are called devices."""

from __future__ import annotations

from minpy.context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from minpy.namespaces import module_functions

__all__ = ["Device", "cpu", "cpu_pinned", "current_device", "gpu", "gpu_memory_info", "num_gpus"]
__dir__, __getattr__ = module_functions(__name__, __all__)

Device = Context
current_device = current_context
