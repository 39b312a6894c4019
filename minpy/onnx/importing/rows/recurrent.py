"""Recurrent layers, as `RNN`: its gates stand in another order, and its parameters in one vector."""

from __future__ import annotations

from typing import Any

from minpy import symbol
from minpy.onnx.importing.calls import Call, row
from minpy.onnx.importing.refusals import Refusal

# The operators take lists of inputs before their keywords, which types cannot tell apart.
sym: Any = symbol
np = symbol.np
# For each gate of `RNN`, its place in ONNX.
_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_DEFAULTS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}


@row("LSTM", "GRU", "RNN")
def recurrent(call: Call) -> Any:
    """Return the outputs at every step, the last states, and for LSTM the last cells."""
    kind, direction = call.operator, call.get("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    mode = _mode(call, kind, count)
    hidden = call.shape(2)[2]
    x = call.symbol(0)
    batch_first = bool(call.get("layout", 0))
    x = np.swapaxes(x, 0, 1) if batch_first else x
    (batch,) = call.shape(0, [0 if batch_first else 1])
    if direction == "reverse":
        x = np.flip(x, 0)
    dtype = call.dtype().name
    states = [sym.np.zeros((count, batch, hidden), dtype=dtype)] * 2
    for place, index in enumerate((5, 6)):
        if call.has(index):
            states[place] = np.swapaxes(call.symbol(index), 0, 1) if batch_first else call.symbol(index)
    inputs = [x, _parameters(call, kind, count, hidden), states[0]] + ([states[1]] if kind == "LSTM" else [])
    parts = sym.RNN(
        *inputs, state_size=hidden, num_layers=1, mode=mode, bidirectional=count == 2, state_outputs=True
    )  # fmt: skip
    y, *last = [parts[index].as_np_ndarray() for index in range(3 if kind == "LSTM" else 2)]
    if direction == "reverse":
        y = np.flip(y, 0)
    y = np.transpose(np.reshape(y, (-1, batch, count, hidden)), (1, 0, 2, 3) if batch_first else (0, 2, 1, 3))
    return [y, *(np.swapaxes(state, 0, 1) if batch_first else state for state in last)]


def _mode(call: Call, kind: str, count: int) -> str:
    """Return what `RNN` calls the cell, or refuse what it has not."""
    names = [name.lower() for name in call.get("activations", [])] or _DEFAULTS[kind] * count
    if call.has(4):
        tensor = call.tensor(4)
        (steps,) = call.shape(0, [1 if call.get("layout", 0) else 0])
        if tensor.constant is None or (tensor.constant != steps).any():
            raise Refusal(
                "its sequences have lengths of their own (sequence_lens). Leave these out, and mask the outputs"
            )
    if "clip" in call.attributes or call.get("input_forget", 0) or (kind == "LSTM" and call.has(7)):
        raise Refusal("it has clip, input_forget or peepholes (P), which RNN has not. Unroll it in the model")
    if kind == "GRU" and not call.get("linear_before_reset", 0):
        raise Refusal("its linear_before_reset is 0; RNN's GRU multiplies after the reset. Unroll it in the model")
    if kind == "RNN" and names == ["relu"] * count:
        return "rnn_relu"
    if names != _DEFAULTS[kind] * count:
        raise Refusal(f"its activations are {', '.join(names)}; RNN has {', '.join(_DEFAULTS[kind])}")
    return {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[kind]


def _parameters(call: Call, kind: str, count: int, hidden: int) -> Any:
    """Return all weights, and then all biases, each in the order of `RNN`'s gates."""
    order = _GATES[kind]

    def gates(symbol: Any, direction: int, offset: int = 0) -> list[Any]:
        starts = [(offset + place) * hidden for place in order]
        return [np.reshape(symbol[direction, start : start + hidden], (-1,)) for start in starts]

    parts: list[Any] = []
    for direction in range(count):
        for index in (1, 2):
            parts += gates(call.symbol(index), direction)
    for direction in range(count):
        if call.has(3):
            parts += gates(call.symbol(3), direction) + gates(call.symbol(3), direction, len(order))
        else:
            parts.append(sym.np.zeros((2 * len(order) * hidden,), dtype=call.dtype().name))
    return np.concatenate(parts, axis=0)
