"""The rows of functions that change their first argument."""

from __future__ import annotations

from minpy.numpy_table.row import Row

__all__ = ["ROWS"]

ROWS = [
    Row("copyto", "write", parameters="dst src casting where", writes="dst"),
    Row("fill_diagonal", "write", writes="a"),
    Row("place", "write", writes="arr"),
    Row("put", "write", writes="a"),
    Row("put_along_axis", "write", writes="arr"),
    Row("putmask", "write", parameters="a mask values", writes="a"),
]
