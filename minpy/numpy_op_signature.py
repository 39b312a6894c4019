"""Which public function one of MXNet's operators for `np` and `npx` is, as its tests ask."""

from __future__ import annotations

from typing import Any

from minpy import numpy as _numpy
from minpy import numpy_extension as _numpy_extension
from minpy.core.errors import ArgumentValueError
from minpy.namespaces import module_functions

__all__: list[str] = []
__dir__, __getattr__ = module_functions(__name__, __all__)

_NP_OP_SUBMODULE_LIST = ["_random_", "_linalg_"]
_NP_EXT_OP_SUBMODULE_LIST = ["_image_", "_random_"]


def _get_builtin_op(op_name: str) -> Any:
    """Return the function of `np` or `npx` whose operator has that name, `_np_sum` or `_npx_relu`; None for others."""
    for prefix, module, inner in (
        ("_npx", _numpy_extension, _NP_EXT_OP_SUBMODULE_LIST),
        ("_np", _numpy, _NP_OP_SUBMODULE_LIST),
    ):
        if not op_name.startswith(f"{prefix}_"):
            continue
        name, holder = op_name.removeprefix(f"{prefix}_"), module
        for part in inner:
            if op_name.startswith(prefix + part):
                name, holder = op_name.removeprefix(prefix + part), getattr(module, part.strip("_"))
        if not hasattr(holder, name):
            raise ArgumentValueError(f"Cannot find operator {name} in module {holder.__name__}")
        return getattr(holder, name)
    return None
