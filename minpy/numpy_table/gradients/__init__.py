"""Gradients of NumPy's functions that are no operators, as steps of graphs, for the rows that name a module here.

A rule, `rule(result, gradient, *arguments, **keywords)`, returns the gradients of the first arguments in order, one for
each array or number of a list; None for those without one. For a call that it does not cover it returns None. Rules are
written with NumPy's functions, and are captured as those of operators are. A module is imported when the first gradient
is computed.
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
