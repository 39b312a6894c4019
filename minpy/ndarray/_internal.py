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


def _returning_arrays(operator: _Operator) -> _Callable[..., _Any]:
    """Return an operator without inputs as a function that returns NDArrays: there is no input to be like."""

    @_functools.wraps(operator, updated=())
    def make(*arguments: _Any, ctx: _Any = None, **attributes: _Any) -> _Any:
        context = _resolve_context(ctx or None)
        result = operator(*arguments, **attributes)
        parts = result if isinstance(result, tuple | list) else (result,)
        placed = [_place(_NDArray, part, context) if isinstance(part, _numpy.ndarray) else part for part in parts]
        return placed if isinstance(result, tuple | list) else placed[0]

    return make


def _load(name: str) -> _Any:
    operator = _OPERATORS[name]
    return operator if operator.signature.inputs or operator.signature.variadic else _returning_arrays(operator)


_NAMES = _inner_names()

__all__ = ["_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize", *_NAMES]
__dir__ = listing(__all__)
__getattr__ = late_names(__name__, _NAMES, _load, missing("minpy.nd._internal", "operator", __all__))
