"""`mx.model`: checkpoints, and `FeedForward`."""

from __future__ import annotations

from minpy.model.batch_end import BatchEndParam
from minpy.model.checkpoint import load_checkpoint, load_params, save_checkpoint
from minpy.model.updating import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    _update_params_on_kvstore_nccl,
)
from minpy.namespaces import listing, missing

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]
# What programs import from here as from MXNet's module.
_IMPORTED = (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    _update_params_on_kvstore_nccl,
)
__dir__ = listing(__all__)
__getattr__ = missing("minpy.model", "name", __all__)
