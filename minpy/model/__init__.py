"""`mx.model`: checkpoints, and `FeedForward`."""

from minpy import kvstore as kvs  # noqa: F401  # not listed: what programs import from here as from MXNet's module
from minpy import metric as metric
from minpy import optimizer as opt  # noqa: F401
from minpy.executor_manager import DataParallelExecutorManager as DataParallelExecutorManager
from minpy.executor_manager import _check_arguments as _check_arguments
from minpy.executor_manager import _load_data as _load_data
from minpy.initializer import Uniform as Uniform
from minpy.io import DataDesc as DataDesc
from minpy.model.batch_end import BatchEndParam
from minpy.model.batch_end import call_all as _multiple_callbacks  # noqa: F401
from minpy.model.checkpoint import load_checkpoint, load_params, save_checkpoint
from minpy.model.feed_forward import FeedForward
from minpy.model.fit_loop import train_multi_device as _train_multi_device  # noqa: F401
from minpy.model.kvstore_updates import _create_kvstore as _create_kvstore
from minpy.model.kvstore_updates import _initialize_kvstore as _initialize_kvstore
from minpy.model.kvstore_updates import _update_params as _update_params
from minpy.model.kvstore_updates import _update_params_on_kvstore as _update_params_on_kvstore
from minpy.model.kvstore_updates import _update_params_on_kvstore_nccl as _update_params_on_kvstore_nccl
from minpy.model.validation import LogValidationMetricsCallback as LogValidationMetricsCallback
from minpy.namespaces import module_functions
from minpy.optimizer import get_updater as get_updater

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]
__dir__, __getattr__ = module_functions(__name__, __all__)
