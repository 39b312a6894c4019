"""MinPy's kinds of arrays: NumPy's, and MXNet's, which are `NDArray`s here. One library computes with both."""

from __future__ import annotations

from minpy.array_variants import mxnet, numpy
from minpy.namespaces import module_functions

__all__ = ["ArrayType", "array_types", "mxnet", "number_types", "numpy", "variants", "variants_repr"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class ArrayType:
    """The kinds of arrays, by number.

    Examples
    --------
    >>> ArrayType.NUMPY, ArrayType.MXNET
    (0, 1)
    """

    NUMPY = 0
    MXNET = 1


variants = {"numpy": ArrayType.NUMPY, "mxnet": ArrayType.MXNET}
variants_repr = {ArrayType.NUMPY: "NumPy", ArrayType.MXNET: "MXNet"}
array_types = {"numpy": numpy.array_type, "mxnet": mxnet.array_type}
number_types = {"native": [int, float], "numpy": numpy.number_type, "mxnet": mxnet.number_type}
