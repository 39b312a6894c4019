"""Layers of one function: activations."""

from __future__ import annotations

from typing import Any

from minpy.gluon.block import HybridBlock

__all__ = ["Activation"]


class Activation(HybridBlock):
    """An activation function by its name.

    Parameters
    ----------
    activation : {'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'}
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gluon.nn.Activation('relu')(mx.nd.array([-1, 2])).asnumpy().tolist()
    [0.0, 2.0]
    """

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Return the function of each element."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"
