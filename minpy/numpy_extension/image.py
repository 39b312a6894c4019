"""`minpy.npx.image`: images, on `minpy.np.ndarray`s."""

from __future__ import annotations

from typing import Any

from minpy.namespaces import listing as _listing
from minpy.namespaces import missing as _missing
from minpy.numpy_extension.functions import function_of as _function_of
from minpy.ops.registry import operators_under as _operators_under

_FOUND = {
    name: _function_of(name, f"_image_{name}", "minpy.numpy_extension.image") for name in _operators_under("_image_")
}
globals().update(_FOUND)

__all__ = [*_FOUND]
__dir__ = _listing(__all__)


def __getattr__(name: str) -> Any:
    return _missing("minpy.npx.image", "function", __all__)(name)
