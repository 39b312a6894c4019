"""`minpy.npx.image`: images, on `minpy.np.ndarray`s."""

from __future__ import annotations

from minpy.late import late_names as _late_names
from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.numpy_extension.operator_functions import function_of as _function_of
from minpy.ops.registry import names_under as _names_under

_NAMES = _names_under("_image_")

__all__ = [*_NAMES]
__dir__ = _listing(__all__)
__getattr__ = _late_names(
    __name__,
    _NAMES,
    lambda name: _function_of(name, _NAMES[name], "minpy.numpy_extension.image"),
    _missing("minpy.npx.image", "function", __all__),
)
