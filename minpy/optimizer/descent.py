"""Gradient descent: with momentum, Nesterov's momentum, by signs; with noise, and for gradients that come late."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.errors import ArgumentError
from minpy.ndarray import NDArray
from minpy.ndarray.random import normal
from minpy.ops.optimizer.dcasgd import dcasgd_mom_update, dcasgd_update
from minpy.ops.optimizer.sgd import (
    mp_nag_mom_update,
    mp_sgd_mom_update,
    mp_sgd_update,
    nag_mom_update,
    sgd_mom_update,
    sgd_update,
)
from minpy.ops.optimizer.sign import signsgd_update, signum_update
from minpy.ops.optimizer.updates import Update
from minpy.optimizer.optimizer_base import Optimizer, UpdatesSeveral, aggregation_size, register, zeros_beside

__all__ = ["DCASGD", "NAG", "SGD", "SGLD", "Descent", "Signum", "ccSGD"]


class Descent(UpdatesSeveral):
    """What optimizers have in common that go along the gradient, perhaps with momentum: states, and one update.

    Parameters
    ----------
    momentum : float
        How much of the last step is added to a step.
    **kwargs
        What `Optimizer` takes.
    """

    # The updates of a weight without and with momentum, and the same in float32 of a weight of fewer digits.
    _updates: tuple[Update, Update] = (sgd_update, sgd_mom_update)
    _updates_of_master: tuple[Update, Update] = (mp_sgd_update, mp_sgd_mom_update)

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the momentum of a weight; None if there is none."""
        return zeros_beside(weight) if self.momentum else None

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """Return the momentum of a weight; if `multi_precision`, for a float16 one beside the weight in float32."""
        if self._keeps_master(weight):
            master = weight.astype(numpy.float32)
            return (self.create_state(index, master), master)
        return self.create_state(index, weight)

    def _takes_all(self) -> bool:
        """Tell whether weights may be updated all at once: a schedule is asked after the count of each few."""
        if self.lr_scheduler is not None or getattr(self._update_all, "__func__", None) is not Descent._update_all:
            return False
        return self._is_own(UpdatesSeveral, "update", "update_multi_precision", "_update_impl")

    def _update_all(self, indices: Any, weights: Any, grads: Any, states: Any, multi_precision: bool) -> None:
        rates, decays = self._get_lrs(indices), self._get_wds(indices)
        self._descend(weights, grads, states, rates, decays, float(self.momentum), multi_precision)

    def _descend(
        self, weights: Any, grads: Any, states: Any, lrs: Any, wds: Any, momentum: float, multi_precision: bool
    ) -> None:
        """Make a step of each weight."""
        numbers = {"momentum": momentum, **self._common()}
        updates = self._updates_of_master if multi_precision else self._updates
        if not multi_precision:
            rates, decays, without = [*map(float, lrs)], [*map(float, wds)], [state is None for state in states]
            if True not in without:
                updates[1].change_all([*zip(weights, grads, states, strict=True)], numbers, rates, decays)
                return
            if False not in without and not momentum:
                updates[0].change_all([*zip(weights, grads, strict=True)], numbers, rates, decays)
                return
        plain, with_momentum = updates[0].change, updates[1].change
        for weight, grad, state, lr, wd in zip(weights, grads, states, lrs, wds, strict=True):
            numbers["lr"], numbers["wd"] = float(lr), float(wd)
            if not multi_precision and state is not None:
                with_momentum((weight, grad, state), numbers)
                continue
            mom, *master = state if multi_precision else (None,)
            if mom is not None:
                with_momentum((weight, grad, mom, *master), numbers)
            elif momentum:
                raise ArgumentError(
                    f"{type(self).__name__}: momentum is {momentum}, but a weight of shape {weight.shape} has no state "
                    "for it: its state was made while momentum was 0. Make new states, or set momentum to 0."
                )
            else:
                plain((weight, grad, *master), numbers)


