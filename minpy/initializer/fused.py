"""The parameter vector of the fused recurrent operator: its initializer and its layout."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe, nearest
from minpy.initializer.initializer import InitDesc, Initializer, create_initializer, register

__all__ = ["FUSED_GATES", "FusedRNN", "fused_inputs", "fused_layout"]

FUSED_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


@register
class FusedRNN(Initializer):
    """The parameters of a fused recurrent layer: each gate's weight and bias is initialized as if it stood alone.

    The vector holds the weights of all layers, then their biases: for each layer and direction those of the input
    (`l0_i2h_i_weight`, or `r0_...` backwards), then those of the state (`l0_h2h_i_weight`), gate by gate.

    Parameters
    ----------
    init : Initializer, str or None
        What initializes the parts, by names such as these; as JSON or by name, too. None: what initializes the
        network.
    num_hidden, num_layers : int
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    bidirectional : bool
    forget_bias : float
        The biases of LSTM's forget gates.

    Raises
    ------
    ArgumentError, ArgumentValueError
        If `init` or `mode` is none of these; when it is called, if there is no initializer.
    ShapeError
        When it is called, for a vector whose length no number of inputs explains.

    Examples
    --------
    >>> import minpy as mx
    >>> parameters = mx.nd.zeros((14,))
    >>> mx.init.FusedRNN(mx.init.One(), 2, 1, 'rnn_tanh')(mx.init.InitDesc('rnn0_weight'), parameters)
    >>> parameters.asnumpy()  # of 2 × 3 and 2 × 2 weights, and two biases
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 0., 0., 0., 0.], dtype=float32)
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if isinstance(init, str):
            init = create_initializer(init)
        if not (init is None or isinstance(init, Initializer)):
            raise ArgumentError(f"FusedRNN: init must be an initializer, its JSON, or None; got {describe(init)}.")
        if mode not in FUSED_GATES:
            raise ArgumentValueError(
                f"FusedRNN: there is no mode {mode!r}.{nearest(str(mode), FUSED_GATES)} There are "
                f"{', '.join(map(repr, FUSED_GATES))}."
            )
        super().__init__(
            init=None if init is None else init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = init
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: Any) -> None:
        general = getattr(name, "global_init", None)
        init = self._init or general
        if init is None or init is self:
            raise ArgumentError(
                f"FusedRNN: no initializer for the parts of {str(name)!r}: give one as init=, or by "
                f"mx.init.InitDesc(name, global_init=...)."
            )
        vector = arr.reshape((-1,)).copy()  # its slices are views, and so are reshapes of them
        begin = 0
        for part, shape in self._layout(name, arr):
            end = begin + prod(shape)
            values = vector[begin:end].reshape(shape)
            if self._mode == "lstm" and part.endswith("_f_bias"):
                values[:] = self._forget_bias
            else:
                init(InitDesc(part, global_init=general), values)
            begin = end
        arr[...] = vector.reshape(arr.shape)

    def _layout(self, name: str, arr: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the names and shapes of the parts, in the order in which they stand in the vector."""
        settings = self._mode, self._num_layers, self._num_hidden
        inputs = fused_inputs("FusedRNN", str(name), prod(arr.shape), *settings, self._bidirectional)
        return fused_layout(*settings, inputs, self._bidirectional)


def fused_inputs(
    who: str, name: str, size: int, mode: str, num_layers: int, num_hidden: int, bidirectional: bool
) -> int:
    """Return the number of inputs that explains the length of a fused vector; raise the error if none does."""
    directions = 2 if bidirectional else 1
    per_input = directions * len(FUSED_GATES[mode]) * num_hidden
    above = directions * num_hidden  # what a layer gets from the one below
    fixed = per_input * (num_layers * (num_hidden + 2) + (num_layers - 1) * above)
    inputs, remainder = divmod(size - fixed, per_input)
    if remainder or inputs < 1:
        raise ShapeError(
            f"{who}: {name!r} has {size} elements; {num_layers} layer(s) of {mode} with {num_hidden} units in "
            f"{directions} direction(s) need {fixed} + {per_input} for each input."
        )
    return inputs


def fused_layout(
    mode: str, num_layers: int, num_hidden: int, inputs: int, bidirectional: bool
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the names and shapes of the parts of a fused vector, in the order in which they stand in it.

    Examples
    --------
    >>> list(fused_layout('rnn_tanh', 1, 2, 3, False))
    [('l0_i2h_weight', (2, 3)), ('l0_h2h_weight', (2, 2)), ('l0_i2h_bias', (2,)), ('l0_h2h_bias', (2,))]
    """
    directions = "lr" if bidirectional else "l"
    groups = [
        (f"{direction}{layer}_{group}", layer, group)
        for layer in range(num_layers)
        for direction in directions
        for group in ("i2h", "h2h")
    ]
    for prefix, layer, group in groups:
        columns = num_hidden if group == "h2h" else len(directions) * num_hidden if layer else inputs
        for gate in FUSED_GATES[mode]:
            yield f"{prefix}{gate}_weight", (num_hidden, columns)
    for prefix, _, _ in groups:
        for gate in FUSED_GATES[mode]:
            yield f"{prefix}{gate}_bias", (num_hidden,)
