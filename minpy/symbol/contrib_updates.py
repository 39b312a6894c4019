"""Updates of weights as `sym.contrib` has them: with the gradient's factor as a number or a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.symbol.operator_functions import FUNCTIONS
from minpy.symbol.symbol import Symbol

__all__ = ["adamw_update", "mp_adamw_update"]

_RATES = ("lr", "eta", "beta1", "beta2", "epsilon", "wd", "clip_gradient")


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: float | Symbol,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    name: str | None = None,
) -> Symbol:
    """Return the symbol of a weight after a step of AdamW: see `nd.contrib.adamw_update`.

    `mean` and `var` are auxiliary states.

    Examples
    --------
    >>> from minpy import sym
    >>> step = sym.contrib.adamw_update(*map(sym.var, 'wgmv'), 1.0, lr=0.1, eta=1.0)
    >>> step.list_arguments(), step.list_auxiliary_states()
    (['w', 'g'], ['m', 'v'])
    """
    rates = (lr, eta, beta1, beta2, epsilon, wd, clip_gradient)
    return _update("_adamw_update", (weight, grad, mean, var), rescale_grad, rates, name)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: float | Symbol,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    name: str | None = None,
) -> Symbol:
    """Return the symbol of a weight after a step of AdamW in float32: see `nd.contrib.mp_adamw_update`.

    `mean`, `var` and `weight32` are auxiliary states.

    Examples
    --------
    >>> from minpy import sym
    >>> step = sym.contrib.mp_adamw_update(*map(sym.var, 'wgmva'), sym.var('scale'), lr=0.1, eta=1.0)
    >>> step.list_arguments(), step.list_auxiliary_states()
    (['w', 'g', 'scale'], ['m', 'v', 'a'])
    """
    rates = (lr, eta, beta1, beta2, epsilon, wd, clip_gradient)
    return _update("_mp_adamw_update", (weight, grad, mean, var, weight32), rescale_grad, rates, name)


def _update(kind: str, arrays: Sequence[Symbol], rescale_grad: Any, rates: Sequence[float], name: Any) -> Symbol:
    """Return the symbol of an update; a factor that is a number becomes an array of one."""
    if not isinstance(rescale_grad, Symbol):
        rescale_grad = FUNCTIONS["_full"](shape=(1,), value=float(rescale_grad), dtype="float32")
    return FUNCTIONS[kind](*arrays, rescale_grad, name=name, **dict(zip(_RATES, rates, strict=True)))
