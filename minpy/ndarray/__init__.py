"""`minpy.nd`: NDArrays and the operators on them, by MXNet's names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from minpy.backends.native import updating as _updating
from minpy.custom.calling import Custom
from minpy.namespaces import listing, missing
from minpy.ndarray import _internal as _internal
from minpy.ndarray import contrib, image, linalg, op, random, sparse
from minpy.ndarray import methods as methods  # installs them
from minpy.ndarray.creation import arange, array, empty, eye, from_numpy, full, full_like, linspace, ones, zeros
from minpy.ndarray.decoding import imdecode
from minpy.ndarray.dlpack import from_dlpack, to_dlpack_for_read, to_dlpack_for_write
from minpy.ndarray.functions import concatenate, histogram, moveaxis, onehot_encode, reset_arrays, split_v2, waitall
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.saving import load, load_frombuffer, save
from minpy.ops.registry import OPERATORS as _OPERATORS

globals().update(random.FUNCTIONS)
globals().update({name: operator for name, operator in _OPERATORS.items() if name not in globals()})

_updating.install()

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
_missing = missing("minpy.nd", "operator", __all__)
# What layers find as `F.np` and `F.npx`: they stand above this module.
_LATE = {"np": "numpy", "npx": "numpy_extension", "numpy": "numpy", "numpy_extension": "numpy_extension"}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return globals().setdefault(name, import_module(f"minpy.{_LATE[name]}"))
    return _missing(name)
