"""`minpy.sym.npx.image`: images, as functions of symbols with NumPy's semantics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.ops.registry import operators_under as _operators_under
from minpy.symbol.composing import shown_signature as _shown_signature
from minpy.symbol.numpy.arrays import call as _call


def _function_of(name: str, operator: Any) -> Callable[..., Any]:
    def function(*arguments: Any, **keywords: Any) -> Any:
        return _call(f"_image_{name}", arguments, name, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = operator.__doc__
    vars(function)["__signature__"] = _shown_signature(operator)
    return function


_FOUND = {name: _function_of(name, made) for name, made in _operators_under("_image_").items()}
globals().update(_FOUND)

__all__ = [*_FOUND]
__dir__ = _listing(__all__)


def __getattr__(name: str) -> Any:
    return _missing("minpy.sym.npx.image", "function", __all__)(name)
