"""`mx.library`: operators, partitioners and graph passes of native libraries, loaded or compiled at run time."""

from __future__ import annotations

from minpy.core.extensions import add_module
from minpy.library.building import compile, include_dir  # noqa: A004
from minpy.library.loading import Library, load, loaded
from minpy.namespaces import module_functions

__all__ = ["Library", "compile", "include_dir", "load", "loaded"]

add_module("Operator.check", "minpy.library.checking")
__dir__, __getattr__ = module_functions(__name__, __all__)
