"""Where minpy keeps what it can make anew: a folder of the user's, or the one that MINPY_CACHE names."""

from __future__ import annotations

import os
import sys

__all__ = ["VARIABLE", "cache_folder"]

# The environment variable that names the folder for all that minpy keeps.
VARIABLE = "MINPY_CACHE"


def cache_folder(kind: str) -> str:
    """Return the folder for one kind of things to keep; it need not be there.

    Parameters
    ----------
    kind : str
        The name of the folder within that of minpy: 'native' for libraries of operators, 'kernels' for compiled graphs.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.join(os.path.abspath(os.path.expanduser(chosen)), kind)
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or os.path.join(os.path.expanduser("~"), "AppData", "Local")
    elif sys.platform == "darwin":
        caches = os.path.join(os.path.expanduser("~"), "Library", "Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(caches):  # as its specification has it
            caches = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "minpy", kind)
