"""Operators of minpy as operators of PyTorch, JAX and PyTensor, and functions of theirs as operators of minpy.

Each framework is imported when it is used for the first time: none is needed to import this module.
"""

from __future__ import annotations

from typing import Any

from minpy.core.errors import nearest
from minpy.importing import import_module

_DEFINED_IN = {
    "as_operator": "minpy.frameworks.operators",
    "from_jax": "minpy.frameworks.foreign_jax",
    "from_torch": "minpy.frameworks.foreign_torch",
    "to_jax": "minpy.frameworks.jax_operator",
    "to_pytensor": "minpy.frameworks.pytensor_operator",
    "to_torch": "minpy.frameworks.torch_operator",
}
__all__ = ["as_operator", "from_jax", "from_torch", "to_jax", "to_pytensor", "to_torch"]


def __getattr__(name: str) -> Any:
    module = _DEFINED_IN.get(name)
    if module is None:
        raise AttributeError(f"minpy.frameworks has no function {name!r}.{nearest(name, __all__)}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
