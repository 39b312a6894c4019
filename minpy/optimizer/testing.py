"""An optimizer whose steps can be told at a glance, for tests of what uses optimizers."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.ndarray import NDArray
from minpy.optimizer.optimizer_base import Optimizer, register, zeros_beside

__all__ = ["Test"]


@register
class Test(Optimizer):
    """Adds the rescaled gradient to the weight, and copies the weight into the state.

    Parameters
    ----------
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Test(rescale_grad=0.5))
    >>> weight = mx.nd.ones(1)
    >>> update(0, mx.nd.ones(1), weight)
    >>> weight.asscalar()
    np.float32(1.5)
    """

    __test__ = False  # none of pytest's

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return zeros."""
        return zeros_beside(weight, numpy.float32)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight
