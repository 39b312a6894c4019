"""What is known of NumPy's functions by their names: which give views, scalars or lists, and where `out` stands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy.numpy_table.table import function_named, named

__all__ = ["ROUNDING", "in_its_class", "may_give_view", "with_out_named"]

ROUNDING = frozenset(["around", "round", "round_"])  # they give whole numbers as they are
_VIEWS_OF_MXNET = frozenset(["getitem", "reshape"])


def may_give_view(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any], in_numpy: bool = True) -> bool:
    """Tell whether a function, or a method, may return what lies in the memory of its arguments.

    Parameters
    ----------
    name : str
    arguments, keywords
        Of the call: some copy unless they are told not to.
    in_numpy : bool
        Whether it is NumPy's, or else one of MXNet's arrays.

    Examples
    --------
    >>> may_give_view("transpose", (), {}), may_give_view("exp", (), {}), may_give_view("astype", (), {"copy": False})
    (True, False, True)
    """
    row = named(name)
    view = "" if row is None else row.view
    if not view or not (in_numpy or name in _VIEWS_OF_MXNET):
        return False
    return view in ("always", "sometimes") or view in keywords or len(arguments) >= 2 + (name == "astype")


def in_its_class(name: str, answer: Any) -> Any:
    """Return several arrays as the function of NumPy gives them: in a list, a tuple, or a named tuple."""
    if not isinstance(answer, list):
        return answer
    kind = _class_of(name)
    return kind(*answer) if hasattr(kind, "_fields") else kind(answer)


def with_out_named(
    name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Return the arguments of a call with `out` among the keywords, where it was given by position."""
    place = _place_of_out(name)
    if place is None or len(arguments) <= place or arguments[place] is None:
        return arguments, keywords
    return (*arguments[:place], None, *arguments[place + 1 :]), {**keywords, "out": arguments[place]}


@functools.cache
def _class_of(name: str) -> Any:
    row = named(name)
    if row is not None and row.results == "numpy":  # lists before NumPy 2, or named tuples
        samples = (numpy.eye(1),) if row.sample else ([0.0], [0.0])
        return type(function_named(name)(*samples))
    return list if row is not None and row.results == "list" else tuple


@functools.cache
def _place_of_out(name: str) -> int | None:
    """Return which positional argument of a function of NumPy's is `out`; its methods have it there, too, after self.

    >>> _place_of_out("sum"), _place_of_out("dot"), _place_of_out("where")
    (3, 2, None)
    """
    row = named(name)
    if row is not None and row.parameters:
        return row.parameters.split().index("out") if "out" in row.parameters.split() else None
    function = function_named(name)
    if not callable(function) or isinstance(function, numpy.ufunc):
        return None  # NumPy itself makes a keyword of those of ufuncs
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    places = {each: place for place, (each, what) in enumerate(parameters.items()) if what.kind != what.KEYWORD_ONLY}
    return places.get("out")
