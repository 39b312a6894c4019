"""NumPy's kind of array, and of numbers."""

from __future__ import annotations

import numpy

from minpy.namespaces import public

__all__ = ["array_type", "number_type"]
__dir__, __getattr__ = public("minpy.array_variants.numpy", "name", __all__)

array_type = numpy.ndarray
number_type: list[type] = [float, numpy.float16, numpy.float32, numpy.float64, int, numpy.int32, numpy.int64]
