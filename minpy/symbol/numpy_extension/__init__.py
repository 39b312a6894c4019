"""`minpy.sym.npx`: what networks need beyond NumPy, as functions of symbols with NumPy's semantics."""

from __future__ import annotations

from typing import Any

from minpy.late import late_names as _late_names
from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.ops.numpy.extension_names import OPERATOR_NAMES as _OPERATOR_NAMES
from minpy.ops.registry import OPERATORS as _OPERATORS
from minpy.symbol.numpy.symbol_class import call as _call
from minpy.symbol.numpy.symbol_class import operator_function as _operator_function
from minpy.symbol.numpy_extension import image as image
from minpy.symbol.numpy_extension import random as random

# Operators whose nodes in files are of another one.
_OWN = {"relu": "_npx_relu", "sigmoid": "_npx_sigmoid"}


def reshape(a: Any, newshape: Any, reverse: bool = False, order: str = "C", **kwargs: Any) -> Any:
    """Return the symbol of an array in another shape, which codes may stand for: see `minpy.npx.reshape`."""
    target = newshape if isinstance(newshape, int) else tuple(newshape)
    return _call("_npx_reshape", [a], "reshape", newshape=target, **({"reverse": True} if reverse else {}), **kwargs)


def nonzero(x: Any, **kwargs: Any) -> Any:
    """Return the symbol of the positions of what is not 0; their number depends on values, so it cannot be bound."""
    return _call("_npx_nonzero", [x], "nonzero", **kwargs)


def constraint_check(input: Any, msg: str = "Constraint violated.", **kwargs: Any) -> Any:
    """Return the symbol of True, which raises the message when it is run and an element is not true."""
    return _call("_npx_constraint_check", [input], "constraint_check", msg=msg, **kwargs)


_NAMES = [name for name, kind in _OPERATOR_NAMES.items() if kind in _OPERATORS]

__all__ = ["constraint_check", "image", "nonzero", "random", "reshape", *_NAMES]
__dir__ = _listing(__all__)
__getattr__ = _late_names(
    __name__,
    _NAMES,
    lambda name: _operator_function(name, _OPERATOR_NAMES[name], "minpy.symbol.numpy_extension", _OWN.get(name)),
    _missing("minpy.sym.npx", "function", __all__),
)
