"""Processes that make batches for a loader: how they are started and watched, and how what they make comes back."""

from minpy.gluon.data.workers.pool import ProcessPool, WorkerTimeoutError
from minpy.namespaces import public

__all__ = ["ProcessPool", "WorkerTimeoutError"]
__dir__, __getattr__ = public("minpy.gluon.data.workers", "name", __all__)
