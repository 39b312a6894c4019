"""Names that NumPy has removed, given back to it for old programs that use them.

They are those of NumPy 1.23, the last one that MXNet 1.9.1 imports with. What NumPy has keeps its meaning: `np.bool`
and `np.long` are there again since NumPy 2, as types of its own.
"""

from __future__ import annotations

import builtins
import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from minpy.dropin.old_calls import restore_calls

__all__ = ["OLD_NAMES", "UNRESTORED", "restore"]

# Names that are told apart as text: numpy's own checkers know them as gone.
_np: Any = numpy

# Old name: the present one.
_RENAMED = {
    "Inf": "inf", "Infinity": "inf", "NAN": "nan", "NaN": "nan", "PINF": "inf", "alltrue": "all", "bool8": "bool_",
    "bytes0": "bytes_", "cfloat": "complex128", "clongfloat": "clongdouble", "complex_": "complex128",
    "cumproduct": "cumprod", "float_": "float64", "infty": "inf", "int0": "intp", "longcomplex": "clongdouble",
    "longfloat": "longdouble", "mat": "asmatrix", "object0": "object_", "product": "prod", "round_": "round",
    "row_stack": "vstack", "singlecomplex": "complex64", "sometrue": "any", "str0": "str_", "string_": "bytes_",
    "trapz": "trapezoid", "uint0": "uintp", "unicode_": "str_", "void0": "void",
}  # fmt: skip

# Aliases of Python's own types, and constants.
_VALUES: dict[str, Any] = {
    "bool": bool, "complex": complex, "float": float, "int": int, "long": int, "object": object, "str": str,
    "unicode": str, "NINF": -math.inf, "NZERO": -0.0, "PZERO": 0.0, "math": math, "os": os, "sys": sys,
    "warnings": warnings, "tracemalloc_domain": 389047,
    "ALLOW_THREADS": 1, "BUFSIZE": 8192, "CLIP": 0, "WRAP": 1, "RAISE": 2, "MAXDIMS": 32, "MAY_SHARE_BOUNDS": 0,
    "MAY_SHARE_EXACT": -1, "FLOATING_POINT_SUPPORT": 1, "UFUNC_BUFSIZE_DEFAULT": 8192,
    "UFUNC_PYVALS_NAME": "UFUNC_PYVALS", "ERR_IGNORE": 0, "ERR_WARN": 1, "ERR_RAISE": 2, "ERR_CALL": 3, "ERR_PRINT": 4,
    "ERR_LOG": 5, "ERR_DEFAULT": 521, "FPE_DIVIDEBYZERO": 1, "FPE_OVERFLOW": 2, "FPE_UNDERFLOW": 4, "FPE_INVALID": 8,
    "SHIFT_DIVIDEBYZERO": 0, "SHIFT_OVERFLOW": 3, "SHIFT_UNDERFLOW": 6, "SHIFT_INVALID": 9,
}  # fmt: skip

# What has moved to another module: its place there.
_MOVED = {
    "AxisError": "exceptions.AxisError",
    "ComplexWarning": "exceptions.ComplexWarning",
    "DataSource": "lib.npyio.DataSource",
    "ModuleDeprecationWarning": "exceptions.ModuleDeprecationWarning",
    "RankWarning": "exceptions.RankWarning",
    "TooHardError": "exceptions.TooHardError",
    "VisibleDeprecationWarning": "exceptions.VisibleDeprecationWarning",
    "add_docstring": "lib.add_docstring",
    "add_newdoc": "lib.add_newdoc",
    "byte_bounds": "lib.array_utils.byte_bounds",
    "chararray": "char.chararray",
    "compare_chararrays": "char.compare_chararrays",
    "format_parser": "rec.format_parser",
}

_KINDS = {
    "int": ("int8", "int16", "int32", "int64"),
    "uint": ("uint8", "uint16", "uint32", "uint64"),
    "float": ("float16", "float32", "float64", "longdouble"),
    "complex": ("complex64", "complex128", "clongdouble"),
}


def _sctypes() -> dict[str, list[type]]:
    types: dict[str, list[type]] = {kind: [getattr(_np, name) for name in names] for kind, names in _KINDS.items()}
    return {**types, "others": [bool, object, bytes, str, numpy.void]}


def _is_type_of_elements(rep: Any) -> bool:
    try:
        numpy.dtype(rep)
    except (TypeError, ValueError):
        return False
    return not isinstance(rep, numpy.dtype) and rep is not None


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, **keywords: Any) -> Any:
    return numpy.isin(numpy.asarray(ar1).ravel(), ar2, assume_unique=assume_unique, invert=invert, **keywords)


def _asfarray(a: Any, dtype: Any = numpy.float64) -> Any:
    dtype = numpy.dtype(dtype)
    return numpy.asarray(a, dtype if dtype.kind in "fc" else numpy.float64)


