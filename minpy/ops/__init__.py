"""The built-in operators, one file a family: a definition and its gradient rules side by side."""

from minpy.ops import (
    arithmetic,
    comparison,
    indexing,
    mathematics,
    numpy_functions,
    reduction,
    rounding,
    shape,
    special,
)

__all__ = [
    "arithmetic",
    "comparison",
    "indexing",
    "mathematics",
    "numpy_functions",
    "reduction",
    "rounding",
    "shape",
    "special",
]
