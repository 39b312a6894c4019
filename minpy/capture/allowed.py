"""What captured functions may call as it is: it has no effects, and what it gives depends on its arguments alone."""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import operator
import sys
import types
from typing import Any

import numpy

from minpy.capture import own_functions
from minpy.core.extensions import import_modules
from minpy.importing import import_module
from minpy.late import LateNamespace

__all__ = [
    "EXCEPTIONS",
    "LIBRARIES",
    "MODULES",
    "MODULE_TYPES",
    "OF_PYTHON",
    "SAFE",
    "changing_reason",
    "is_known",
    "is_numpy",
    "is_safe_exception",
    "known_module",
]

# Modules whose members may be read; each of them is looked at again.
MODULES = {
    "builtins",
    "cmath",
    "collections",
    "collections.abc",
    "functools",
    "itertools",
    "math",
    "minpy",
    "minpy.ndarray",
    "minpy.ndarray.contrib",
    "minpy.ndarray.image",
    "minpy.ndarray.linalg",
    "minpy.ndarray.op",
    "minpy.numpy",
    "minpy.numpy.fft",
    "minpy.numpy.linalg",
    "minpy.numpy_extension",
    "numbers",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "operator",
    "scipy",
    "scipy.special",
    "typing",
}
# Whose functions are not read, as users' are: they are known, or not.
LIBRARIES = ("numpy", "scipy", "math", "minpy", "mxnet", "autograd")

_BUILTINS = (
    "abs all any bin bool bytes chr complex dict divmod enumerate filter float format frozenset hex int iter len list "
    "map max min next object oct ord pow range repr reversed round set slice sorted str sum tuple zip"
)
_NUMPY = "broadcast_shapes can_cast dtype finfo iinfo issubdtype ndarray ndindex promote_types"
_OPERATOR_NAMES = {name for name in operator.__all__ if name not in ("attrgetter", "methodcaller")}
SAFE: set[Any] = {
    *(getattr(builtins, name) for name in _BUILTINS.split()),
    *(getattr(numpy, name) for name in _NUMPY.split()),
    *(getattr(operator, name) for name in _OPERATOR_NAMES),
    *(value for name, value in vars(itertools).items() if not name.startswith("_")),
    functools.reduce,
    functools.partial,
    collections.OrderedDict,
    collections.defaultdict,
    collections.deque,
    collections.Counter,
}
EXCEPTIONS = BaseException
# The flag of classes that were made by a class statement.
OF_PYTHON = 1 << 9
MODULE_TYPES = (types.ModuleType, LateNamespace)


def is_known(module: types.ModuleType) -> bool:
    """Tell whether a module is of those that are known, or one of a user's: whose functions are read, too."""
    top = module.__name__.split(".")[0]
    if top == "minpy":
        import_modules("captured functions")
    return (
        module.__name__ in MODULES
        or module.__name__ in own_functions.MODULES
        or (top not in sys.stdlib_module_names and top not in LIBRARIES)
    )


def known_module(name: str) -> types.ModuleType | None:
    """Return a module that is known, by its full name; None for others, and where there is none.

    If it is one of ours, or one whose members may be read, it is imported where that was not done yet: the function as
    written would do so, and nothing else comes of it.
    """
    top = name.partition(".")[0]
    if name not in sys.modules and (name in MODULES or (top in ("minpy", "mxnet") and top in sys.modules)):
        try:
            import_module(name)
        except ImportError:
            return None
    module = sys.modules.get(name)
    return module if module is not None and type(module) in MODULE_TYPES and is_known(module) else None


def changing_reason(value: Any, path: str) -> str | None:
    """Return what to do about a value that gives something else at each call; None for others."""
    owner = getattr(value, "__self__", None)
    holders = [value, type(value), type(owner)] if not isinstance(value, types.ModuleType) else [value]
    modules = {str(getattr(holder, "__module__", None) or getattr(holder, "__name__", "")) for holder in holders}
    tops = {".".join(module.split(".")[: 1 + module.startswith("numpy.")]) for module in modules}
    if tops & {"numpy.random", "random", "secrets"} or path == "os.urandom":
        return f"{path} draws random numbers: draw with minpy.np.random, or take the numbers as an argument"
    if modules & {"time", "datetime"}:
        return f"{path} asks for the time, which is another at each call: take it as an argument"
    return None


def is_numpy(value: Any) -> bool:
    """Tell whether something that can be called is NumPy's, or SciPy's."""
    return callable(value) and str(getattr(value, "__module__", "")).split(".")[0] in ("numpy", "scipy")


def is_safe_exception(cls: Any) -> bool:
    """Tell whether making an exception of a class runs no code of a user's."""
    if not issubclass(cls, Exception):
        return False
    own = [base for base in cls.__mro__ if base.__module__ not in ("builtins", "numpy.exceptions", "numpy.linalg")]
    return not any(isinstance(value, types.FunctionType) for base in own for value in vars(base).values())
