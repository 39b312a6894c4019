"""`mx.model`: checkpoints, and `FeedForward`."""

from __future__ import annotations

from minpy import kvstore as kvs
from minpy import metric
from minpy import optimizer as opt
from minpy.executor_manager import DataParallelExecutorManager, _check_arguments, _load_data
from minpy.initializer import Uniform
from minpy.io import DataDesc
from minpy.model.batch_end import BatchEndParam
from minpy.model.batch_end import call_all as _multiple_callbacks
from minpy.model.checkpoint import load_checkpoint, load_params, save_checkpoint
from minpy.model.feed_forward import FeedForward
from minpy.model.fit_loop import train_multi_device as _train_multi_device
from minpy.model.kvstore_updates import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    _update_params_on_kvstore_nccl,
)
from minpy.model.validation import LogValidationMetricsCallback
from minpy.namespaces import module_functions
from minpy.optimizer import get_updater

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]
# What programs import from here as from MXNet's module.
_IMPORTED = (
    DataDesc,
    DataParallelExecutorManager,
    LogValidationMetricsCallback,
    Uniform,
    _check_arguments,
    _create_kvstore,
    _initialize_kvstore,
    _load_data,
    _multiple_callbacks,
    _train_multi_device,
    _update_params,
    _update_params_on_kvstore,
    _update_params_on_kvstore_nccl,
    get_updater,
    kvs,
    metric,
    opt,
)
__dir__, __getattr__ = module_functions(__name__, __all__)
