"""How parameters move: functions of a parameter, its gradient, and a dictionary of settings and states.

Each returns the new parameter and the dictionary for the next step; settings that are not there get their defaults.
"""

from __future__ import annotations

from typing import Any

import minpy.numpy as np
from minpy.namespaces import listing

__all__ = ["adam", "rmsprop", "sgd", "sgd_momentum"]
__dir__ = listing(__all__)

Config = dict[str, Any]


def _settings(config: Config | None, **defaults: Any) -> Config:
    """Return `config` with defaults added in place."""
    config = {} if config is None else config
    for name, value in defaults.items():
        config.setdefault(name, value)
    return config


def sgd(w: Any, dw: Any, config: Config | None = None) -> tuple[Any, Config]:
    """Return the parameter after a step of gradient descent, and the settings.

    Parameters
    ----------
    w, dw : array
        The parameter and its gradient.
    config : dict, optional
        `learning_rate` (0.01).

    Examples
    --------
    >>> sgd(np.array([1.0]), np.array([2.0]), {'learning_rate': 0.25})[0]
    array([0.5], dtype=float32)
    """
    config = _settings(config, learning_rate=1e-2)
    return w - config["learning_rate"] * dw, config


def sgd_momentum(w: Any, dw: Any, config: Config | None = None) -> tuple[Any, Config]:
    """Return the parameter after a step with momentum, and the settings.

    Parameters
    ----------
    w, dw : array
        The parameter and its gradient.
    config : dict, optional
        `learning_rate` (0.01), `momentum` (0.9), and `velocity`, which is moved.

    Examples
    --------
    >>> moved, config = sgd_momentum(np.array([1.0]), np.array([2.0]), {'learning_rate': 0.25})
    >>> moved, config['velocity']
    (array([0.5], dtype=float32), array([-0.5], dtype=float32))
    """
    config = _settings(config, learning_rate=1e-2, momentum=0.9, velocity=np.zeros_like(w))
    config["velocity"] = config["momentum"] * config["velocity"] - config["learning_rate"] * dw
    return w + config["velocity"], config


def rmsprop(x: Any, dx: Any, config: Config | None = None) -> tuple[Any, Config]:
    """Return the parameter after a step of RMSProp, and the settings.

    Parameters
    ----------
    x, dx : array
        The parameter and its gradient.
    config : dict, optional
        `learning_rate` (0.01), `decay_rate` (0.99), `epsilon` (1e-8), and `cache`, the average of squares.

    References
    ----------
    Tieleman and Hinton, Lecture 6.5: rmsprop, Neural Networks for Machine Learning, 2012.

    Examples
    --------
    >>> moved, config = rmsprop(np.array([1.0]), np.array([2.0]), {'learning_rate': 0.25, 'decay_rate': 0.75})
    >>> moved.round(3), config['cache']
    (array([0.5], dtype=float32), array([1.], dtype=float32))
    """
    config = _settings(config, learning_rate=1e-2, decay_rate=0.99, epsilon=1e-8, cache=np.zeros_like(x))
    config["cache"] = config["decay_rate"] * config["cache"] + (1 - config["decay_rate"]) * dx * dx
    return x - config["learning_rate"] * dx / (np.sqrt(config["cache"]) + config["epsilon"]), config


def adam(x: Any, dx: Any, config: Config | None = None) -> tuple[Any, Config]:
    """Return the parameter after a step of Adam, and the settings.

    Parameters
    ----------
    x, dx : array
        The parameter and its gradient.
    config : dict, optional
        `learning_rate` (0.001), `beta1` (0.9), `beta2` (0.999), `epsilon` (1e-8), the averages `m` and `v`, and `t`,
        the number of steps so far.

    References
    ----------
    Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1.

    Examples
    --------
    >>> moved, config = adam(np.array([1.0]), np.array([2.0]), {'learning_rate': 0.25})
    >>> moved.round(3), config['t']
    (array([0.75], dtype=float32), 1)
    """
    config = _settings(
        config, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, m=np.zeros_like(x), v=np.zeros_like(x), t=0
    )
    beta1, beta2 = config["beta1"], config["beta2"]
    config["t"] += 1
    config["m"] = beta1 * config["m"] + (1 - beta1) * dx
    config["v"] = beta2 * config["v"] + (1 - beta2) * dx * dx
    mean, square = config["m"] / (1 - beta1 ** config["t"]), config["v"] / (1 - beta2 ** config["t"])
    return x - config["learning_rate"] * mean / (np.sqrt(square) + config["epsilon"]), config
