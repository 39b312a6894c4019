"""`minpy.sym.npx.image`: images, as functions of symbols with NumPy's semantics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.late import late_names as _late_names
from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.ops.registry import find_operator as _find_operator
from minpy.ops.registry import names_under as _names_under
from minpy.symbol.composition import shown_signature as _shown_signature
from minpy.symbol.numpy.symbol_class import call as _call


def _function_of(name: str) -> Callable[..., Any]:
    operator = _find_operator(f"_image_{name}")

    def function(*arguments: Any, **keywords: Any) -> Any:
        return _call(f"_image_{name}", arguments, name, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = operator.__doc__
    vars(function)["__signature__"] = _shown_signature(operator)
    return function


__all__ = [*_names_under("_image_")]
__dir__ = _listing(__all__)
__getattr__ = _late_names(__name__, __all__, _function_of, _missing("minpy.sym.npx.image", "function", __all__))
