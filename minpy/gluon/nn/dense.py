"""`Dense`: the fully connected layer."""

from __future__ import annotations

from typing import Any

from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.block.array_blocks import HybridArrayBlock
from minpy.gluon.nn.activations import Activation
from minpy.gluon.nn.argument_checks import count

__all__ = ["Dense"]


class Dense(HybridArrayBlock):
    """A fully connected layer: `activation(x weight' + bias)`.

    Parameters
    ----------
    units : int
        The number of outputs.
    activation : str, optional
        What `Activation` takes.
    use_bias : bool
    flatten : bool
        Whether all axes but the first are one; else the last axis is what is connected.
    dtype : str or numpy.dtype
    weight_initializer, bias_initializer : str or Initializer, optional
    in_units : int
        The number of inputs; 0: it follows from the first call.
    prefix, params
        See `Block`.

    Raises
    ------
    ArgumentError
        If the number of outputs is no positive integer, or for an unknown activation.

    Examples
    --------
    >>> import minpy as mx
    >>> layer = mx.gluon.nn.Dense(2, in_units=3)
    >>> layer.initialize(mx.init.One())
    >>> layer(mx.nd.ones((1, 3))).asnumpy().tolist()
    [[3.0, 3.0]]
    >>> layer
    Dense(3 -> 2, linear)
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._flatten = flatten
        with self.name_scope():
            self._units = count("Dense", "units", units)
            self._in_units = count("Dense", "in_units", in_units, least=0)
            self.weight = self.params.get(
                "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = (
                self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=f"{activation}_") if activation is not None else None

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """Return the layer's output."""
        connected = F.npx.fully_connected if is_np_array() else F.FullyConnected
        out = connected(
            x, weight, bias, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd"
        )
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        out, inputs = self.weight._shape or (self._units, 0)
        return f"{type(self).__name__}({inputs or None} -> {out}, {self.act if self.act else 'linear'})"
