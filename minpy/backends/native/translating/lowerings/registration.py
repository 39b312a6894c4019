"""The modules that enter lowerings into the tables: imported for that."""

from __future__ import annotations

from minpy.backends.native.translating.lowerings import (  # noqa: F401
    assembling,
    contracting,
    convolving,
    definitions,
    elementwise_functions,
    indexed_access,
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
