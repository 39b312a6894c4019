"""`mx.image`: pictures read, cropped, resized and augmented, and iterators over them."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.image", "name", __all__)
