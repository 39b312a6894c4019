"""The files that fill the tables: imported for that."""

from __future__ import annotations

from minpy.backends.native.translating.lowerings import (
    assembling,
    contracting,
    convolving,
    definitions,
    elementwise,
    gathering,
    indexing,
    keys,
    maxima,
    neural,
    recurrent,
    reductions,
    scanning,
    ufuncs,
    views,
    windows,
)

__all__ = ["FILES"]

FILES = (
    assembling,
    contracting,
    convolving,
    definitions,
    elementwise,
    gathering,
    indexing,
    keys,
    maxima,
    neural,
    recurrent,
    reductions,
    scanning,
    ufuncs,
    views,
    windows,
)
