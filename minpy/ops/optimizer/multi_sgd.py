"""Stochastic gradient descent of several weights in one call, with rates as numbers or in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.optimizer.documenting import documented
from minpy.ops.optimizer.multi_updates import MultiUpdate
from minpy.ops.optimizer.sgd import mp_sgd_mom_update, mp_sgd_update, sgd_mom_update, sgd_update
from minpy.ops.optimizer.updates import Update

__all__ = ["MULTI_UPDATES"]

_LISTS = {"lrs": "lr", "wds": "wd"}
_PRELOADED = "; then `lrs` and `wds`, arrays with a value for each weight"


def _example(name: str, single: Update, preloaded: bool) -> str:
    """Return an example of two weights: of one gradient, at two learning rates."""
    states = len(single.signature.inputs) - 2
    low = single.has_master
    lines = [
        ">>> from minpy import nd",
        f">>> grad = nd.array([1, -1]{', dtype=' + repr('float16') if low else ''})",
        f">>> weights = [nd.array([1, 2]{', dtype=' + repr('float16') if low else ''}) for _ in range(2)]",
    ]
    further = "".join([", nd.zeros(2)" if "mom" in name else "", ", nd.array([1, 2])" if low else ""])
    lines += (
        [f">>> data = [array for weight in weights for array in (weight, grad{further})]"]
        if states
        else [">>> data = [weights[0], grad, weights[1], grad]"]
    )
    rates = "nd.array([0.5, 0.25]), nd.array([0, 0])" if preloaded else "lrs=(0.5, 0.25), wds=(0, 0)"
    dtype = "float16" if low else "float32"
    lines += [
        f">>> found = nd.{name}(*data, {rates}, num_weights=2, out=weights)",
        ">>> found[0].asnumpy(), found[1].asnumpy()",
        f"(array([0.5, 2.5], dtype={dtype}), array([0.75, 2.25], dtype={dtype}))",
    ]
    return "\n".join(lines)


def _multi(name: str, single: Update, preloaded: bool) -> MultiUpdate:
    """Make the update of several weights that makes a given one of each, and name it."""
    inputs = ", ".join(single.signature.inputs)
    changed = " and ".join(f"`{state}`" for state in single.auxiliary)
    arrays = f"*data : NDArray\n    {inputs} of each weight, one after another{_PRELOADED if preloaded else ''}."
    if changed:
        arrays += f"\n    Changed in place: {changed}."
    form: Any
    if preloaded and "mom" in name:

        def form(
            *data: np.ndarray,
            momentum: float = 0.0,
            rescale_grad: float = 1.0,
            clip_gradient: float = -1.0,
            num_weights: int = 1,
        ) -> Any:
            given = {"momentum": momentum, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
            return made.defined(data, {**given, "num_weights": num_weights})

    elif preloaded:

        def form(
            *data: np.ndarray, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1
        ) -> Any:
            given = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient, "num_weights": num_weights}
            return made.defined(data, given)

    elif "mom" in name:

        def form(
            *data: np.ndarray,
            lrs: tuple[float, ...],
            wds: tuple[float, ...],
            momentum: float = 0.0,
            rescale_grad: float = 1.0,
            clip_gradient: float = -1.0,
            num_weights: int = 1,
        ) -> Any:
            given = {"lrs": lrs, "wds": wds, "momentum": momentum, "num_weights": num_weights}
            return made.defined(data, {**given, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient})

    else:

        def form(
            *data: np.ndarray,
            lrs: tuple[float, ...],
            wds: tuple[float, ...],
            rescale_grad: float = 1.0,
            clip_gradient: float = -1.0,
            num_weights: int = 1,
        ) -> Any:
            given = {"lrs": lrs, "wds": wds, "num_weights": num_weights}
            return made.defined(data, {**given, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient})

    documented(
        f"Return several weights after the step of `{single.__name__}` each, in one call.",
        arrays=arrays,
        example=_example(name, single, preloaded),
    )(form)
    form.__qualname__ = name
    made = MultiUpdate(form, single, name=name, lists=_LISTS, shared=("lrs", "wds") if preloaded else ())
    return made


MULTI_UPDATES = {
    f"{prefix}multi_{single.__name__}": _multi(f"{prefix}multi_{single.__name__}", single, bool(prefix))
    for prefix in ("", "preloaded_")
    for single in (sgd_update, sgd_mom_update, mp_sgd_update, mp_sgd_mom_update)
}
