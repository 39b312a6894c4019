"""How parameters begin: functions of a shape and a dictionary of settings."""

from __future__ import annotations

import math
from typing import Any

import minpy.numpy as np
from minpy.namespaces import listing

__all__ = ["constant", "custom", "gaussian", "xavier"]
__dir__ = listing(__all__)

Shape = tuple[int, ...]


def xavier(shape: Shape, config: dict[str, Any] | None = None) -> Any:
    """Return normal numbers with a standard deviation of sqrt(6 / (fan_in + fan_out)), as MinPy's are.

    Parameters
    ----------
    shape : tuple of int
        Its first length counts as fan_out, the product of the others as fan_in.
    config : dict, optional
        Not used.

    References
    ----------
    Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, AISTATS 2010, whose
    formula is that of a uniform distribution's bound.

    Examples
    --------
    >>> xavier((3, 2)).shape
    (3, 2)
    """
    fan_in = math.prod(shape[1:]) if len(shape) > 1 else 0
    return gaussian(shape, {"stdvar": math.sqrt(6.0 / (shape[0] + fan_in))})


def constant(shape: Shape, config: dict[str, Any] | None = None) -> Any:
    """Return an array filled with `config['value']`, by default 0.

    Examples
    --------
    >>> constant((2,), {'value': 3})
    array([3., 3.], dtype=float32)
    """
    return np.full(shape, float((config or {}).get("value", 0.0)), dtype="float32")


def gaussian(shape: Shape, config: dict[str, Any] | None = None) -> Any:
    """Return normal numbers of the mean `config['mu']` (0) and the standard deviation `config['stdvar']` (0.001).

    Examples
    --------
    >>> float(abs(gaussian((1000,))).max()) < 0.01
    True
    """
    config = config or {}
    drawn = np.random.normal(0.0, 1.0, shape) * config.get("stdvar", 0.001) + config.get("mu", 0.0)
    return np.asarray(drawn, dtype="float32")


def custom(shape: Shape, config: dict[str, Any] | None = None) -> Any:
    """Return `config['function'](shape)`; zeros without a function.

    Examples
    --------
    >>> custom((2,), {'function': np.ones})
    array([1., 1.], dtype=float32)
    """
    return (config or {}).get("function", np.zeros)(shape)
