"""Which of the libraries for pictures are there, and which are to be used."""

from __future__ import annotations

import os
from types import ModuleType

from minpy.core.errors import ArgumentValueError, MissingDependencyError, nearest

__all__ = ["libraries", "opencv", "require_any"]

VARIABLE = "MINPY_PICTURES"
_NAMES = ("opencv", "pillow")


def _chosen_library() -> str:
    name = os.environ.get(VARIABLE, "")
    if name and name not in _NAMES:
        raise ArgumentValueError(
            f"The environment variable {VARIABLE} is {name!r}; expected 'opencv' or 'pillow', or none for what is "
            f"installed.{nearest(name, _NAMES)}"
        )
    return name


def opencv() -> ModuleType | None:
    """Return OpenCV, unless it is not installed, or only Pillow is to be used."""
    if _chosen_library() == "pillow":
        return None
    try:
        import cv2
    except ImportError:
        return None
    module: ModuleType = cv2
    return module


def pillow() -> ModuleType | None:
    """Return Pillow's module `Image`, unless it is not installed, or only OpenCV is to be used."""
    if _chosen_library() == "opencv":
        return None
    try:
        from PIL import Image
    except ImportError:
        return None
    return Image


def libraries() -> list[str]:
    """Return which libraries decode pictures, in the order in which they are asked: of 'opencv' and 'pillow'.

    Examples
    --------
    >>> import os
    >>> os.environ["MINPY_PICTURES"] = "pillow"
    >>> libraries()
    ['pillow']
    >>> del os.environ["MINPY_PICTURES"]
    """
    return [name for name, find in zip(_NAMES, (opencv, pillow), strict=True) if find() is not None]


def require_any(purpose: str) -> tuple[ModuleType | None, ModuleType | None]:
    """Return OpenCV and Pillow's `Image`, None for what is not there."""
    modules = opencv(), pillow()
    if modules == (None, None):
        package = "opencv-python-headless" if _chosen_library() == "opencv" else "pillow"
        only = {"opencv": "OpenCV", "pillow": "Pillow"}.get(_chosen_library())
        which = (
            f"{only}, which is not installed, and the environment variable {VARIABLE} forbids others"
            if only
            else "OpenCV or Pillow, neither of which is installed"
        )
        raise MissingDependencyError(f"{purpose} needs {which}. Install one with: python -m pip install {package}")
    return modules
