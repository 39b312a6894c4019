"""Adam and its kin: averages of gradients, by the roots of averages of their squares."""

from __future__ import annotations

import math
from typing import Any

from minpy.ndarray import NDArray
from minpy.ops.optimizer.adam_updates import adam_update
from minpy.ops.optimizer.adamax import adamax_update, nadam_update
from minpy.ops.optimizer.regularized import ftml_update
from minpy.optimizer.optimizer_base import Optimizer, register, zeros_beside

__all__ = ["FTML", "Adam", "Adamax", "Nadam"]


@register
class Adam(Optimizer):
    """Adaptive moment estimation.

    g = clip(rescale_grad · grad + wd · weight); mean = beta1 · mean + (1 - beta1) · g;
    var = beta2 · var + (1 - beta2) · g²; weight -= lr · √(1 - beta2ᵗ) / (1 - beta1ᵗ) · mean / (√var + epsilon)
    (Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, the end of section 2).

    Parameters
    ----------
    learning_rate : float
    beta1, beta2 : float
        The decays of the averages of gradients and of their squares.
    epsilon : float
        Keeps divisors from zero.
    lazy_update : bool
        Accepted and not used: gradients are dense.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0.5, 1.5], dtype=float32)
    """

    _numbers = ("beta1", "beta2", "epsilon")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the averages of a weight's gradients and of their squares."""
        return (zeros_beside(weight), zeros_beside(weight))

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        numbers["lr"] *= self._correction(self._index_update_count[index])
        adam_update.change((weight, grad, *state), numbers)

    def _correction(self, t: int) -> float:
        """Return what the rate is multiplied by at an update, as averages begin at zero."""
        return math.sqrt(1 - float(self.beta2) ** t) / (1 - float(self.beta1) ** t)

    def _update_each(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
        """Update weights one after the other: what is the same for all is asked for once, if that is the same."""
        alike = self.lr_scheduler is None and not self.multi_precision and self._is_own(Adam, "update")
        if not (alike and self._is_own(Optimizer, "update_multi_precision", "_update_count", "_get_lr", "_get_wd")):
            super()._update_each(indices, weights, grads, states)
            return
        counts, before, correction = self._index_update_count, 0, 1.0
        rates = []
        for index, lr in zip(indices, self._get_lrs(indices), strict=True):
            self._update_count(index)
            t = counts[index]
            if t != before:
                before, correction = t, self._correction(t)
            rates.append(float(lr) * correction)
        rows = [(weight, grad, *state) for weight, grad, state in zip(weights, grads, states, strict=True)]
        adam_update.change_all(rows, self._common(), rates, [*map(float, self._get_wds(indices))])


@register
class FTML(Optimizer):
    """Follow the moving leader.

    Zheng and Kwok, Follow the Moving Leader in Deep Learning, ICML 2017, algorithm 1; see `nd.ftml_update`.

    Parameters
    ----------
    beta1, beta2 : float
        The decays of the averages.
    epsilon : float
        Keeps divisors from zero.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.FTML(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0.5, 1.5], dtype=float32)
    """

    _numbers = ("beta1", "beta2", "epsilon")

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the states d, v and z of a weight."""
        return (zeros_beside(weight), zeros_beside(weight), zeros_beside(weight))

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        if not numbers["lr"]:  # by which d and z are divided: only the average of squares, v, goes on
            numbers["lr"] = 1.0
            d, v, z = state
            weight, state = weight.copy(), (d.copy(), v, z.copy())
        numbers["clip_grad"] = numbers.pop("clip_gradient")
        ftml_update.change((weight, grad, *state), {"t": self._index_update_count[index], **numbers})


@register
class Adamax(Optimizer):
    """Adam with the largest of the decayed gradients in the place of the root of their squares.

    g = clip(rescale_grad · grad + wd · weight); mean = beta1 · mean + (1 - beta1) · g; u = max(beta2 · u, |g|);
    weight -= lr / (1 - beta1ᵗ) · mean / u (Kingma and Ba, ICLR 2015, algorithm 2).

    Parameters
    ----------
    learning_rate : float
    beta1, beta2 : float
        The decays of the average and of the largest.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Adamax(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0.5, 1.5], dtype=float32)
    """

    _numbers = ("beta1", "beta2")

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the average of a weight's gradients, and the largest."""
        return (zeros_beside(weight), zeros_beside(weight))

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        numbers["lr"] /= 1 - self.beta1 ** self._index_update_count[index]
        adamax_update.change((weight, grad, *state), numbers)


@register
class Nadam(Optimizer):
    """Adam with Nesterov's momentum, and a schedule for it.

    The momentum at step t is beta1 · (1 - 0.96^(t · schedule_decay) / 2)
    (Dozat, Incorporating Nesterov Momentum into Adam, ICLR workshop 2016). As in MXNet, the product of momenta so far
    is one for all parameters: `m_schedule` moves with the update of each.

    Parameters
    ----------
    learning_rate : float
    beta1, beta2 : float
        The decays of the averages of gradients and of their squares.
    epsilon : float
        Keeps divisors from zero.
    schedule_decay : float
        How fast the momentum grows.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Nadam(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([2, -3]), weight)
    >>> weight.asnumpy().round(4)
    array([0.4718, 1.5282], dtype=float32)
    """

    _numbers = ("beta1", "beta2", "epsilon")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the averages of a weight's gradients and of their squares."""
        return (zeros_beside(weight), zeros_beside(weight))

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        t = self._index_update_count[index]
        momentum, following = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= momentum
        numbers["of_grad"] = (1 - momentum) / (1 - self.m_schedule)
        numbers["of_mean"] = following / (1 - self.m_schedule * following)
        numbers["of_var"] = 1 / (1 - self.beta2**t)
        nadam_update.change((weight, grad, *state), numbers)

    def _momentum(self, t: int) -> float:
        return float(self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay)))
