"""The files that fill the tables: imported for that."""

from __future__ import annotations

from minpy.graph.native.translating.lowerings import assembling, contracting, elementwise, reductions, ufuncs, views

__all__ = ["FILES"]

FILES = (assembling, contracting, elementwise, reductions, ufuncs, views)
