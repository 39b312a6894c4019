"""Whether a notebook shows what a program prints."""

from __future__ import annotations

import sys

__all__ = ["in_notebook"]


def in_notebook() -> bool:
    """Tell whether a cell of a notebook runs, whose output is shown although it is not a terminal.

    Examples
    --------
    >>> in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config
