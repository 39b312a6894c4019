"""`get_operator_support`: which operators can be exported."""

from __future__ import annotations

from minpy.onnx.exporting.requests import chosen_opset
from minpy.onnx.exporting.tables import OPERATORS

__all__ = ["get_operator_support"]


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Return the names of the operators that have a row of their own; others are exported where they trace.

    Parameters
    ----------
    opset_version : int, optional
        13 or later: the operators are the same for all.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import onnx
    >>> 'FullyConnected' in get_operator_support(min(onnx.defs.onnx_opset_version(), 21))
    True
    """
    chosen_opset(opset_version)
    return sorted(OPERATORS)
