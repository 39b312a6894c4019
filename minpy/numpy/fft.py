"""`minpy.numpy.fft`: `numpy.fft` on arrays of the tape; gradients come from autograd's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.fft as _source

from minpy.namespaces import listing as _listing
from minpy.numpy.wrapping import wrapped_namespace as _wrapped_namespace

_generated = _wrapped_namespace(_source, "numpy.fft", skip=["test"])
globals().update(_generated)

__all__ = sorted(_generated)
__dir__ = _listing(__all__)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
