"""Restores names, arguments, methods and modules that NumPy has removed, for old programs.

Names are those of NumPy 1.23, the last one that MXNet 1.9.1 imports with. Existing names keep their meaning: `np.bool`
and `np.long` exist again since NumPy 2, as types of its own.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import gc
import importlib
import inspect
import math
import os
import sys
import warnings
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import numpy

__all__ = ["KEYWORDS", "METHODS", "OLD_NAMES", "UNRESTORED", "restore", "restore_calls"]

# Untyped, as NumPy's type stubs lack the names below.
_np: Any = numpy
_INTERPOLATION, _NORMED = {"interpolation": "method"}, {"normed": "density"}

# Removed keywords of functions, and their present names; None for those without effect.
KEYWORDS: dict[str, dict[str, str | None]] = {
    "array2string": {"style": None},
    "corrcoef": {"bias": None, "ddof": None},
    "histogram": {**_NORMED},
    "histogram2d": {**_NORMED},
    "histogramdd": {**_NORMED},
    "nanpercentile": {**_INTERPOLATION},
    "nanquantile": {**_INTERPOLATION},
    "percentile": {**_INTERPOLATION},
    "quantile": {**_INTERPOLATION},
    "reshape": {"newshape": "shape"},
    "save": {"fix_imports": None},
}

# Modules that have another name now.
_RENAMED_MODULES = {"fft.helper": "fft._helper", "linalg.linalg": "linalg._linalg"}
# The former modules of `np.lib`; now each is `_name_impl`.
_LIB_MODULES = (
    "arraypad", "arraysetops", "arrayterator", "function_base", "histograms", "index_tricks", "nanfunctions", "npyio",
    "polynomial", "scimath", "shape_base", "stride_tricks", "twodim_base", "type_check", "ufunclike", "utils",
)  # fmt: skip
# The restored names that were in `np.lib`, too, by module.
_LIB_NAMES = {
    "arraysetops": ("in1d",),
    "function_base": ("disp", "msort", "trapz"),
    "npyio": ("DataSource", "recfromcsv", "recfromtxt"),
    "shape_base": ("row_stack",),
    "type_check": ("asfarray",),
    "utils": ("byte_bounds", "deprecate", "deprecate_with_doc", "issubclass_", "issubsctype", "safe_eval", "source"),
}


def _ptp(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _np.ptp(self, axis, out, keepdims)


def _itemset(self: Any, *arguments: Any) -> None:
    *index, value = arguments
    if not index:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        self[...] = value
    elif len(index) == 1 and not isinstance(index[0], tuple):
        self.flat[index[0]] = value
    else:
        self[index[0] if len(index) == 1 else tuple(index)] = value


def _newbyteorder(self: Any, new_order: str = "S") -> Any:
    return self.view(self.dtype.newbyteorder(new_order))


def _tostring(self: Any, order: Any = "C") -> bytes:
    written: bytes = self.tobytes(order)
    return written


# Methods of arrays, and of NumPy's scalars.
METHODS: dict[str, Callable[..., Any]] = {
    "itemset": _itemset,
    "newbyteorder": _newbyteorder,
    "ptp": _ptp,
    "tostring": _tostring,
}


def restore_calls() -> list[str]:
    """Restore removed keywords, arguments, methods and modules of NumPy in this process.

    Call it after the top-level names are restored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_keywords(), *_arguments(), *_methods(), *_modules()]


def _keywords() -> list[str]:
    restored = []
    for name, renamed in KEYWORDS.items():
        function = getattr(numpy, name)
        there = inspect.signature(function).parameters
        missing = {old: new for old, new in renamed.items() if old not in there and (new is None or new in there)}
        if missing:
            setattr(numpy, name, _with_keywords(function, missing))
            restored.append(f"{name}({', '.join(f'{old}=' for old in missing)})")
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0" and not hasattr(numpy.array, "__wrapped__"):
        _np.array = _with_copies(numpy.array)
        restored.append("array(copy=False)")
    return restored


