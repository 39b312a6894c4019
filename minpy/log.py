"""`mx.log`: loggers whose lines say level, time, process and place, in colour on a terminal."""

from __future__ import annotations

import logging
import sys
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

from minpy.namespaces import listing

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]
__dir__ = listing(__all__)

_COLOURS = {DEBUG: "\x1b[32m", INFO: "\x1b[32m", WARNING: "\x1b[33m", ERROR: "\x1b[31m", CRITICAL: "\x1b[31m"}


class _Formatter(logging.Formatter):
    """`I1231 23:59:59 4711 train.py:fit:20] text`: the level's first letter, month, day, time, process and place."""

    def __init__(self, in_colour: bool) -> None:
        super().__init__("%(head)s %(message)s", "%m%d %H:%M:%S")
        self._in_colour = in_colour

    def format(self, record: logging.LogRecord) -> str:
        time = self.formatTime(record, self.datefmt)
        place = f"{record.pathname}:{record.funcName}:{record.lineno}"
        head = f"{record.levelname[:1]}{time} {record.process} {place}]"
        if self._in_colour:
            head = f"{_COLOURS.get(record.levelno, '')}{head}\x1b[0m"
        record.head = head
        return super().format(record)


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return a logger of Python's `logging` that has a handler of its own; asked again by name, the same one.

    Parameters
    ----------
    name : str, optional
        None for the root logger, which is left as it is.
    filename : str, optional
        The file to write to; standard error if left out.
    filemode : str, optional
        How to open it: 'a', which is the default, appends.
    level : int
        What to be silent below.

    Returns
    -------
    logging.Logger

    Examples
    --------
    >>> import minpy as mx
    >>> logger = mx.log.get_logger('training', level=mx.log.INFO)
    >>> logger.level == mx.log.INFO
    True
    """
    logger = logging.getLogger(name)
    if name is None or getattr(logger, "_has_handler_of_minpy", False):
        return logger
    handler = logging.FileHandler(filename, filemode or "a") if filename else logging.StreamHandler()
    handler.setFormatter(_Formatter(not filename and sys.stderr.isatty()))
    logger.addHandler(handler)
    logger.setLevel(level)
    logger._has_handler_of_minpy = True  # type: ignore[attr-defined]
    return logger


def getLogger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return what `get_logger` does: the old name of it, which warns.

    Parameters
    ----------
    name, filename, filemode, level
        See `get_logger`.

    Returns
    -------
    logging.Logger
    """
    warnings.warn("mx.log.getLogger is the old name of mx.log.get_logger.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
