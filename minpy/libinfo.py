"""`mx.libinfo`: where the library and its headers lie. There is no C library, and so no configuration of one."""

from __future__ import annotations

import os

from minpy.core.errors import MissingPartError
from minpy.namespaces import listing
from minpy.version import __version__ as __version__

__all__ = ["find_conf_path", "find_include_path", "find_lib_path"]
__dir__ = listing(__all__)


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raise: there is no shared library.

    Parameters
    ----------
    prefix : str
        How the name of the library begins.

    Raises
    ------
    MissingPartError
        Always.
    """
    raise MissingPartError(_no("shared library", prefix))


def find_include_path() -> str:
    """Return the folder of headers to compile native operators against: `-I` takes it.

    Sources include `mxnet/lib_api.h`; `mx.library.compile` finds it by itself.

    Returns
    -------
    str
        An absolute path.

    Examples
    --------
    >>> import os
    >>> os.path.exists(os.path.join(find_include_path(), 'mxnet', 'lib_api.h'))
    True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def find_conf_path(prefix: str = "tvmop") -> str:
    """Raise: there is no configuration of compiled operators.

    Parameters
    ----------
    prefix : str
        How the name of the file begins.

    Raises
    ------
    MissingPartError
        Always.
    """
    raise MissingPartError(_no("configuration", f"{prefix}.conf"))


def _no(kind: str, name: str) -> str:
    folder = os.path.dirname(os.path.abspath(__file__))
    return (
        f"there is no {kind} ({name}): minpy is Python and NumPy, in {folder}. Operators of one's own are written with "
        "@minpy.customop, or as minpy.operator.CustomOp."
    )