def _with_keywords(function: Callable[..., Any], renamed: dict[str, str | None]) -> Callable[..., Any]:
    """Return a function that accepts the old keywords as well."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for old in renamed.keys() & keywords.keys():
            value, new = keywords.pop(old), renamed[old]
            if new is not None and value is not None:
                keywords[new] = value
        return function(*arguments, **keywords)

    vars(call)["__signature__"] = _signature(function, renamed)
    return call


def _signature(function: Callable[..., Any], renamed: dict[str, str | None]) -> inspect.Signature:
    signature = inspect.signature(function)
    kind = inspect.Parameter.KEYWORD_ONLY
    old = [inspect.Parameter(name, kind, default=None) for name in renamed]
    return signature.replace(parameters=[*signature.parameters.values(), *old])


def _with_copies(array: Callable[..., Any]) -> Callable[..., Any]:
    """Return `np.array` for which `copy=False` allows a necessary copy, which is an error now."""

    @functools.wraps(array)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if keywords.get("copy", True) is False:
            keywords["copy"] = None
        return array(*arguments, **keywords)

    return call


def _with_bytes(fromstring: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fromstring)
    def call(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **keywords: Any) -> Any:
        if sep:
            return fromstring(string, dtype, count, sep=sep, **keywords)
        content = string.encode("latin-1") if isinstance(string, str) else string
        return numpy.frombuffer(content, dtype, count).copy() if len(content) else numpy.empty(0, dtype)

    return call


def _with_generators(sum_: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(sum_)
    def call(a: Any, *arguments: Any, **keywords: Any) -> Any:
        return sum(a) if isinstance(a, GeneratorType) else sum_(a, *arguments, **keywords)

    return call


def _with_planes(cross: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(cross)
    def call(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
        if axis is not None:
            axisa = axisb = axisc = axis
        if not numpy.ndim(a) or not numpy.ndim(b):
            return cross(a, b, axisa, axisb, axisc)
        a, b = numpy.moveaxis(a, axisa, -1), numpy.moveaxis(b, axisb, -1)
        lengths = (a.shape[-1], b.shape[-1])
        if lengths not in ((2, 2), (2, 3), (3, 2)):
            return cross(a, b, axisc=axisc)
        third = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        if lengths == (2, 2):
            return third
        if lengths == (2, 3):
            return numpy.stack([a[..., 1] * b[..., 2], -a[..., 0] * b[..., 2], third], axis=axisc)
        return numpy.stack([-a[..., 2] * b[..., 1], a[..., 2] * b[..., 0], third], axis=axisc)

    return call


# Functions with removed kinds of arguments: their kind, an example, and the wrapper that accepts them again.
_ARGUMENTS: dict[str, tuple[str, Callable[[], Any], Callable[..., Any]]] = {
    "cross": ("vectors of 2", lambda: _np.cross([1, 2], [3, 4]), _with_planes),
    "fromstring": ("bytes", lambda: _np.fromstring(b"12", "u1"), _with_bytes),
    "sum": ("generator", lambda: _np.sum(number for number in [1, 2]), _with_generators),
}


def _arguments() -> list[str]:
    restored = []
    for name, (signature, example, wrapper) in _ARGUMENTS.items():
        try:
            example()
        except (TypeError, ValueError):
            setattr(numpy, name, wrapper(getattr(numpy, name)))
            restored.append(f"{name}({signature})")
    return restored


def _methods() -> list[str]:
    restored = []
    for cls in (numpy.ndarray, numpy.generic):
        for name, method in METHODS.items():
            if not hasattr(cls, name) or getattr(_np.ndarray, name) is method:
                gc.get_referents(vars(cls))[0][name] = method  # the dict of the class, which has no setter
                restored += [f"ndarray.{name}"] if cls is numpy.ndarray else []
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
    return restored


def _modules() -> list[str]:
    restored = []
    lib: Any = numpy.lib
    for name in _LIB_MODULES:
        full = f"numpy.lib.{name}"
        present = _imported(full)
        implementation = _imported(f"numpy.lib._{name}_impl") or present
        if implementation is None:
            continue
        if present is None:
            sys.modules[full] = present = implementation
            restored.append(f"lib.{name}")
        setattr(lib, name, present)
        functions = {old_name: getattr(implementation, old_name) for old_name in getattr(implementation, "__all__", ())}
        functions.update(
            (old_name, getattr(numpy, old_name)) for old_name in _LIB_NAMES.get(name, ()) if hasattr(numpy, old_name)
        )
        for place in (present, lib):
            for old_name, function in functions.items():
                if not hasattr(place, old_name):
                    setattr(place, old_name, function)
    for name, new_name in _RENAMED_MODULES.items():
        package, _, inner = name.partition(".")
        implementation = _imported(f"numpy.{new_name}")
        if _imported(f"numpy.{name}") is None and implementation is not None:
            sys.modules[f"numpy.{name}"] = implementation
            setattr(getattr(numpy, package), inner, implementation)
            restored.append(name)
    return restored


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


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

# The new places of names that have moved to another module.
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
    """A mapping computed from the dtype, with any form of it as key."""

    def __init__(self, function: Callable[[numpy.dtype], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: Any) -> Any:
        return self._function(numpy.dtype(key))


# Names that are reimplemented with present NumPy.
_REIMPLEMENTED: dict[str, Callable[[], Any]] = {
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

# Names without a replacement: tools of NumPy's developers, internal switches, and financial functions, which raised an
# error in 1.23 already.
UNRESTORED = frozenset(
    (
        *("MachAr", "Tester", "add_newdoc_ufunc", "compat", "fv", "get_array_wrap", "geterrobj", "ipmt", "irr"),
        *("kernel_version", "lookfor", "mirr", "nper", "npv", "numarray", "oldnumeric", "pmt", "ppmt", "pv", "rate"),
        *("set_numeric_ops", "set_string_function", "seterrobj", "use_hugepage", "who"),
    )
)

OLD_NAMES = frozenset({*_RENAMED, *_VALUES, *_MOVED, *_REIMPLEMENTED})


def restore() -> list[str]:
    """Restore the names that NumPy has removed, in this process."""
    restored = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(OLD_NAMES):
            if not _exists(name):
                value = _value_of(name)
                if value is not None:
                    setattr(numpy, name, value)
                    restored.append(name)
    return [*restored, *restore_calls()]


def _exists(name: str) -> bool:
    try:
        return hasattr(numpy, name)
    except Exception:  # some names are refused with errors of other kinds
        return False


def _value_of(name: str) -> Any:
    if name in _VALUES:
        return _VALUES[name]
    if name in _REIMPLEMENTED:
        return _REIMPLEMENTED[name]()
    value: Any = numpy
    for part in _MOVED.get(name, _RENAMED.get(name, "")).split("."):
        value = getattr(value, part, None)
    return value
