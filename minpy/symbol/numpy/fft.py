"""`minpy.sym.np.fft`: Fourier transforms of symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minpy.namespaces import listing
from minpy.symbol.numpy.unnamed_functions import remaining

_FOUND = remaining("fft", ())
globals().update(_FOUND)

__all__ = [*_FOUND]
__dir__ = listing(__all__)

if TYPE_CHECKING:  # those that are found

    def __getattr__(name: str) -> Any: ...
