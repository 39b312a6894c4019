"""`minpy.sym`: symbols, and every operator as a function of symbols, by MXNet's names."""

from __future__ import annotations

from typing import Any

from minpy.importing import import_module
from minpy.late import late_names
from minpy.namespaces import listing, missing
from minpy.ndarray.methods import METHODS
from minpy.ops.registry import OPERATORS
from minpy.symbol import _internal as _internal
from minpy.symbol import (  # noqa: F401  # they give `Symbol` methods
    binding,
    contrib,
    gradient_symbol,
    graph_operators,
    image,
    linalg,
    op,
    optimizing,
    pickling,
    picture,
    random,
    semantics,
    sparse,
    without_values,
)
from minpy.symbol.arithmetic import install
from minpy.symbol.composition import Custom, var
from minpy.symbol.creation import arange, eye, full, histogram, hypot, linspace, ones, pow, zeros  # noqa: A004
from minpy.symbol.operator_functions import FUNCTIONS as _FUNCTIONS
from minpy.symbol.saving import fromjson, load, load_json
from minpy.symbol.symbol import Group, Symbol

Variable = var

__all__ = [
    "Custom",
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "contrib",
    "eye",
    "fromjson",
    "full",
    "histogram",
    "hypot",
    "image",
    "linalg",
    "linspace",
    "load",
    "load_json",
    "np",
    "npx",
    "numpy",
    "numpy_extension",
    "ones",
    "op",
    "pow",
    "random",
    "sparse",
    "var",
    "zeros",
    *(name for name in OPERATORS if not name.startswith("_")),
]

install(METHODS)

__dir__ = listing(__all__)

# NumPy's functions on symbols: most programs have none.
_OF_NUMPY = {"np": "numpy", "npx": "numpy_extension", "numpy": "numpy", "numpy_extension": "numpy_extension"}


def _attribute(name: str) -> Any:
    return import_module(f"minpy.symbol.{_OF_NUMPY[name]}") if name in _OF_NUMPY else _FUNCTIONS[name]


__getattr__ = late_names(__name__, [*_OF_NUMPY, *_FUNCTIONS], _attribute, missing("minpy.sym", "operator", __all__))
