"""`mx.library`: operators, partitioners and graph passes of native libraries, loaded or compiled at run time."""

from __future__ import annotations

from minpy.core.configured import ConfiguredOperator
from minpy.library.building import compile, include_dir  # noqa: A004
from minpy.library.loading import Library, load, loaded
from minpy.namespaces import listing, missing

__all__ = ["Library", "compile", "include_dir", "load", "loaded"]

ConfiguredOperator.modes_in.append("minpy.library.checking")
__dir__ = listing(__all__)
__getattr__ = missing("minpy.library", "name", __all__)
