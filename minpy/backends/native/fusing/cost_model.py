"""The cost model of fusing: limits of nests, and expensive functions."""

from __future__ import annotations

__all__ = [
    "CACHED_ROW",
    "DEAR_FUNCTIONS",
    "MAX_POINTERS",
    "MAX_STEPS",
    "STRIDED_SPACE",
]

# A nest is one function: more steps than this compile slowly, and their values no longer stay in registers.
MAX_STEPS = 60

# Arrays in memory that a nest reads or writes. Past the registers for addresses, each costs a load at every point.
MAX_POINTERS = 48

# Bytes of a row that still are in the cache when the inner loops run over it again: half of an L2 cache of 512 KiB.
CACHED_ROW = 256 * 1024

# Bytes of a space of which rows may be read that do not lie along its last axis: all of it stays in the L2 cache.
STRIDED_SPACE = 512 * 1024

# Functions that cost more than reading their result from memory: not computed twice where the result can be kept.
DEAR_FUNCTIONS = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "power", "cbrt", "erf"),
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("floor_divide", "remainder", "fmod"),
    }
)
