"""What operators of two arrays are with a number in the place of one: operators that take it as an attribute."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from minpy.core.operator import Operator

__all__ = ["NUMBER_FORMS", "WithNumberForms"]

# The operators of two arrays, less `broadcast_`, with a number on their right, and on their left.
NUMBER_FORMS = {
    "add": ("plus", "plus"),
    "sub": ("minus", "rminus"),
    "mul": ("mul", "mul"),
    "div": ("div", "rdiv"),
    "mod": ("mod", "rmod"),
    "power": ("power", "rpower"),
    "maximum": ("maximum", "maximum"),
    "minimum": ("minimum", "minimum"),
    "hypot": ("hypot", "hypot"),
    "equal": ("equal", "equal"),
    "not_equal": ("not_equal", "not_equal"),
    "greater": ("greater", "lesser"),
    "greater_equal": ("greater_equal", "lesser_equal"),
    "lesser": ("lesser", "greater"),
    "lesser_equal": ("lesser_equal", "greater_equal"),
    "logical_and": ("logical_and", "logical_and"),
    "logical_or": ("logical_or", "logical_or"),
    "logical_xor": ("logical_xor", "logical_xor"),
}


class WithNumberForms(Operator):
    """An operator of two arrays, which broadcast, that has forms for an array and a number.

    Attributes
    ----------
    find_form : callable
        Returns the operator of a name.
    """

    find_form: Callable[[str], Operator]

    @cached_property
    def with_number(self) -> tuple[Operator, Operator]:  # type: ignore[override]
        """The operators with a number on the right, and on the left."""
        right, left = NUMBER_FORMS[self.__name__.removeprefix("broadcast_")]
        return self.find_form(f"_{right}_scalar"), self.find_form(f"_{left}_scalar")
