"""`minpy.sym.npx.image`: images, as functions of symbols with NumPy's semantics."""

from minpy.late import late_names as _late_names
from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.ops.registry import names_under as _names_under
from minpy.symbol.numpy.symbol_class import operator_function as _operator_function

__all__ = [*_names_under("_image_")]
__dir__ = _listing(__all__)
__getattr__ = _late_names(
    __name__,
    __all__,
    lambda name: _operator_function(name, f"_image_{name}", __name__),
    _missing("minpy.sym.npx.image", "function", __all__),
)
