"""Errors inside a graph say at which node they happened."""

from __future__ import annotations

from typing import NoReturn

from minpy.core.errors import MXNetError, operator_error

__all__ = ["raise_at"]


def raise_at(where: str, error: Exception) -> NoReturn:
    """Raise an error again with the place where it happened in front of its text; the first place is kept."""
    if getattr(error, "node", None) is not None:
        raise error
    if not isinstance(error, MXNetError):
        found: Exception = operator_error(error, f"{where}: failed")
        found.node = where  # type: ignore[attr-defined]
        raise found from error
    if "text" in vars(error):
        error.text = f"{where}: {error}"  # type: ignore[attr-defined]
    else:
        error.args = (f"{where}: {error}",)
    error.node = where  # type: ignore[attr-defined]
    raise error
