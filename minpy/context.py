"""Devices: `cpu()`, `gpu(i)`, `num_gpus()` and the default context of a thread."""

from minpy.core.context import Context, cpu, cpu_pinned, cpu_shared, current_context, gpu, num_gpus
from minpy.namespaces import listing

__all__ = ["Context", "cpu", "cpu_pinned", "cpu_shared", "current_context", "gpu", "num_gpus"]
__dir__ = listing(__all__)
