"""MXNet's kind of array: `NDArray`. It has no kind of number of its own."""

from __future__ import annotations

from minpy.namespaces import module_functions
from minpy.ndarray.ndarray import NDArray

__all__ = ["array_type", "number_type"]
__dir__, __getattr__ = module_functions(__name__, __all__)

array_type = NDArray
number_type: list[type] = []
