"""What is known of NumPy's functions by their names: which give views, scalars or lists, and where `out` stands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

__all__ = ["ROUNDING", "gives_scalars", "in_its_class", "may_give_view", "with_out_named"]

# What gives a view in NumPy's semantics, or may.
_VIEWS = frozenset(
    """
    T around array_split asfarray astype atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to conj
    conjugate diag diagonal diff dsplit einsum expand_dims flatten flip fliplr flipud getitem hsplit imag
    linalg.diagonal linalg.matrix_power linalg.matrix_transpose matrix_transpose meshgrid moveaxis nan_to_num
    permute_dims ravel real real_if_close reshape rollaxis rot90 round round_ split squeeze swapaxes transpose
    trim_zeros unstack vsplit
    """.split()  # noqa: SIM905
)
# Those that copy unless they are told not to; and those that give whole numbers as they are.
_COPYING = frozenset(["astype", "diff", "meshgrid", "nan_to_num"])
ROUNDING = frozenset(["around", "round", "round_"])
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
    if name not in (_VIEWS if in_numpy else _VIEWS_OF_MXNET):
        return False
    return name not in _COPYING or bool(keywords.keys() & {"copy", "n"}) or len(arguments) >= 2 + (name == "astype")


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
    if name.endswith("split"):
        return list
    if name in ("meshgrid", "broadcast_arrays"):  # lists before NumPy 2
        return type(getattr(numpy, name)([0.0], [0.0]))
    if name in ("linalg.eig", "linalg.eigh", "linalg.qr", "linalg.svd", "linalg.slogdet"):
        return type(getattr(numpy.linalg, name.removeprefix("linalg."))(numpy.eye(1)))
    return tuple


@functools.cache
def _place_of_out(name: str) -> int | None:
    """Return which positional argument of a function of NumPy's is `out`; its methods have it there, too, after self.

    >>> _place_of_out("sum"), _place_of_out("dot"), _place_of_out("where")
    (3, 2, None)
    """
    if name in _WITHOUT_SIGNATURE:
        return 2
    found: Any = numpy
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found) or isinstance(found, numpy.ufunc):
        return None  # NumPy itself makes a keyword of those of ufuncs
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return None
    places = {one: place for place, (one, what) in enumerate(parameters.items()) if what.kind != what.KEYWORD_ONLY}
    return places.get("out")


# Which older versions of NumPy do not tell the parameters of.
_WITHOUT_SIGNATURE = frozenset(["concatenate", "dot"])


def gives_scalars(name: str) -> bool:
    """Tell whether a function of NumPy's, or a method, gives a scalar where its answer has no axes: never an array.

    >>> gives_scalars("exp"), gives_scalars("sum"), gives_scalars("copy")
    (True, True, False)
    """
    return name in _SCALARS or isinstance(vars(numpy).get(name), numpy.ufunc)


_SCALARS = frozenset(
    [
        *("all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "dot", "inner", "linalg.det"),
        *("linalg.norm", "max", "mean", "median", "min", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum"),
        *("nanvar", "prod", "ptp", "std", "sum", "trace", "var", "vdot"),
    ]
)
