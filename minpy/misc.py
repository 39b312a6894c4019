"""`mx.misc`: learning rates that fall, by the first names that they had, and nests of arrays as one vector.

`mx.lr_scheduler` has more of the first; the second have the names that they have in `autograd.misc`.
"""

from __future__ import annotations

import logging
import math

from minpy.core.errors import ArgumentValueError
from minpy.differentiation.flattening import flatten, flatten_func
from minpy.namespaces import module_functions

__all__ = ["FactorScheduler", "LearningRateScheduler", "flatten", "flatten_func"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class LearningRateScheduler:
    """The base of learning rates that change: called with the number of an iteration, it returns the rate.

    Attributes
    ----------
    base_lr : float
        The rate at the beginning.
    """

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError("must override this")


class FactorScheduler(LearningRateScheduler):
    """A learning rate that is multiplied with a factor again and again.

    Parameters
    ----------
    step : int
        After how many iterations.
    factor : float
        Less than 1.

    Raises
    ------
    ArgumentValueError
        For a step below 1, or a factor of 1 or more.

    Examples
    --------
    >>> import minpy as mx
    >>> rate = mx.misc.FactorScheduler(step=2, factor=0.5)
    >>> [rate(iteration) for iteration in range(5)]
    [0.01, 0.01, 0.005, 0.005, 0.0025]
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise ArgumentValueError(
                f"FactorScheduler: Schedule step must be greater or equal than 1 round, got {step}."
            )
        if factor >= 1.0:
            raise ArgumentValueError(f"FactorScheduler: Factor must be less than 1 to make lr reduce, got {factor}.")
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:
            self.init = True
            self.old_lr = self.base_lr
        rate = self.base_lr * math.pow(self.factor, int(iteration / self.step))
        if rate != self.old_lr:
            self.old_lr = rate
            logging.info("At Iteration [%d]: Swith to new learning rate %.5f", iteration, rate)
        return rate
