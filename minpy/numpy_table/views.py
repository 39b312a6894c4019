"""The rows of functions that rearrange their arguments: results may share the memory of the arguments."""

from __future__ import annotations

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS"]

ROWS = [
    *alike("view", "broadcast_to expand_dims flip moveaxis", view="always", moves=True),
    Row("reshape", "view", view="sometimes", moves=True),
    *alike("view", "fliplr flipud rollaxis", view="always", moves=True, gradient="rearranging"),
    *alike("view", "squeeze swapaxes", view="always", moves=True, method=True),
    Row("ravel", "view", view="sometimes", moves=True, method=True),
    Row("rot90", "view", view="always", moves=True, gradient="rearranging"),
    Row("transpose", "view", view="always", moves=True),
    Row("diagonal", "view", view="always", moves=True, gradient="rearranging", method=True),
    Row("diag", "view", view="sometimes", gradient="rearranging"),
    Row("linalg.diagonal", "view", view="always", gradient="rearranging"),
    *alike("view", "linalg.matrix_transpose matrix_transpose", view="always", gradient="rearranging"),
    *alike("view", "array_split dsplit hsplit split vsplit", view="always", moves=True, gradient="joining"),
    Row("unstack", "view", view="always", gradient="joining"),
    *alike("each", "atleast_1d atleast_2d atleast_3d", view="always", moves=True, gradient="rearranging"),
    Row("broadcast_arrays", "each", view="always", outputs=lambda arguments: len(arguments["args"])),
    Row("ix_", "mesh", view="always", nests="any", in_files=False),
    Row("meshgrid", "call", view="copy", gradient="joining"),
]
