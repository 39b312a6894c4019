"""Processes that make batches for a loader: how they are started and watched, and how what they make comes back."""

from minpy.gluon.data.workers.pool import ProcessPool, WorkerTimeoutError
from minpy.namespaces import module_functions

__all__ = ["ProcessPool", "WorkerTimeoutError"]
__dir__, __getattr__ = module_functions(__name__, __all__)
