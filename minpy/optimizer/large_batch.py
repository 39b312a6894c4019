"""Optimizers for large batches: rates of their own for each layer, and warm-up: LARS, LBSGD, LAMB."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError
from minpy.ndarray import NDArray
from minpy.ops.optimizer.lamb import lamb_update, mp_lamb_update
from minpy.optimizer.descent import Descent
from minpy.optimizer.optimizer_base import Optimizer, UpdatesSeveral, aggregation_size, register, zeros_beside

__all__ = ["LAMB", "LARS", "LBSGD"]

_STRATEGIES = ("linear", "power2", "sqrt", "lars")


def _norm(array: NDArray) -> float:
    """Return the Euclidean norm of all elements: of the computation's digits no less than float32's."""
    values = array._data.ravel()
    return float(numpy.linalg.norm(values if values.dtype.itemsize > 2 else values.astype(numpy.float32)))


@register
class LARS(Descent):
    """Gradient descent with momentum whose rates are scaled layer by layer.

    The rate of a weight is lr · eta · ‖weight‖ / (‖grad‖ + wd · ‖weight‖ + eps), that of biases, and of `beta` and
    `gamma` of normalisations, lr (You, Gitman and Ginsburg, Large Batch Training of Convolutional Networks, 2017,
    equation 6).

    Parameters
    ----------
    momentum : float
        How much of the last step is added to a step.
    lazy_update : bool
        Accepted and not used: gradients are dense.
    eta : float
        How far a layer is trusted.
    eps : float
        Keeps divisors from zero.
    momentum_correction : bool
        Whether the momentum is scaled where the learning rate changes, in proportion.
    **kwargs
        What `Optimizer` takes. With `multi_precision`, float16 weights are updated in float32.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.LARS(learning_rate=1, eta=0.5))
    >>> weight = mx.nd.array([3, 4])
    >>> update(0, mx.nd.array([0, 10]), weight)
    >>> weight.asnumpy()
    array([3. , 1.5], dtype=float32)
    """

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum=momentum, **kwargs)
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size()
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: Any = None
        self.cur_lr: Any = None

    def _decayed_names(self) -> tuple[str, ...]:
        return ("_weight",)

    def _get_lrs(self, indices: Sequence[Any]) -> list[Any]:
        """Return the learning rates of some parameters, before they are scaled by layers; note how the rate changes."""
        lr = self.learning_rate
        self.last_lr = lr if self.cur_lr is None else self.cur_lr
        self.cur_lr = lr
        return [lr * self._factor("lr_mult", index) for index in indices]

    def _get_lars(self, index: Any, weight: NDArray, grad: NDArray, lr: float, wd: float) -> float:
        """Return the rate of a weight, scaled by its layer."""
        if str(self.idx2name.get(index, "")).endswith(("gamma", "beta", "bias")):
            return lr
        of_weight, of_grad = _norm(weight), _norm(grad) * float(self.rescale_grad)
        if of_weight <= 0 or of_grad <= 0:
            return lr
        return lr * float(self.eta) * of_weight / (of_grad + wd * of_weight + float(self.eps))

    def _update_all(self, indices: Any, weights: Any, grads: Any, states: Any, multi_precision: bool) -> None:
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        scaled = [
            self._get_lars(index, weight, grad, float(lr), float(wd))
            for index, weight, grad, lr, wd in zip(indices, weights, grads, lrs, wds, strict=True)
        ]
        momentum = float(self.momentum)
        if self.momentum_correction and self.last_lr:
            momentum *= float(self.cur_lr) / float(self.last_lr)
        self._descend(weights, grads, states, scaled, wds, momentum, multi_precision)


@register
class LBSGD(Descent):
    """Gradient descent for large batches: gradients are gathered over several calls, and the rate is warmed up.

    Every `batch_scale` calls the weight is updated with the average of their gradients. Over the first
    `warmup_epochs · updates_per_epoch` calls the rate grows from lr to lr · batch_scale: by 'linear', 'power2' or
    'sqrt' steps; with 'lars' it is scaled by √(‖weight‖² / (‖grad‖² + wd · ‖weight‖²)) instead.

    Parameters
    ----------
    momentum : float
        How much of the last step is added to a step.
    multi_precision : bool
        Whether weights of float16 are updated in float32, of which a copy is kept.
    warmup_strategy : {'linear', 'power2', 'sqrt', 'lars'}
    warmup_epochs : int
        How many epochs the warm-up takes.
    batch_scale : int
        Over how many calls gradients are gathered.
    updates_per_epoch : int
        How many calls an epoch has.
    begin_epoch : int
        How many epochs were made before.
    num_epochs : int
        How many there will be; kept, and not used.
    **kwargs
        What `Optimizer` takes.

    Raises
    ------
    ArgumentValueError
        For another strategy, or a `batch_scale` below 1.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.LBSGD(learning_rate=0.5, batch_scale=2, warmup_epochs=0))
    >>> weight = mx.nd.ones(1)
    >>> for _ in range(2):
    ...     update(0, mx.nd.ones(1), weight)
    ...     print(weight.asscalar())
    1.0
    0.0
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum=momentum, multi_precision=multi_precision, **kwargs)
        if warmup_strategy not in _STRATEGIES:
            raise ArgumentValueError(
                f"LBSGD: warmup_strategy is {warmup_strategy!r}; expected one of {', '.join(map(repr, _STRATEGIES))}."
            )
        if batch_scale < 1:
            raise ArgumentValueError(f"LBSGD: batch_scale is {batch_scale}; expected 1 call or more.")
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult = 1

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """Return the momentum of a weight; if `multi_precision`, for a float16 one behind the weight in float32."""
        return Optimizer.create_state_multi_precision(self, index, weight)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Change a weight in place; a float16 one by way of its copy in float32, if `multi_precision` says so."""
        Optimizer.update_multi_precision(self, index, weight, grad, state)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Gather the gradient of a weight, and change the weight in place if it is the last of a batch."""
        (lr,), (wd,) = self._get_lrs((index,)), self._get_wds((index,))  # before the count moves, as in MXNet
        self._update_count(index)
        device = weight.context.device_id  # each gathers its own gradients
        sums = self.cumgrads.setdefault(
            (index, device) if device else index, {"cum_grad": 0, "num_cums": self.init_updates}
        )
        sums["num_cums"] += 1
        gathered = grad if isinstance(sums["cum_grad"], int) else sums["cum_grad"] + grad
        if sums["num_cums"] % self.batch_scale:
            sums["cum_grad"] = gathered.copy() if gathered is grad else gathered
            return
        sums["cum_grad"] = 0
        mean = gathered / self.batch_scale if self.batch_scale > 1 else gathered
        if self.warmup_strategy == "lars":
            factor = self._get_lars(weight, mean, float(wd))
        else:
            factor = self._get_lbmult(sums["num_cums"])
        self._descend((weight,), (mean,), (state,), (lr * factor,), (wd,), float(self.momentum), False)

    def _get_lbmult(self, nup: int) -> float:
        """Return the factor of the rate at a call."""
        steps, most = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if nup >= steps:
            return most
        if steps <= 1:
            return 1.0
        done = nup / steps
        return 1 + (most - 1) * {"linear": done, "power2": done * done, "sqrt": math.sqrt(done)}[self.warmup_strategy]

    def _get_lars(self, weight: NDArray, grad: NDArray, wd: float) -> float:
        """Return the factor of the rate of a layer, between 0.01 and 100."""
        of_weight, of_grad = _norm(weight) ** 2, _norm(grad) ** 2
        return min(max(math.sqrt(of_weight / (of_grad + wd * of_weight + 1e-18)), 0.01), 100.0)


