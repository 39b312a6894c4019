"""Gradients of NumPy's functions that are no operators, as steps of graphs: the mathematics of the rows that say so.

A rule, `rule(answer, gradient, *arguments, **keywords)`, returns the gradients of the first arguments, of arrays and
numbers in lists each, in their order; None for those without one. Or None, for a call of which it knows nothing. It is
written with NumPy's functions, and is captured as the rules of operators are. The modules are imported when the first
gradient is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.importing import import_module
from minpy.numpy_table.row import Row

__all__ = ["has_rule", "rule_of"]


def has_rule(row: Row | None) -> bool:
    """Tell whether there is a rule for the steps of a function."""
    return row is not None and row.gradient not in ("", "zero")


def rule_of(row: Row) -> Callable[..., Any]:
    """Return the rule for the steps of a function."""
    rule: Callable[..., Any] = import_module(f"{__name__}.{row.gradient}").RULES[row.name]
    return rule
