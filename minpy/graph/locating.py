"""Errors inside a graph say at which node they happened."""

from __future__ import annotations

from minpy.core.errors import MXNetError, in_place_of, operator_error

__all__ = ["located"]


def located(where: str, error: Exception) -> Exception:
    """Return the error to raise, with the place where it happened in front of its text; the first place is kept.

    It is returned, not raised here: its traceback would hold this frame, which holds the error. Such a cycle keeps the
    arrays of the failed call until the garbage collector runs.
    """
    if getattr(error, "node", None) is not None:
        return error
    if not isinstance(error, MXNetError):
        node_error: Exception = operator_error(error, f"{where}: failed")
        node_error.node = where  # type: ignore[attr-defined]
        node_error.__suppress_context__ = True  # callers raise it where `error` is handled
        return in_place_of(node_error, error)
    if "text" in vars(error):
        error.text = f"{where}: {error}"  # type: ignore[attr-defined]
    else:
        error.args = (f"{where}: {error}",)
    error.node = where  # type: ignore[attr-defined]
    return error