@register
class LAMB(UpdatesSeveral):
    """Adam whose steps are scaled layer by layer, by the norms of the weight and of the step.

    You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, ICLR 2020, algorithm 2; see
    `nd.lamb_update_phase1` and `nd.lamb_update_phase2`.

    Parameters
    ----------
    learning_rate : float
    beta1, beta2 : float
        The decays of the averages of gradients and of their squares.
    epsilon : float
        Keeps divisors from zero.
    lower_bound, upper_bound : float, optional
        The least and the most that a weight's norm counts for.
    bias_correction : bool
        Whether averages are corrected for their start at zero.
    **kwargs
        What `Optimizer` takes. With `multi_precision`, float16 weights are updated in float32.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.5))
    >>> weight = mx.nd.array([3, 4])
    >>> update(0, mx.nd.array([0, 1]), weight)
    >>> weight.asnumpy().round(3)
    array([3. , 1.5], dtype=float32)
    """

    _numbers = ("beta1", "beta2", "epsilon")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(45, aggregation_size(45)))

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the averages of a weight's gradients and of their squares."""
        return (zeros_beside(weight), zeros_beside(weight))

    def _update_all(self, indices: Any, weights: Any, grads: Any, states: Any, multi_precision: bool) -> None:
        numbers: dict[str, Any] = {
            "bias_correction": bool(self.bias_correction),
            "lower_bound": float(self.lower_bound) if self.lower_bound else -1.0,
            "upper_bound": float(self.upper_bound) if self.upper_bound else -1.0,
            **self._common(),
        }
        rates = zip(self._get_lrs(indices), self._get_wds(indices), strict=True)
        for index, weight, grad, state, (lr, wd) in zip(indices, weights, grads, states, rates, strict=True):
            numbers.update(lr=float(lr), wd=float(wd), t=self._index_update_count[index])
            if multi_precision:
                master, (mean, var) = state
                mp_lamb_update.change((weight, grad, mean, var, master), numbers)
            else:
                lamb_update.change((weight, grad, *state), numbers)
