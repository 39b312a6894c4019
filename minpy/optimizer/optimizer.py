"""`mx.optimizer.optimizer`: the optimizers, as programs import them from MXNet's module of that name."""

from __future__ import annotations

from typing import Any

from minpy import ndarray
from minpy.core.numpy_semantics import is_np_array
from minpy.namespaces import listing, missing
from minpy.ndarray import NDArray, array, zeros
from minpy.ndarray.contrib import multi_lamb_update, multi_mp_lamb_update
from minpy.ndarray.random import normal
from minpy.optimizer.adam import FTML, Adam, Adamax, Nadam
from minpy.optimizer.adaptive import AdaDelta, AdaGrad, Ftrl, RMSProp
from minpy.optimizer.descent import DCASGD, NAG, SGD, SGLD, Signum, ccSGD
from minpy.optimizer.large_batch import LAMB, LARS, LBSGD
from minpy.optimizer.optimizer_base import Optimizer, create, register
from minpy.optimizer.testing import Test
from minpy.optimizer.updater import Updater, get_updater

# What programs import from here as from MXNet's module, which imports it for itself.
_IMPORTED = (NDArray, array, is_np_array, multi_lamb_update, multi_mp_lamb_update, normal, zeros)
NDabs, NDnorm = ndarray.abs, ndarray.norm
_OPERATORS = """
adam_update cast clip ftml_update ftrl_update lamb_update_phase1 lamb_update_phase2 maximum mp_lamb_update_phase1
mp_lamb_update_phase2 mp_nag_mom_update mp_sgd_mom_update mp_sgd_update multi_lars multi_mp_sgd_mom_update
multi_mp_sgd_update multi_sgd_mom_update multi_sgd_update multi_sum_sq multiply nag_mom_update
preloaded_multi_mp_sgd_mom_update preloaded_multi_mp_sgd_update preloaded_multi_sgd_mom_update
preloaded_multi_sgd_update rmsprop_update rmspropalex_update sgd_mom_update sgd_update signsgd_update signum_update
sparse sqrt square
""".split()  # noqa: SIM905

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "NDabs",
    "NDnorm",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "create",
    "get_updater",
    "register",
]
__dir__ = listing(__all__)
_missing = missing(__name__, "optimizer", __all__)


def __getattr__(name: str) -> Any:
    return getattr(ndarray, name) if name in _OPERATORS else _missing(name)
