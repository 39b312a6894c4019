"""The differentiable operators of `operators.c`, with what they compute in NumPy: the same table for every mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["KINDS", "Kind"]


@dataclass(frozen=True)
class Kind:
    """An operator, one call of it, and its answers.

    Attributes
    ----------
    name : str
        Without `raw_`.
    shapes : list of tuple of int
        Of the inputs.
    forward : callable
        From the inputs to the outputs, a list.
    backward : callable
        From (the gradients of the outputs, the inputs) to the gradients of the inputs, a list; None for one without.
    attributes : dict
    states : tuple of int
        Which inputs are changed.
    changed : callable
        From the inputs to what these are afterwards, a list.
    integers : dict of int to ndarray
        Inputs that are integers.
    exact : bool
        Whether the gradient is the derivative of the outputs.
    """

    name: str
    shapes: list[tuple[int, ...]]
    forward: Callable[..., list[np.ndarray]]
    backward: Callable[..., list[np.ndarray | None]]
    attributes: dict[str, Any] = field(default_factory=dict)
    states: tuple[int, ...] = ()
    changed: Callable[..., list[np.ndarray]] | None = None
    integers: dict[int, np.ndarray] = field(default_factory=dict)
    exact: bool = True

    def inputs(self, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
        """Return new inputs."""
        draw = np.random.RandomState(seed)
        return [
            self.integers[i].copy() if i in self.integers else np.asarray(draw.uniform(0.5, 2, shape), dtype)
            for i, shape in enumerate(self.shapes)
        ]

    def gradients_of_outputs(self, dtype: str = "float64") -> list[np.ndarray]:
        """Return what comes from above."""
        draw = np.random.RandomState(1)
        return [np.asarray(draw.uniform(0.5, 2, np.shape(one)), dtype) for one in self.forward(*self.inputs(dtype))]

    @property
    def arguments(self) -> list[int]:
        """The positions of inputs that are no states."""
        return [i for i in range(len(self.shapes)) if i not in self.states]

    @property
    def differentiable(self) -> list[int]:
        """The positions of inputs that have a gradient."""
        return [i for i in self.arguments if i not in self.integers]


def _rows_gradient(g, table, rows):
    gradient = np.zeros_like(table)
    np.add.at(gradient, rows, g[0])
    return [gradient, None]


def _moved(x, mean, momentum):
    return momentum * mean + (1 - momentum) * np.array([x.mean()], x.dtype)


KINDS = [
    Kind("affine", [(3, 4)], lambda x: [3 * x + 1], lambda g, x: [3 * g[0]], {"scale": 3, "shift": 1.0}),
    Kind(
        "pair",
        [(2, 3), (2, 3)],
        lambda x, y: [x * y, x + 2 * y],
        lambda g, x, y: [g[0] * y + g[1], g[0] * x + 2 * g[1]],
    ),
    Kind("cut", [(6, 2)], lambda x: np.split(x, 3), lambda g, x: [np.concatenate(g)], {"parts": 3}),
    Kind("cut", [(6, 2)], lambda x: [x], lambda g, x: [g[0]], {"parts": 1}),
    Kind("sum", [(2, 2)] * 4, lambda *xs: [sum(xs)], lambda g, *xs: [g[0]] * 4, {"count": 4}),
    Kind("copy", [(2, 3, 2)], lambda x: [x], lambda g, x: [g[0]]),
    Kind(
        "rows",
        [(4, 3), (5,)],
        lambda table, rows: [table[rows]],
        _rows_gradient,
        integers={1: np.array([3, 0, 0, 1, 3], "int64")},
    ),
    Kind(
        "dense",
        [(4, 3), (5, 3)],
        lambda x, w: [x @ w.T],
        lambda g, x, w: [g[0] @ w, g[0].T @ x],
        {"hidden": 5},
    ),
    Kind("workspace", [(7,)], lambda x: [x], lambda g, x: [g[0]], {"bytes": 1000, "times": 3}),
    Kind("attribute_count", [(3,)], lambda x: [x], lambda g, x: [2 * g[0]], {"one": 1, "two": "2"}, exact=False),
    Kind("storage_dense", [(3, 1)], lambda x: [x], lambda g, x: [g[0]]),
    # Exact in its first call: an executor's state goes on counting.
    Kind("counted", [(3, 2)], lambda x: [2 * x], lambda g, x: [2 * g[0]], {"scale": 2}, exact=False),
    Kind(
        "stateful_pair",
        [(2, 3), (2, 3)],
        lambda x, y: [x * y, x + 2 * y],
        lambda g, x, y: [g[0] * y + g[1], g[0] * x + 2 * g[1]],
    ),
    Kind(
        "running",
        [(4, 2), (1,)],
        lambda x, mean: [x - _moved(x, mean, 0.25)],
        lambda g, x, mean: [g[0], None],
        {"momentum": 0.25},
        states=(1,),
        changed=lambda x, mean: [_moved(x, mean, 0.25)],
        exact=False,
    ),
    Kind(
        "remember",
        [(2, 3), (2, 3), (1,)],
        lambda memory, x, count: [memory * x],
        lambda g, memory, x, count: [None, g[0] * memory, None],
        states=(0, 2),
        changed=lambda memory, x, count: [memory + x, count + 1],
        integers={2: np.array([5], "int32")},
    ),
    Kind(
        "stateful_running",
        [(4, 2), (1,)],
        lambda x, mean: [x - _moved(x, mean, 0.5)],
        lambda g, x, mean: [g[0], None],
        states=(1,),
        changed=lambda x, mean: [_moved(x, mean, 0.5)],
        exact=False,
    ),
]
