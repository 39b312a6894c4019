"""Nested lists, tuples, dicts and None, taken apart into arrays or symbols, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, describe
from minpy.ndarray import NDArray
from minpy.symbol import Symbol

__all__ = ["_flatten", "_regroup"]


def _flatten(args: Any, inout_str: str) -> tuple[list[Any], Any]:
    """Return the leaves of nested values (arrays, symbols and None), which are an 'input' or 'output', and their form.

    The form is 0 for an array or a symbol, n for a symbol of n > 1 outputs, -1 for None, a list of forms for a list;
    tuples and dicts have a form of their own class.
    """
    if isinstance(args, NDArray):
        return [args], 0
    if isinstance(args, Symbol):
        count = len(args.values)
        return [args], count if count > 1 else 0
    if args is None:
        return [None], -1
    if isinstance(args, dict):
        leaves, forms = _flatten([*args.values()], inout_str)
        return leaves, _Dict(zip(args, forms, strict=True))
    if not isinstance(args, (list, tuple)):
        raise ArgumentValueError(
            f"An {inout_str} of a block is {describe(args)}; expected an NDArray, a Symbol or None, or nested lists, "
            "tuples or dicts of them. "
            + (
                "Make an NDArray of it first: mx.nd.array(x)."
                if hasattr(args, "__array__") and not isinstance(args, numpy.generic)
                else "Numbers and other options are given to the block when it is made."
            )
        )
    leaves, forms = [], []
    for part in args:
        part_leaves, form = _flatten(part, inout_str)
        leaves += part_leaves
        forms.append(form)
    return leaves, _Tuple(forms) if isinstance(args, tuple) and inout_str == "output" else forms


class _Tuple(list[Any]):
    """The form of a tuple."""


class _Dict(dict[Any, Any]):
    """The form of a dict: the forms of its values."""


def _regroup(args: Sequence[Any], fmt: Any) -> tuple[Any, list[Any]]:
    """Return values put together in the form that `_flatten` found, and those that are left over."""
    args = list(args)
    if isinstance(fmt, int):
        if fmt == -1:
            return None, args[1:]
        return (args[0], args[1:]) if fmt == 0 else (args[:fmt], args[fmt:])
    if isinstance(fmt, _Dict):
        values, args = _regroup(args, [*fmt.values()])
        return dict(zip(fmt, values, strict=True)), args
    parts = []
    for form in fmt:
        part, args = _regroup(args, form)
        parts.append(part)
    return (tuple(parts) if isinstance(fmt, _Tuple) else parts), args
