"""`minpy.sym.contrib`: operators that MXNet keeps apart, as on trial, as functions of symbols."""

from __future__ import annotations

from typing import Any

from minpy.namespaces import listing
from minpy.ops.registry import names_under as _names_under
from minpy.symbol import contrib_updates as _weight_updates
from minpy.symbol import random as _random
from minpy.symbol.control_flow import cond, foreach, while_loop
from minpy.symbol.operator_functions import late_functions as _late_functions
from minpy.symbol.zipfian import rand_zipfian

_FUNCTIONS = {name: getattr(_weight_updates, name) for name in _weight_updates.__all__}
uniform: Any = vars(_random)["uniform"]
globals().update(_FUNCTIONS)

__all__ = ["cond", "foreach", "rand_zipfian", "uniform", "while_loop", *_names_under("_contrib_"), *_FUNCTIONS]
__dir__ = listing(__all__)
__getattr__ = _late_functions(__name__, "minpy.sym.contrib", "_contrib_", __all__)
