"""`minpy.nd`: NDArrays and the operators on them, by MXNet's names."""

from __future__ import annotations

from typing import Any

from minpy.importing import import_module
from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray import methods as methods  # installs them
from minpy.ndarray import random as random
from minpy.ndarray.array_functions import (
    concatenate,
    histogram,
    moveaxis,
    onehot_encode,
    reset_arrays,
    split_v2,
    waitall,
)
from minpy.ndarray.creation import arange, array, empty, eye, from_numpy, full, full_like, linspace, ones, zeros
from minpy.ndarray.dlpack import from_dlpack, to_dlpack_for_read, to_dlpack_for_write
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.saving import load, load_frombuffer, save
from minpy.ops.registry import OPERATORS as _OPERATORS

globals().update(random.FUNCTIONS)

__all__ = [
    "Custom",
    "NDArray",
    "arange",
    "array",
    "concatenate",
    "contrib",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "histogram",
    "image",
    "imdecode",
    "linalg",
    "linspace",
    "load",
    "load_frombuffer",
    "moveaxis",
    "np",
    "npx",
    "numpy",
    "numpy_extension",
    "onehot_encode",
    "ones",
    "op",
    "random",
    "reset_arrays",
    "save",
    "sparse",
    "split_v2",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "waitall",
    "zeros",
    *random.FUNCTIONS,
    *(name for name in _OPERATORS if not name.startswith("_")),
]

__dir__ = listing(__all__)

# What layers find as `F.np` and `F.npx`: they stand above this module.
_ABOVE = {"np": "numpy", "npx": "numpy_extension", "numpy": "numpy", "numpy_extension": "numpy_extension"}
_INSIDE = ("_internal", "contrib", "image", "linalg", "op", "sparse")


def _load(name: str) -> Any:
    if name in _ABOVE:
        return import_module(f"minpy.{_ABOVE[name]}")
    if name in _INSIDE:
        return import_module(f"minpy.ndarray.{name}")
    if name == "Custom":
        return import_module("minpy.custom.custom_call").Custom
    if name == "imdecode":
        return import_module("minpy.ndarray.decoding").imdecode
    return _OPERATORS[name]


__getattr__ = late_names(
    __name__,
    ["Custom", "imdecode", *_ABOVE, *_INSIDE, *_OPERATORS],
    _load,
    missing("minpy.nd", "operator", __all__),
)
