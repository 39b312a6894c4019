"""LSTM layers (Hochreiter and Schmidhuber, 1997; with forget gates) in NumPy: forward and backward, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.case import Array

__all__ = ["lstm_gradients"]


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _layer(x: Array, wx: Array, wh: Array, bx: Array, bh: Array) -> tuple[Array, list[tuple[Array, ...]]]:
    """Return the outputs of all steps, and what the way back needs of each; the gates come as i, f, g, o."""
    h = c = np.zeros((x.shape[1], wh.shape[1]), x.dtype)
    outputs, kept = [], []
    for row in x:
        i, f, g, o = np.split(row @ wx.T + h @ wh.T + bx + bh, 4, axis=1)
        i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
        before, last = c, h
        c = f * before + i * g
        h = o * np.tanh(c)
        outputs.append(h)
        kept.append((last, before, c, i, f, g, o))
    return np.array(outputs), kept


def _layer_back(
    grad: Array, x: Array, kept: list[tuple[Array, ...]], wx: Array, wh: Array
) -> tuple[Array, tuple[Array, ...]]:
    g_x, g_wx, g_wh, g_b = np.zeros_like(x), np.zeros_like(wx), np.zeros_like(wh), np.zeros(len(wx), x.dtype)
    g_h = g_c = 0
    for step in range(len(x) - 1, -1, -1):
        last, before, c, i, f, g, o = kept[step]
        g_h = g_h + grad[step]
        bent = np.tanh(c)
        g_c = g_c + g_h * o * (1 - bent * bent)
        gates = (g_c * g * i * (1 - i), g_c * before * f * (1 - f), g_c * i * (1 - g * g), g_h * bent * o * (1 - o))
        g_z = np.concatenate(gates, axis=1)
        g_x[step] = g_z @ wx
        g_wx += g_z.T @ x[step]
        g_wh += g_z.T @ last
        g_b += g_z.sum(0)
        g_h, g_c = g_z @ wh, g_c * f
    return g_x, (g_wx, g_wh, g_b, g_b)


def lstm_gradients(data: Array, parameters: Sequence[Array], head: Array) -> tuple[Array, ...]:
    """Return the outputs of the last layer, and the gradients of data and parameters; of each layer, four of these."""
    layers = [parameters[first : first + 4] for first in range(0, len(parameters), 4)]
    inputs, kept = [data], []
    for layer in layers:
        outputs, needed = _layer(inputs[-1], *layer)
        inputs.append(outputs)
        kept.append(needed)
    gradients: list[Array] = []
    for x, needed, (wx, wh, _, _) in zip(inputs[-2::-1], kept[::-1], layers[::-1], strict=True):
        head, found = _layer_back(head, x, needed, wx, wh)
        gradients = [*found, *gradients]
    return (inputs[-1], head, *gradients)
