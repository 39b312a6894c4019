"""The rows of functions along axes whose answer has fewer elements, or as many: reductions and accumulations."""

from __future__ import annotations

from minpy.numpy_table.rows import Row, alike

__all__ = ["ROWS"]

ROWS = [
    *alike("reduce", "all any argmax argmin max mean min prod", scalar=True, method=True),
    *alike("reduce", "alltrue amax amin median nanargmax nanargmin nanmax nanmean nanmedian nanmin nanprod nanstd "
           "nanvar product ptp sometrue", scalar=True),
    Row("sum", "reduce", scalar=True, gradient="reducing", method=True),
    Row("nansum", "reduce", scalar=True, gradient="reducing"),
    *alike("reduce", "std var", scalar=True, differs="c", method=True),
    Row("count_nonzero", "call", scalar=True, gradient="zero"),
    Row("cumprod", "accumulate", method=True),
    Row("cumsum", "accumulate", differs="biu", method=True),
    *alike("accumulate", "cumproduct nancumprod nancumsum"),
    *alike("call", "cumulative_prod cumulative_sum"),
]  # fmt: skip
