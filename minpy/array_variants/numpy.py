"""NumPy's kind of array, and of numbers."""

from __future__ import annotations

import numpy

from minpy.namespaces import module_functions

__all__ = ["array_type", "number_type"]
__dir__, __getattr__ = module_functions(__name__, __all__)

array_type = numpy.ndarray
number_type: list[type] = [float, numpy.float16, numpy.float32, numpy.float64, int, numpy.int32, numpy.int64]
