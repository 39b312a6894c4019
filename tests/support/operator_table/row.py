"""A row of the operator table: how to call one operator, and what must hold of its numbers and gradients.

A family's file holds a tuple `ROWS`. An operator may have several rows, told apart by `label`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Row", "Spec", "integers", "real"]


@dataclass(frozen=True)
class Spec:
    """One input: shape, and the values that it is drawn from.

    Parameters
    ----------
    shape : tuple of int
    low, high : float
        Real values lie in [low, high); integer values in [low, high).
    integers : bool
        Whether the values are whole numbers (labels, indices, lengths). They get no gradient.
    distinct : bool
        All values differ by at least (high - low) / (2 * size), in random order: no ties for maxima and sorting.
    away_from : sequence of float
        Kinks: no value lies closer to one than `margin`.
    margin : float
    values : array_like, optional
        Exactly these values, instead of random ones.
    """

    shape: tuple[int, ...] = (3, 4)
    low: float = -2.0
    high: float = 2.0
    integers: bool = False
    distinct: bool = False
    away_from: tuple[float, ...] = ()
    margin: float = 0.1
    values: Any = None

    def draw(self, random: np.random.RandomState) -> np.ndarray:
        """Return values in float64, the same for the same state of `random`."""
        if self.values is not None:
            return np.array(self.values, "float64")
        size = int(np.prod(self.shape))
        if self.integers:
            values = random.randint(int(self.low), int(self.high), size).astype("float64")
        elif self.distinct:
            steps = (np.arange(size) + 0.25 + 0.5 * random.uniform(size=size)) / max(size, 1)
            values = self.low + (self.high - self.low) * random.permutation(steps)
        else:
            values = random.uniform(self.low, self.high, size)
        for kink in self.away_from:
            near = np.abs(values - kink) < self.margin
            values = np.where(near, kink + np.where(values < kink, -self.margin, self.margin), values)
        return values.reshape(self.shape)


def real(*shape: int, low: float = -2.0, high: float = 2.0, **options: Any) -> Spec:
    """Return the `Spec` of real values: `real(3, 4, low=0.1)`; without a shape, (3, 4)."""
    return Spec(shape or (3, 4), low, high, **options)


def integers(*shape: int, low: int = 0, high: int, **options: Any) -> Spec:
    """Return the `Spec` of whole numbers in [low, high)."""
    return Spec(shape, low, high, integers=True, **options)


@dataclass(frozen=True)
class Row:
    """How to call an operator, and what to expect.

    Parameters
    ----------
    name : str
        A name of the operator in `minpy.core.OPERATORS` or, with `operator`, only for messages.
    inputs : Spec or sequence of Spec
    attributes : mapping
        Keyword attributes of the call.
    reference : callable, optional
        `reference(*inputs, **attributes)` on float64 NumPy arrays returns the answer (a tuple, for several outputs),
        shapes included, by another way than the operator's own.
    order : int
        Up to which order it is differentiated: 0, 1 or 2. With 0 a gradient is zero, or does not exist.
    reason : str
        Why `order` is 0 (or 1): 'piecewise constant', 'integer answer', 'first-order kernel', ...
    argnums : sequence of int, optional
        The inputs whose gradients are checked; by default all that are not integers.
    outputs : sequence of int, optional
        The outputs that enter the scalar that is differentiated; by default all with a floating dtype.
    tolerance : float
        Relative and absolute, of float64 gradients against central differences and of values against the reference.
    step : float
        Of the central differences.
    dtypes : sequence of str
        In which the operator keeps its inputs' dtype, and gives the float64 answer to within that dtype's precision.
    float16_tolerance : float
    training : bool
        Whether to run with `train_mode` on.
    random : bool
        Whether the answer is drawn: then only shapes, dtypes and gradients are checked, with the seed set anew.
    loss : callable, optional
        `loss(*inputs, **attributes)` returns the number whose gradient the rules give, where that is not the answer's.
    ulps : float
        How far faster forms of the operator may be from its definition, in units in the last place.
    operator : Any, optional
        The operator itself, where it is not public.
    label : str
        Tells rows of one operator apart.
    bound : bool
        Whether the answer's shape follows from those of the inputs, so that a symbol can be bound.
    """

    name: str
    inputs: Any = field(default_factory=Spec)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    order: int = 2
    reason: str = ""
    argnums: Sequence[int] | None = None
    outputs: Sequence[int] | None = None
    tolerance: float = 1e-6
    step: float = 1e-6
    dtypes: Sequence[str] = ("float32", "float16")
    float16_tolerance: float = 1e-2
    training: bool = False
    random: bool = False
    loss: Callable[..., float] | None = None
    ulps: float = 4.0
    operator: Any = None
    label: str = ""
    bound: bool = True

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The inputs' specifications, as a tuple."""
        return (self.inputs,) if isinstance(self.inputs, Spec) else tuple(self.inputs)

    @property
    def id(self) -> str:
        """The row's name in test reports."""
        return f"{self.name}-{self.label}" if self.label else self.name

    @property
    def differentiable(self) -> tuple[int, ...]:
        """The positions of the inputs whose gradients are checked."""
        if self.argnums is not None:
            return tuple(self.argnums)
        return tuple(position for position, spec in enumerate(self.specs) if not spec.integers)

    def draw(self, dtype: str = "float64") -> list[np.ndarray]:
        """Return inputs: always the same for a row. Integer-valued ones too are of `dtype`, as MXNet's are."""
        random = np.random.RandomState(zlib.crc32(self.id.encode()) & 0xFFFF)
        return [spec.draw(random).astype(dtype) for spec in self.specs]
