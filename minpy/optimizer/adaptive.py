"""Rates of their own for each element, from the squares of its gradients: AdaGrad, AdaDelta, RMSProp, FTRL."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.ndarray import NDArray
from minpy.ops.optimizer.element_rates import adadelta_update, adagrad_update
from minpy.ops.optimizer.regularized import ftrl_update
from minpy.ops.optimizer.rmsprop import rmsprop_update, rmspropalex_update
from minpy.optimizer.optimizer_base import Optimizer, register, zeros_beside

__all__ = ["AdaDelta", "AdaGrad", "Ftrl", "RMSProp", "wide_zeros"]


def wide_zeros(weight: NDArray, count: int) -> tuple[NDArray, ...]:
    """Return some states of zeros: in float32 for weights of fewer digits."""
    dtype = numpy.float32 if numpy.dtype(weight.dtype).itemsize < 4 else None
    return tuple(zeros_beside(weight, dtype) for _ in range(count))


@register
class AdaGrad(Optimizer):
    """Rates that fall with the sum of squares of all gradients.

    g = clip(rescale_grad · grad); history += g²; weight -= lr · (g / √(history + eps) + wd · weight)
    (Duchi, Hazan and Singer, Adaptive Subgradient Methods, JMLR 12, 2011).

    Parameters
    ----------
    eps : float
        Keeps divisors from zero.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.AdaGrad(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the sum of squares of a weight's gradients."""
        return wide_zeros(weight, 1)[0]

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = {"epsilon": float(self.float_stable_eps), **self._count_and_rates(index)}
        adagrad_update.change((weight, grad, state), numbers)


@register
class AdaDelta(Optimizer):
    """Steps whose size is that of the last ones, by the root of averages of squares. The learning rate is not used.

    g = clip(rescale_grad · grad); a = rho · a + (1 - rho) · g²; step = √(b + epsilon) / √(a + epsilon) · g;
    b = rho · b + (1 - rho) · step²; weight -= step + wd · weight (Zeiler, ADADELTA, 2012, algorithm 1).

    Parameters
    ----------
    rho : float
        The decay of both averages.
    epsilon : float
        Keeps roots and divisors from zero.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.AdaDelta())
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0.99, 1.01], dtype=float32)
    """

    _numbers = ("rho", "epsilon")

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the averages of the squares of a weight's gradients, and of its steps."""
        return wide_zeros(weight, 2)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        del numbers["lr"]
        adadelta_update.change((weight, grad, *state), numbers)


@register
class RMSProp(Optimizer):
    """Gradients by the root of an average of their squares.

    Tieleman and Hinton, Lecture 6.5 of Neural Networks for Machine Learning, 2012; `centered`, with momentum and the
    variance: Graves, Generating Sequences With Recurrent Neural Networks, 2013, equations 38 to 45. See
    `nd.rmsprop_update` and `nd.rmspropalex_update`.

    Parameters
    ----------
    learning_rate : float
    gamma1 : float
        The decay of the averages.
    gamma2 : float
        How much of the last step is added to a step; only if `centered`.
    epsilon : float
        Keeps divisors from zero.
    centered : bool
        Whether the average of gradients is taken off that of their squares.
    clip_weights : float, optional
        Clips the weights to [-clip_weights, clip_weights].
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.5, gamma1=0.75))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0., 2.], dtype=float32)
    """

    _numbers = ("gamma1", "epsilon")

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the average of squares of a weight's gradients; if centered, that of gradients, and the last step."""
        return wide_zeros(weight, 3 if self.centered else 1)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        numbers["clip_weights"] = float(self.clip_weights) if self.clip_weights else -1.0
        if self.centered:
            rmspropalex_update.change((weight, grad, *state), {"gamma2": float(self.gamma2), **numbers})
        else:
            rmsprop_update.change((weight, grad, *state), numbers)


@register
class Ftrl(Optimizer):
    """Follow the regularized leader: keeps weights at zero unless gradients insist.

    McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013, algorithm 1; see `nd.ftrl_update`.

    Parameters
    ----------
    lamda1 : float
        How strongly weights are drawn to zero: the L1 penalty. The L2 penalty is `wd`.
    learning_rate : float
        Without a schedule: one that is given beside it keeps its own `base_lr`.
    beta : float
        Added to the root of the sum of squares.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Ftrl(lamda1=0.5, learning_rate=1.0))
    >>> weight = mx.nd.zeros(2)
    >>> update(0, mx.nd.array([1, 0.25]), weight)
    >>> weight.asnumpy()
    array([-0.25,  0.  ], dtype=float32)
    """

    _numbers = ("lamda1", "beta")

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        schedule = kwargs.get("lr_scheduler")
        super().__init__(learning_rate=learning_rate if schedule is None else None, **kwargs)
        self.lr = learning_rate  # which, as in MXNet, leaves a schedule its own
        self.lamda1 = lamda1
        self.beta = beta

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the states z and n of a weight."""
        return wide_zeros(weight, 2)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        if numbers["lr"]:  # by which z is divided
            ftrl_update.change((weight, grad, *state), numbers)
