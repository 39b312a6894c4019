"""The rows of functions along axes whose result has fewer elements, or as many: reductions and accumulations."""

from __future__ import annotations

from minpy.numpy_table.row import Row, alike

__all__ = ["ROWS"]

ROWS = [
    *alike("reduce", "all any argmax argmin max mean min prod", scalar=True, method=True),
    *alike("reduce", "nanargmax nanargmin", scalar=True, gradient="zero"),
    *alike("reduce", "amax amin median nanmax nanmean nanmedian nanmin nanprod nanstd nanvar ptp",
           scalar=True),
    *alike("reduce", "alltrue sometrue", scalar=True, parameters="a axis out keepdims"),
    Row("product", "reduce", scalar=True, parameters="a axis dtype out keepdims"),
    Row("sum", "reduce", scalar=True, gradient="reduced_axes", method=True),
    Row("nansum", "reduce", scalar=True, gradient="reduced_axes"),
    *alike("reduce", "std var", scalar=True, differs="c", gradient="reduced_axes", method=True),
    Row("count_nonzero", "call", scalar=True, gradient="zero"),
    Row("cumprod", "accumulate", method=True),
    Row("cumsum", "accumulate", gradient="joining", differs="biu", method=True),
    Row("cumproduct", "accumulate", parameters="a axis dtype out"),
    *alike("accumulate", "nancumprod nancumsum"),
    Row("cumulative_prod", "call"),
    Row("cumulative_sum", "call", gradient="joining"),
]  # fmt: skip
