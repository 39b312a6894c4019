"""`RNNParams`: the variables that cells share."""

from __future__ import annotations

from typing import Any

from minpy.symbol import Symbol, Variable

__all__ = ["RNNParams"]


class RNNParams:
    """The variables of cells, made when they are first asked for: cells that are given the same share their weights.

    Parameters
    ----------
    prefix : str
        How the names of the variables begin.

    Examples
    --------
    >>> import minpy as mx
    >>> params = mx.rnn.RNNParams('lstm_')
    >>> params.get('i2h_weight').name, params.get('i2h_weight') is params.get('i2h_weight')
    ('lstm_i2h_weight', True)
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """Return the variable of a name, without the prefix; `kwargs` are for `mx.sym.var`, if it is new."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = Variable(name, **kwargs)
        return self._params[name]
