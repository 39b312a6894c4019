"""What NumPy 2 has taken away beside names of the top, given back to it for old programs that use it.

Keyword arguments that functions have lost, arguments that they refuse by now, methods that arrays have lost, and the
modules and names of `np.lib`, `np.linalg` and `np.fft`.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import numpy

__all__ = ["KEYWORDS", "METHODS", "restore_calls"]

_np: Any = numpy
_INTERPOLATION, _NORMED = {"interpolation": "method"}, {"normed": "density"}

# Of functions: the keywords that they had, and what these are now; None for those that meant nothing any more.
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

# Modules that are there under another name.
_OTHER_MODULES = {"fft.helper": "fft._helper", "linalg.linalg": "linalg._linalg"}
# The modules in which the functions of `np.lib` were; by now each is `_name_impl`.
_MODULES = (
    "arraypad", "arraysetops", "arrayterator", "function_base", "histograms", "index_tricks", "nanfunctions", "npyio",
    "polynomial", "scimath", "shape_base", "stride_tricks", "twodim_base", "type_check", "ufunclike", "utils",
)  # fmt: skip
# What of the names that come back at the top was in `np.lib`, too, and in which of its modules.
_IN_MODULES = {
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


# Of arrays, and of NumPy's scalars.
METHODS: dict[str, Callable[..., Any]] = {
    "itemset": _itemset,
    "newbyteorder": _newbyteorder,
    "ptp": _ptp,
    "tostring": _tostring,
}


def restore_calls() -> list[str]:
    """Give NumPy the keywords, arguments, methods and modules back that it had and has not any more, in this process.

    Call it when the names of the top are there again.
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
    """Return a function that takes the keywords of old as well."""

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
    """Return `np.array` for which `copy=False` allows a copy, where one is needed: by now it is an error."""

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


# Of functions: arguments that they took, an example of them, and what makes a function that takes them again.
_ARGUMENTS: dict[str, tuple[str, Callable[[], Any], Callable[..., Any]]] = {
    "cross": ("vectors of 2", lambda: _np.cross([1, 2], [3, 4]), _with_planes),
    "fromstring": ("bytes", lambda: _np.fromstring(b"12", "u1"), _with_bytes),
    "sum": ("generator", lambda: _np.sum(number for number in [1, 2]), _with_generators),
}


def _arguments() -> list[str]:
    restored = []
    for name, (what, example, taking) in _ARGUMENTS.items():
        try:
            example()
        except (TypeError, ValueError):
            setattr(numpy, name, taking(getattr(numpy, name)))
            restored.append(f"{name}({what})")
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
    for name in _MODULES:
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
            (old_name, getattr(numpy, old_name)) for old_name in _IN_MODULES.get(name, ()) if hasattr(numpy, old_name)
        )
        for place in (present, lib):
            for old_name, function in functions.items():
                if not hasattr(place, old_name):
                    setattr(place, old_name, function)
    for name, now in _OTHER_MODULES.items():
        package, _, inner = name.partition(".")
        implementation = _imported(f"numpy.{now}")
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
