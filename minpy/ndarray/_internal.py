"""`minpy.nd._internal`: operators under the names that MXNet keeps to itself, which programs reach for all the same."""

from __future__ import annotations

from minpy.namespaces import listing, missing
from minpy.ndarray.decoding import _cvcopyMakeBorder, _cvimdecode, _cvimread, _cvimresize
from minpy.ops.registry import inner_operators as _inner_operators

_FOUND = _inner_operators()
globals().update(_FOUND)

__all__ = ["_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize", *_FOUND]
__dir__ = listing(__all__)
__getattr__ = missing("minpy.nd._internal", "operator", __all__)
