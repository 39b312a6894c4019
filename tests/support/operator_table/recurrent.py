"""Rows of `minpy.ops.nn.rnn` and `minpy.ops.nn.ctc_loss`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from operator_table.row import Row, Spec, real

KINDS_OF_STEPS = {"call": "_rnn_param_concat"}
CALLED = {"CTCLoss*": "refuses labels and lengths that are out of range"}

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _step(mode: str, a: np.ndarray, b: np.ndarray, h: np.ndarray, c: Any, clip: Any, wr: Any) -> tuple[Any, Any]:
    """One step of a cell, from the input's part `a` and the state's part `b` of its gates."""
    if mode == "lstm":
        i, f, g, o = np.split(a + b, 4, -1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        c = c if clip is None else np.clip(c, *clip)
        h = _sigmoid(o) * np.tanh(c)
        return (h if wr is None else h @ wr.T), c
    if mode == "gru":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        r, z = _sigmoid(ar + br), _sigmoid(az + bz)
        return (1 - z) * np.tanh(an + r * bn) + z * h, c
    return (np.maximum(a + b, 0) if mode == "rnn_relu" else np.tanh(a + b)), c


def _rnn(x: np.ndarray, p: np.ndarray, h0: np.ndarray, *rest: Any, **options: Any) -> Any:
    """Each sequence by itself, one step after the other, over views of the vector of parameters."""
    mode, size, count = options["mode"], options["state_size"], options["num_layers"]
    directions, projection = 1 + options.get("bidirectional", False), options.get("projection_size")
    rest_of = list(rest)
    c0 = rest_of.pop(0) if mode == "lstm" else None
    steps, batch = x.shape[:2]
    lengths = rest_of[0].astype(int) if options.get("use_sequence_length") else np.full(batch, steps)
    clip = (
        (options["lstm_state_clip_min"], options["lstm_state_clip_max"]) if "lstm_state_clip_min" in options else None
    )
    rows, width = _GATES[mode] * size, projection or size
    position = 0

    def take(*shape: int) -> np.ndarray:
        nonlocal position
        position += int(np.prod(shape))
        return p[position - int(np.prod(shape)) : position].reshape(shape)

    weights = []
    for layer in range(count):
        inputs = width * directions if layer else x.shape[2]
        for _ in range(directions):
            weights.append([take(rows, inputs), take(rows, width), take(projection, size) if projection else None])
    for own in weights:
        own += [take(rows), take(rows)]
    states, cells = np.array(h0), None if c0 is None else np.array(c0)
    for layer in range(count):
        out = np.zeros((steps, batch, directions * width))
        for direction in range(directions):
            index = layer * directions + direction
            wi, wh, wr, bi, bh = weights[index]
            for n in range(batch):
                h, c = h0[index, n], None if c0 is None else c0[index, n]
                order = range(lengths[n])
                for t in reversed(order) if direction else order:
                    h, c = _step(mode, wi @ x[t, n] + bi, wh @ h + bh, h, c, clip, wr)
                    out[t, n, direction * width : (direction + 1) * width] = h
                states[index, n] = h
                if cells is not None:
                    cells[index, n] = c
        x = out
    if not options.get("state_outputs"):
        return x
    return (x, states) if cells is None else (x, states, cells)


def _ctc(x: np.ndarray, labels: list[list[int]], blank: int) -> np.ndarray:
    """-log of the sum of the probabilities of all paths that read as the labels, by trying all of them."""
    probabilities = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    found = []
    for n, wanted in enumerate(labels):
        total = 0.0
        for path in itertools.product(range(x.shape[2]), repeat=len(x)):
            read = [one for one, _ in itertools.groupby(path) if one != blank]
            if read == wanted:
                total += float(np.prod([probabilities[t, n, one] for t, one in enumerate(path)]))
        found.append(-np.log(total))
    return np.array(found)


def _inputs(
    mode: str, count: int = 1, directions: int = 1, width: int = 2, size: int = 2, lengths: Any = None, **_: Any
) -> tuple[Spec, ...]:
    """Return 3 steps of 2 sequences of 2 numbers, parameters and states."""
    gates, total = _GATES[mode], 0
    for layer in range(count):
        inputs = width * directions if layer else 2
        total += directions * (gates * size * (inputs + width + 2) + (width * size if width != size else 0))
    cells = count * directions
    found = [real(3, 2, 2), real(total, low=-1, high=1), real(cells, 2, width)]
    found += [real(cells, 2, size)] if mode == "lstm" else []
    return (*found, *([] if lengths is None else [Spec((2,), values=lengths, integers=True)]))


def _row(mode: str, label: str = "", lengths: Any = None, **options: Any) -> Row:
    size, count = options.get("state_size", 2), options.get("num_layers", 1)
    directions = 1 + options.get("bidirectional", False)
    inputs = _inputs(mode, count, directions, options.get("projection_size", size), size, lengths)
    attributes = {"state_size": size, "num_layers": count, "mode": mode, **options}
    if lengths is not None:
        attributes["use_sequence_length"] = True
    # Sums in another order differ in units of the largest term, not of the sum.
    return Row("RNN", inputs, attributes, _rnn, label=f"{mode}{label}", ulps=2000)


# Lengths are truncated: so central differences of them are zero.
ROWS = [
    *[_row(mode) for mode in _GATES],
    *[
        _row(mode, "-layers", num_layers=2, bidirectional=True, state_outputs=True)
        for mode in ("rnn_tanh", "lstm", "gru")
    ],
    _row("lstm", "-projection", projection_size=1, num_layers=2, state_outputs=True, state_size=3),
    _row("lstm", "-clip", lstm_state_clip_min=-0.3, lstm_state_clip_max=0.4, state_outputs=True),
    _row("lstm", "-lengths", lengths=[3.5, 1.5], bidirectional=True, state_outputs=True),
    _row("lstm", "-empty", lengths=[2.5, 0.5], num_layers=2),
    Row(
        "RNN",
        _inputs("gru", 2),
        {"state_size": 2, "num_layers": 2, "mode": "gru", "p": 0.4, "state_outputs": True},
        random=True,
        training=True,
        label="dropout",
        ulps=2000,
    ),
    Row(
        "CTCLoss",
        (real(4, 2, 3), Spec((2, 2), values=[[1, 1], [2, 0]], integers=True)),
        {},
        lambda x, label: _ctc(x, [[1, 1], [2]], 0),
        ulps=2000,  # visits are taken from the chances one by one, or all at once
    ),
    Row(
        "CTCLoss",
        (
            real(4, 3, 3),
            Spec((3, 2), values=[[1, 0], [0, 1], [1, -1]], integers=True),
            Spec((3,), values=[3.5, 4.5, 2.5], integers=True),
            Spec((3,), values=[2.5, 1.5, 0.5], integers=True),
        ),
        {"use_data_lengths": True, "use_label_lengths": True, "blank_label": "last"},
        lambda x, label, n, m, **_: np.concatenate(
            [_ctc(x[:t, i : i + 1], [one], 2) for i, (t, one) in enumerate([(3, [1, 0]), (4, [0]), (2, [])])]
        ),
        label="lengths",
        ulps=2000,
    ),
    Row("_rnn_param_concat", (real(3), real(2)), {"dim": 0}, lambda a, b, dim: np.concatenate([a, b])),
]
