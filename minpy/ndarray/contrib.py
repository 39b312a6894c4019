"""`minpy.nd.contrib`: operators that MXNet keeps apart, as on trial, on NDArrays."""

from __future__ import annotations

from typing import Any

from minpy.importing import import_module
from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray.control_flow import cond, foreach, while_loop
from minpy.ndarray.finite import isfinite, isinf, isnan
from minpy.ndarray.random import uniform
from minpy.ndarray.zipfian import rand_zipfian
from minpy.ops.registry import find_operator as _find_operator
from minpy.ops.registry import names_under as _names_under

_NAMES = _names_under("_contrib_")
_UPDATES = (
    "adamw_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
)

__all__ = [
    "cond",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "rand_zipfian",
    "uniform",
    "while_loop",
    *_NAMES,
    *_UPDATES,
]
__dir__ = listing(__all__)


def _load(name: str) -> Any:
    if name in _UPDATES:
        return getattr(import_module("minpy.ndarray.weight_updates"), name)
    return _find_operator(_NAMES[name])


__getattr__ = late_names(__name__, __all__, _load, missing("minpy.nd.contrib", "operator", __all__))
