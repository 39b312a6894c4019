"""`minpy.nd._internal`: operators under the names that MXNet keeps to itself, which programs reach for all the same."""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _numpy

from minpy.context import resolve_context as _resolve_context
from minpy.core.operator import Operator as _Operator
from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray.decoding import _cvcopyMakeBorder, _cvimdecode, _cvimread, _cvimresize
from minpy.ndarray.ndarray import NDArray as _NDArray
from minpy.ndarray.placement import place as _place
from minpy.ops.registry import OPERATORS as _OPERATORS
from minpy.ops.registry import inner_names as _inner_names


def _making(made: _Operator) -> _Callable[..., _Any]:
    """Return an operator without inputs as a function that returns NDArrays: there is no input to be like."""

    @_functools.wraps(made, updated=())
    def make(*arguments: _Any, ctx: _Any = None, **attributes: _Any) -> _Any:
        context = _resolve_context(ctx or None)
        found = made(*arguments, **attributes)
        parts = found if isinstance(found, tuple | list) else (found,)
        placed = [_place(_NDArray, one, context) if isinstance(one, _numpy.ndarray) else one for one in parts]
        return placed if isinstance(found, tuple | list) else placed[0]

    return make


def _made(name: str) -> _Any:
    made = _OPERATORS[name]
    return made if made.signature.inputs or made.signature.variadic else _making(made)


_NAMES = _inner_names()

__all__ = ["_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize", *_NAMES]
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, _NAMES, _made, missing("minpy.nd._internal", "operator", __all__))
