"""The frameworks, imported when they are used: with an error that names what to install where one is missing."""

from __future__ import annotations

import re
from types import ModuleType

from minpy.core.errors import MissingDependencyError
from minpy.importing import import_module

__all__ = ["require"]

# What a library is called, and the least version that is supported.
_LIBRARIES = {
    "jax": ("JAX", "0.4.36"),
    "onnx": ("onnx", "1.16"),
    "onnxruntime": ("ONNX Runtime", "1.18"),
    "pytensor": ("PyTensor", "2.26"),
    "torch": ("PyTorch", "2.6"),
}


def require(module: str) -> ModuleType:
    """Return a framework's module.

    Raises
    ------
    MissingDependencyError
        If it is not installed, or too old.
    """
    name, least = _LIBRARIES[module]
    install = f"Install it with: python -m pip install '{module}>={least}'"
    try:
        library = import_module(module)
        if getattr(library, "__file__", None) is None:  # a folder of that name, as tests and users may have one
            raise ModuleNotFoundError(name=module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, and lacks something itself
            raise
        raise MissingDependencyError(f"{name} is not installed, and this needs it. {install}") from None
    version = str(getattr(library, "__version__", least))
    if _numbers(version) < _numbers(least):
        raise MissingDependencyError(f"{name} {version} is installed; this needs {least} or later. {install}")
    return library


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version.

    >>> _numbers("2.13.0+cpu")
    [2, 13, 0]
    """
    return [int(number) for number in re.findall(r"\d+", re.split(r"[+a-z]", version)[0])]
