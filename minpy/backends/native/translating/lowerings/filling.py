"""The files that fill the tables: imported for that."""

from __future__ import annotations

from minpy.backends.native.translating.lowerings import (  # noqa: F401
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
