"""logaddexp and logaddexp2."""

from __future__ import annotations

from minpy.graph.native.mathematics.exponentials import LOG2_E, exp, exp2
from minpy.graph.native.mathematics.logarithms import log1p
from minpy.graph.native.mathematics.writing import Value, where

__all__ = ["logaddexp", "logaddexp2"]


def logaddexp(x: Value, y: Value) -> Value:
    """max(x, y) + log(1 + exp(-|x - y|))."""
    more = log1p(exp(-abs(x - y)))
    return where(x.equals(y), x + 0.69314718055994530942, where(x > y, x, y) + more)


def logaddexp2(x: Value, y: Value) -> Value:
    """max(x, y) + log2(1 + 2**-|x - y|)."""
    more = log1p(exp2(-abs(x - y))) * LOG2_E
    return where(x.equals(y), x + 1, where(x > y, x, y) + more)