def _find_common_type(array_types: Any, scalar_types: Any) -> Any:
    arrays = [numpy.dtype(dtype) for dtype in array_types]
    scalars = [numpy.dtype(dtype) for dtype in scalar_types]
    of_arrays = numpy.result_type(*arrays) if arrays else None
    of_scalars = numpy.result_type(*scalars) if scalars else None
    if of_arrays is None or of_scalars is None:
        return of_arrays if of_scalars is None else of_scalars
    order = "biufcmMSUVO"  # a scalar counts where it is of a higher kind
    return (
        of_scalars
        if order.index(of_scalars.kind.replace("u", "i")) > order.index(of_arrays.kind.replace("u", "i"))
        else of_arrays
    )


def _safe_eval(source: str) -> Any:
    import ast

    return ast.literal_eval(source)


def _recfromtxt(fname: Any, **keywords: Any) -> Any:
    keywords.setdefault("dtype", None)
    return _np.genfromtxt(fname, **keywords).view(_np.rec.recarray)


def _recfromcsv(fname: Any, **keywords: Any) -> Any:
    return _recfromtxt(fname, **{"names": True, "delimiter": ",", "case_sensitive": "lower", **keywords})


def _source(object: Any, output: Any = None) -> None:
    import inspect

    print(inspect.getsource(object), file=output or sys.stdout)


def _disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    print(mesg, end="\n" if linefeed else "", file=device or sys.stdout)


def _issubclass(arg1: Any, arg2: Any) -> bool:
    return isinstance(arg1, type) and isinstance(arg2, (type, tuple)) and builtins.issubclass(arg1, arg2)


def _deprecate(*arguments: Any, **keywords: Any) -> Any:
    """Return a function as it is, or a decorator that does."""
    if arguments and callable(arguments[0]):
        return arguments[0]
    return lambda function: function


class _ByType(dict[Any, Any]):
    """Answers for each type of elements, however it is written."""

    def __init__(self, answer: Callable[[numpy.dtype], Any]) -> None:
        super().__init__()
        self._answer = answer

    def __missing__(self, key: Any) -> Any:
        return self._answer(numpy.dtype(key))


# What is written in present NumPy.
_MADE: dict[str, Callable[[], Any]] = {
    "asfarray": lambda: _asfarray,
    "cast": lambda: _ByType(lambda dtype: lambda values: numpy.asarray(values).astype(dtype)),
    "deprecate": lambda: _deprecate,
    "deprecate_with_doc": lambda: _deprecate,
    "disp": lambda: _disp,
    "fastCopyAndTranspose": lambda: lambda a: numpy.array(a).T.copy(),
    "find_common_type": lambda: _find_common_type,
    "in1d": lambda: _in1d,
    "issctype": lambda: _is_type_of_elements,
    "issubclass_": lambda: _issubclass,
    "issubsctype": lambda: numpy.issubdtype,
    "maximum_sctype": lambda: lambda t: numpy.dtype({"i": "i8", "u": "u8", "f": "g", "c": "G"}.get(
        numpy.dtype(t).kind, numpy.dtype(t))).type,
    "msort": lambda: lambda a: numpy.sort(a, axis=0),
    "nbytes": lambda: _ByType(lambda dtype: dtype.itemsize),
    "obj2sctype": lambda: lambda rep, default=None: numpy.dtype(rep).type if _is_type_of_elements(rep) else default,
    "recfromcsv": lambda: _recfromcsv,
    "recfromtxt": lambda: _recfromtxt,
    "safe_eval": lambda: _safe_eval,
    "sctype2char": lambda: lambda sctype: numpy.dtype(sctype).char,
    "sctypes": _sctypes,
    "source": lambda: _source,
    "typeDict": lambda: _np.sctypeDict,
}  # fmt: skip

# What nothing of present NumPy does: tools of its own developers, switches of its inside, and functions of money, which
# raised an error in 1.23 already.
UNRESTORED = frozenset(
    (
        *("MachAr", "Tester", "add_newdoc_ufunc", "compat", "fv", "get_array_wrap", "geterrobj", "ipmt", "irr"),
        *("kernel_version", "lookfor", "mirr", "nper", "npv", "numarray", "oldnumeric", "pmt", "ppmt", "pv", "rate"),
        *("set_numeric_ops", "set_string_function", "seterrobj", "use_hugepage", "who"),
    )
)

OLD_NAMES = frozenset({*_RENAMED, *_VALUES, *_MOVED, *_MADE})


def restore() -> list[str]:
    """Give NumPy the names back that it had and has not any more, in this process."""
    restored = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(OLD_NAMES):
            if not _is_there(name):
                value = _value_of(name)
                if value is not None:
                    setattr(numpy, name, value)
                    restored.append(name)
    return [*restored, *restore_calls()]


def _is_there(name: str) -> bool:
    try:
        return hasattr(numpy, name)
    except Exception:  # some names are refused with errors of other kinds
        return False


def _value_of(name: str) -> Any:
    if name in _VALUES:
        return _VALUES[name]
    if name in _MADE:
        return _MADE[name]()
    value: Any = numpy
    for part in _MOVED.get(name, _RENAMED.get(name, "")).split("."):
        value = getattr(value, part, None)
    return value
