"""`mx.optimizer.contrib`: MXNet's experimental optimizers."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, ShapeError
from minpy.namespaces import module_functions
from minpy.ndarray import NDArray, clip, contrib, mean, sqrt, square, zeros
from minpy.ops.optimizer.group_adagrad import group_adagrad_update
from minpy.optimizer.optimizer_base import Optimizer, register

# What programs import from here as from MXNet's module, which imports it for itself.
_IMPORTED = (NDArray, clip, contrib, mean, sqrt, square, zeros)

__all__ = ["GroupAdaGrad"]
__dir__, __getattr__ = module_functions(__name__, __all__, "optimizer")


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row of a weight, as of embeddings. It has no weight decay.

    g = clip(rescale_grad · grad); history += mean of g² over each row; weight -= lr · g / √(history + eps).

    Parameters
    ----------
    eps : float
        Keeps divisors from zero.
    **kwargs
        What `Optimizer` takes.

    Raises
    ------
    ArgumentValueError
        By updates, if there is weight decay.
    ShapeError
        By `create_state`, for weights that have no rows.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.5))
    >>> weight = mx.nd.ones((2, 2))
    >>> update(0, mx.nd.array([[2, 2], [0, 0]]), weight)
    >>> weight.asnumpy().round(4)
    array([[0.5, 0.5],
           [1. , 1. ]], dtype=float32)
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the sum of squares of each row's gradients."""
        if len(weight.shape) != 2:
            raise ShapeError(f"GroupAdaGrad: weight has shape {weight.shape}; expected rows: two axes.")
        return weight._like(numpy.zeros((weight.shape[0], 1), numpy.float32))

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        if numbers.pop("wd"):
            raise ArgumentValueError(
                f"GroupAdaGrad: the weight decay of parameter {index!r} is not 0, and it has none. Give wd=0, or the "
                "parameter wd_mult=0."
            )
        group_adagrad_update(weight, grad, state, out=weight, epsilon=float(self.float_stable_eps), **numbers)
