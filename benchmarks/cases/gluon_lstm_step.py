"""A training step of a language model of characters in Gluon: embedding, LSTM of two layers, classes at every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked
from harness.training import gluon_training, torch_training

STEPS, BATCH, UNITS, LAYERS, CHARACTERS = 35, 32, 200, 2, 64
RATE = 4.0
STEPS_CHECKED = 4
LOSS = 4.125644181677938  # of the last step checked


def inputs() -> tuple[Array, ...]:
    """Characters, those that follow, and the parameters, in the order of the layers."""
    random = np.random.RandomState(0)
    text = random.randint(0, CHARACTERS, (STEPS + 1, BATCH))
    layer = [(4 * UNITS, UNITS), (4 * UNITS, UNITS), (4 * UNITS,), (4 * UNITS,)]
    shapes = [(CHARACTERS, UNITS), *LAYERS * layer, (CHARACTERS, UNITS), (CHARACTERS,)]
    arrays = [random.uniform(-0.2, 0.2, shape).astype(np.float32) for shape in shapes]
    return (text[:-1], text[1:], *arrays)


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The mean loss of the last step checked, as PyTorch computes it in float64."""
    return (np.asarray(LOSS),)


case = Case(
    f"one training step of an LSTM of {LAYERS}x{UNITS} on characters in Gluon, hybridized, batch {BATCH}, {STEPS} "
    "steps, float32, SGD with momentum",
    inputs,
    expected,
    targets={"mxnet": 1.3, "torch": 1.0},
    check_calls=STEPS_CHECKED,
    rtol=1e-5,
)


def gluon_step(mx: Any, hybridized: bool, data: Array, label: Array, *arrays: Array) -> Checked:
    """The step in Gluon, for MXNet and for minpy."""
    gluon = mx.gluon
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(gluon.nn.Embedding(CHARACTERS, UNITS), gluon.rnn.LSTM(UNITS, LAYERS))
        net.add(gluon.nn.Dense(CHARACTERS, flatten=False))
    data = data.astype(np.float32)
    step, _ = gluon_training(mx, net, data, label, arrays, hybridized, RATE)
    return step, lambda loss: (loss.mean(),)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, True, *arrays)


@case.implementation("minpy eager", peer="minpy")
def with_minpy_eager(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, False, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, True, *arrays)


@case.implementation("torch")
def with_torch(data: Array, label: Array, *arrays: Array) -> Checked:
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(CHARACTERS, UNITS)
            self.lstm = torch.nn.LSTM(UNITS, UNITS, LAYERS)
            self.classes = torch.nn.Linear(UNITS, CHARACTERS)

        def forward(self, data):
            return self.classes(self.lstm(self.embedding(data))[0])

    step, _ = torch_training(Model(), data, label, arrays, RATE)
    return step, lambda loss: (loss,)
