"""MinPy's loggers: `get_logger(name)`. Their lines are those of `minpy.log`."""

from __future__ import annotations

import logging
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

from minpy import log
from minpy.namespaces import module_functions

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "get_logger"]
__dir__, __getattr__ = module_functions(__name__, __all__)


def get_logger(name: str | None = None, level: int = WARNING) -> logging.Logger:
    """Return a logger of Python's `logging` that writes to standard error; the same one for the same name.

    Parameters
    ----------
    name : str, optional
        None for the root logger, which is left as it is.
    level : int
        Messages below it are dropped; the level of the first call for a name stays.

    Examples
    --------
    >>> get_logger('minpy.example').level == WARNING
    True
    """
    return log.get_logger(name, level=level)
