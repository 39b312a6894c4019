"""A training step of ResNet-18 in Gluon, hybridized."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.case import Array, Case, Checked
from harness.gluon_resnet import BATCH, SIDE, gluon_resnet18, inputs, torch_resnet18
from harness.training import gluon_training, torch_training

STEPS_CHECKED = 4
LOSS = 1.062664880915161  # of the last step checked


def expected(*arrays: Array) -> tuple[Array, ...]:
    """The mean loss of the last step checked, as PyTorch computes it in float64."""
    return (np.asarray(LOSS),)


case = Case(
    f"one training step of ResNet-18 in Gluon, hybridized, batch {BATCH}, {SIDE}x{SIDE} float32, SGD with momentum",
    inputs,
    expected,
    targets={"mxnet": 1.3, "torch": 0.9},
    check_calls=STEPS_CHECKED,
    rtol=1e-3,
)


def gluon_step(mx: Any, images: Array, label: Array, *arrays: Array) -> Checked:
    """The step in Gluon, for MXNet and for minpy."""
    step, _ = gluon_training(mx, gluon_resnet18(mx), images, label, arrays, hybridized=True)
    return step, lambda loss: (loss.mean(),)


@case.implementation("minpy")
def with_minpy(*arrays: Array) -> Checked:
    import minpy as mx

    return gluon_step(mx, *arrays)


@case.implementation("mxnet")
def with_mxnet(*arrays: Array) -> Checked:
    import mxnet as mx

    return gluon_step(mx, *arrays)


def torch_step(compiled: bool, images: Array, label: Array, *arrays: Array) -> Checked:
    step, _ = torch_training(torch_resnet18(), images, label, arrays, compiled=compiled)
    return step, lambda loss: (loss,)


@case.implementation("torch")
def with_torch(*arrays: Array) -> Checked:
    return torch_step(False, *arrays)


@case.implementation("torch compile", peer="torch")
def with_torch_compile(*arrays: Array) -> Checked:
    return torch_step(True, *arrays)
