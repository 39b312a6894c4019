"""What a declaration says of a layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Floats:
    """An input of numbers that look random, away from 0 where functions have corners.

    Parameters
    ----------
    shape : tuple of int
    scale, shift : float
        The numbers are in `shift` ± `scale`.
    differentiable : bool
        Whether the layer has a gradient for it.
    batch_axis : int or None
        The axis along which there may be more of them; None: it stays as it is.
    """

    shape: tuple[int, ...]
    scale: float = 1.0
    shift: float = 0.0
    differentiable: bool = True
    batch_axis: int | None = 0

    def values(self, seed: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return the numbers, in float64."""
        count = int(np.prod(shape))
        waves = np.sin(np.arange(count) * 1.7 + seed * 0.9 + 1)
        return ((waves + np.sign(waves) * 0.05) / 1.05 * self.scale + self.shift).reshape(shape)

    def dtype(self, dtype: str) -> str:
        """Return the dtype of the array, in a layer of a dtype."""
        return dtype


@dataclass(frozen=True)
class Integers:
    """An input of numbers from 0 to below `high`, which has no gradient: indices, classes, lengths.

    Parameters
    ----------
    shape : tuple of int
    high : int
    low : int
    kind : str, optional
        The dtype of the array; by default the layer's.
    batch_axis : int or None
        The axis along which there may be more of them; None: it stays as it is.
    """

    shape: tuple[int, ...]
    high: int
    low: int = 0
    kind: str | None = "float32"
    batch_axis: int | None = 0
    differentiable = False

    def values(self, seed: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return the numbers."""
        count = int(np.prod(shape))
        return ((np.arange(count) * 5 + seed * 3 + 1) % 7 % (self.high - self.low) + self.low).reshape(shape)

    def dtype(self, dtype: str) -> str:
        """Return the dtype of the array, in a layer of a dtype."""
        return self.kind or dtype


@dataclass(frozen=True)
class Layer:
    """One layer with its options, and what is true of it. The tests check all the rest.

    Parameters
    ----------
    id : str
        The end of the tests' names.
    build : str
        The expression that makes the layer, of `mx`, `gluon`, `nn` and `rnn`; shapes that can follow from the first
        call are left out.
    inputs : Floats or Integers, or a tuple of them
    given : str, optional
        The expression that makes the same layer with all shapes.
    call : str
        The expression that calls it: of `net`, and the list of inputs `x`.
    setup : str
        Statements that are executed before `build`: classes, functions.
    random : bool
        Whether it draws numbers in training.
    hybrid : bool
        Whether it can be hybridized.
    smooth : bool
        Whether finite differences at the inputs give the gradient.
    zero_gradient : bool
        Whether all gradients are zero, so that there is nothing to compare finite differences with.
    second_order : bool
        Whether its gradient has a gradient.
    half : bool
        Whether it runs in float16.
    double : bool
        Whether it runs in float64.
    numpy : bool
        Whether it runs under `npx.set_np`.
    mxnet : bool
        Whether MXNet 1.9.1 has it.
    mxnet_runs : bool
        Whether MXNet 1.9.1 runs it on a CPU, forward and backward.
    mxnet_predicts : bool
        Whether MXNet 1.9.1 has the right gradients under `record(train_mode=False)`.
    mxnet_numpy : bool
        Whether MXNet 1.9.1 runs it under `npx.set_np`.
    mxnet_graph : bool
        Whether MXNet 1.9.1 makes the same graph of it.
    picklable : bool
        Whether it can be pickled.
    tolerance : float
        Of finite differences.
    """

    id: str
    build: str
    inputs: Any
    given: str | None = None
    call: str = "net(*x)"
    setup: str = ""
    random: bool = False
    hybrid: bool = True
    smooth: bool = True
    zero_gradient: bool = False
    second_order: bool = True
    half: bool = True
    double: bool = True
    numpy: bool = True
    mxnet: bool = True
    mxnet_runs: bool = True
    mxnet_predicts: bool = True
    mxnet_numpy: bool = True
    mxnet_graph: bool = True
    picklable: bool = True
    tolerance: float = 1e-5
    specs: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "specs", self.inputs if isinstance(self.inputs, tuple) else (self.inputs,))
