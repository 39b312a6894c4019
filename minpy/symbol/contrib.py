"""`minpy.sym.contrib`: operators that MXNet keeps apart, as on trial, as functions of symbols."""

from __future__ import annotations

from typing import Any

from minpy.namespaces import listing, missing
from minpy.symbol import random as _random
from minpy.symbol import weight_updates as _weight_updates
from minpy.symbol.control_flow import cond, foreach, while_loop
from minpy.symbol.functions import functions_under as _functions_under
from minpy.symbol.zipfian import rand_zipfian

_FOUND = _functions_under("_contrib_", __name__)
_FUNCTIONS = {name: getattr(_weight_updates, name) for name in _weight_updates.__all__}
uniform: Any = vars(_random)["uniform"]
globals().update(_FOUND, **_FUNCTIONS)

__all__ = ["cond", "foreach", "rand_zipfian", "uniform", "while_loop", *_FOUND, *_FUNCTIONS]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.sym.contrib", "operator", __all__)