@register
class SGD(Descent):
    """Stochastic gradient descent, perhaps with momentum.

    g = clip(rescale_grad · grad) + wd · weight; mom = momentum · mom - lr · g; weight += mom.

    Parameters
    ----------
    momentum : float
        How much of the last step is added to a step.
    lazy_update : bool
        Accepted and not used: gradients are dense.
    **kwargs
        What `Optimizer` takes. With `multi_precision`, float16 weights are updated in float32.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    >>> weight = mx.nd.ones(1)
    >>> for _ in range(2):
    ...     update(0, mx.nd.ones(1), weight)
    ...     print(weight.asscalar())
    0.5
    -0.25
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(momentum=momentum, **kwargs)
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size()


@register
class ccSGD(SGD):
    """The same as `SGD`: its name in old programs.

    Parameters
    ----------
    *args, **kwargs
        What `SGD` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.optimizer.create('ccsgd', momentum=0.5).momentum
    0.5
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


@register
class NAG(Descent):
    """Gradient descent with Nesterov's accelerated gradient.

    g = clip(rescale_grad · grad) + wd · weight; mom = momentum · mom - lr · g; weight += momentum · mom - lr · g
    (Sutskever et al., On the Importance of Initialization and Momentum in Deep Learning, ICML 2013).

    Parameters
    ----------
    momentum : float
        How much of the last step is added to a step.
    **kwargs
        What `Optimizer` takes. With `multi_precision`, float16 weights are updated in float32.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.NAG(learning_rate=0.5, momentum=0.5))
    >>> weight = mx.nd.ones(1)
    >>> update(0, mx.nd.ones(1), weight)
    >>> weight.asscalar()
    np.float32(0.25)
    """

    _updates = (sgd_update, nag_mom_update)
    _updates_of_master = (mp_sgd_update, mp_nag_mom_update)


@register
class Signum(Optimizer):
    """Steps of one size, along the signs of the gradient or of its momentum.

    mom = momentum · mom - (1 - momentum) · (clip(rescale_grad · grad) + wd · weight);
    weight = (1 - lr · wd_lh) · weight + lr · sign(mom) (Bernstein et al., signSGD, ICML 2018).

    Parameters
    ----------
    learning_rate : float
        The size of steps.
    momentum : float
        How much of the average stays; without it the sign is that of the gradient (signSGD).
    wd_lh : float
        Weight decay that is apart from the gradient.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.Signum(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([3, -0.1]), weight)
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the momentum of a weight; None if there is none."""
        return zeros_beside(weight) if self.momentum else None

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        if state is None:
            signsgd_update.change((weight, grad), numbers)
        else:
            numbers.update(momentum=float(self.momentum), wd_lh=float(self.wd_lh or 0))
            signum_update.change((weight, grad, state), numbers)


@register
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics: half a step of gradient descent, and noise.

    weight -= lr / 2 · (clip(rescale_grad · grad) + wd · weight) + normal(0, lr)
    (Welling and Teh, Bayesian Learning via Stochastic Gradient Langevin Dynamics, ICML 2011, equation 4). The noise is
    drawn from the generator of `mx.random`.

    Parameters
    ----------
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=1e-6))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy().round(1)
    array([1., 1.], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        lr = numbers["lr"]
        sgd_update.change((weight, grad), {**numbers, "lr": lr / 2})
        weight[:] = weight + normal(0, lr**0.5, weight.shape, dtype=weight.dtype, ctx=weight.context)


@register
class DCASGD(Optimizer):
    """Gradient descent that corrects gradients which were computed for a weight that has moved since.

    g = clip(rescale_grad · grad); g += wd · weight + lamda · g² · (weight - previous); mom = momentum · mom - lr · g;
    weight += mom (Zheng et al., Asynchronous Stochastic Gradient Descent with Delay Compensation, ICML 2017).

    Parameters
    ----------
    momentum : float
        How much of the last step is added to a step.
    lamda : float
        The factor of the correction.
    **kwargs
        What `Optimizer` takes.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.DCASGD(learning_rate=0.5))
    >>> weight = mx.nd.ones(1)
    >>> update(0, mx.nd.ones(1), weight)
    >>> weight.asscalar()
    np.float32(0.5)
    """

    _numbers = ("lamda",)

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Any, Any] = {}
        self.lamda = lamda

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the momentum of a weight, None if there is none, and the weight as it was before."""
        return (zeros_beside(weight) if self.momentum else None, weight.copy())

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        numbers = self._count_and_rates(index)
        mom, previous = state
        if mom is None:
            dcasgd_update.change((weight, grad, previous), numbers)
        else:
            dcasgd_mom_update.change((weight, grad, mom, previous), {"momentum": float(self.momentum), **numbers})
