"""Operators on arrays of any kind: arithmetic, mathematics, reductions, shapes, indexing, joining."""
