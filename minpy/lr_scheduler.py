"""Learning rates that change with the number of updates."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import cos, pi
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.namespaces import module_functions

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]
__dir__, __getattr__ = module_functions(__name__, __all__, "schedule")

_MODES = ("linear", "constant")
_WARMUP = """
warmup_steps : int
    How many updates the warm-up takes.
warmup_begin_lr : float
    The rate at its beginning.
warmup_mode : {'linear', 'constant'}
    Whether it then grows to `base_lr`, or stays.
"""


@documented(warmup=_WARMUP)
class LRScheduler:
    """The base class of schedules: a schedule is called with the number of updates, and returns the learning rate.

    A class of one's own overrides `__call__`, and may use `get_warmup_lr` for the first `warmup_steps` updates.

    Parameters
    ----------
    base_lr : float
        The learning rate after the warm-up.
    {warmup}

    Raises
    ------
    ArgumentError
        If rates are no numbers, or `warmup_steps` is no integer.
    ArgumentValueError
        If the warm-up begins above `base_lr`, has a negative length, or another mode.

    Examples
    --------
    >>> import minpy as mx
    >>> class Halved(mx.lr_scheduler.LRScheduler):
    ...     def __call__(self, num_update):
    ...         if num_update < self.warmup_steps:
    ...             return self.get_warmup_lr(num_update)
    ...         return self.base_lr / 2
    >>> schedule = Halved(base_lr=1.0, warmup_steps=4)
    >>> [schedule(update) for update in range(6)]
    [0.0, 0.25, 0.5, 0.75, 0.5, 0.5]
    """

    def __init__(
        self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear"
    ) -> None:
        self._require_number("base_lr", base_lr)
        self._require_number("warmup_begin_lr", warmup_begin_lr)
        self._require_integer("warmup_steps", warmup_steps)
        if warmup_begin_lr > base_lr:
            raise ArgumentValueError(
                f"{type(self).__name__}: warmup_begin_lr={warmup_begin_lr} is above base_lr={base_lr}; a warm-up "
                "raises the learning rate to base_lr."
            )
        if warmup_steps < 0:
            raise ArgumentValueError(f"{type(self).__name__}: warmup_steps is {warmup_steps}; expected 0 or more.")
        if warmup_mode not in _MODES:
            raise ArgumentValueError(
                f"{type(self).__name__}: warmup_mode is {warmup_mode!r}; expected 'linear' or 'constant'."
            )
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was pickled."""
        self.__dict__.update(state)

    def _require_number(self, name: str, value: Any) -> None:
        if not hasattr(type(value), "__float__"):
            raise ArgumentError(f"{type(self).__name__}: {name} is {describe(value)}; expected a number.")

    def _require_integer(self, name: str, value: Any) -> None:
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise ArgumentError(
                f"{type(self).__name__}: {name} is {describe(value)}; expected an integer, a number of updates."
            )

    def _require_factor(self, factor: Any) -> None:
        self._require_number("factor", factor)
        if factor > 1:
            raise ArgumentValueError(
                f"{type(self).__name__}: factor is {factor}; expected no more than 1, so that the learning rate falls."
            )

    def get_warmup_lr(self, num_update: int) -> float:
        """Return the learning rate during the warm-up.

        Parameters
        ----------
        num_update : int
            Less than `warmup_steps`.

        Returns
        -------
        float

        Raises
        ------
        ArgumentValueError
            If the warm-up is over by then.

        Examples
        --------
        >>> import minpy as mx
        >>> mx.lr_scheduler.LRScheduler(base_lr=1.0, warmup_steps=4).get_warmup_lr(3)
        0.75
        """
        if num_update >= self.warmup_steps:
            raise ArgumentValueError(
                f"{type(self).__name__}: get_warmup_lr({num_update}): the warm-up ends after {self.warmup_steps} "
                "updates. Call the schedule itself."
            )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        done = num_update / self.warmup_steps
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * done

    def __call__(self, num_update: int) -> float:
        """Return the learning rate after a number of updates: what classes override."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(num_update): write one.")


@documented(warmup=_WARMUP)
class FactorScheduler(LRScheduler):
    """The learning rate times a factor, again and again after a number of updates.

    It only goes on: a call for an earlier update returns the current rate.

    Parameters
    ----------
    step : int
        After how many updates the rate changes.
    factor : float
        No more than 1.
    stop_factor_lr : float
        The rate does not become less.
    base_lr : float
        The rate after the warm-up.
    {warmup}

    Raises
    ------
    ArgumentError, ArgumentValueError
        For a step that is no integer or less than 1, and a factor above 1.

    Examples
    --------
    >>> import minpy as mx
    >>> schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [schedule(update) for update in range(1, 7)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._require_integer("step", step)
        if step < 1:
            raise ArgumentValueError(f"FactorScheduler: step is {step}; expected 1 update or more.")
        self._require_factor(factor)
        self._require_number("stop_factor_lr", stop_factor_lr)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        """Return the learning rate after a number of updates."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info("update %d: the learning rate is %.5e, and stays", num_update, self.base_lr)
            else:
                logging.info("update %d: the learning rate is %.5e", num_update, self.base_lr)
        return self.base_lr


@documented(warmup=_WARMUP)
class MultiFactorScheduler(LRScheduler):
    """The learning rate times a factor after each of some numbers of updates.

    It only goes on: a call for an earlier update returns the current rate.

    Parameters
    ----------
    step : list of int
        After which updates the rate changes, in increasing order.
    factor : float
        No more than 1.
    base_lr : float
        The rate after the warm-up.
    {warmup}

    Raises
    ------
    ArgumentError, ArgumentValueError
        For steps that are no list of integers from 1 on in increasing order, and a factor above 1.

    Examples
    --------
    >>> import minpy as mx
    >>> schedule = mx.lr_scheduler.MultiFactorScheduler(step=[2, 5], factor=0.5, base_lr=1.0)
    >>> [schedule(update) for update in range(1, 7)]
    [1.0, 1.0, 0.5, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step:
            advice = f" Make it a list: {[*step]}." if isinstance(step, tuple) and step else ""
            raise ArgumentError(
                f"MultiFactorScheduler: step is {describe(step)}; expected a list of numbers of updates.{advice}"
            )
        for position, update in enumerate(step):
            self._require_integer(f"step[{position}]", update)
            if update < 1:
                raise ArgumentValueError(
                    f"MultiFactorScheduler: step[{position}] is {update}; expected 1 update or more."
                )
            if position and update <= step[position - 1]:
                raise ArgumentValueError(
                    f"MultiFactorScheduler: step is {step}; expected increasing numbers, but {update} follows "
                    f"{step[position - 1]}."
                )
        self._require_factor(factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        """Return the learning rate after a number of updates."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("update %d: the learning rate is %.5e", num_update, self.base_lr)
        return self.base_lr


class _Falling(LRScheduler):
    """The base of schedules that fall from `base_lr` to `final_lr` until `max_update`."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._require_integer("max_update", max_update)
        self._require_number("final_lr", final_lr)
        if max_update < 1:
            raise ArgumentValueError(f"{type(self).__name__}: max_update is {max_update}; expected 1 update or more.")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - self.warmup_steps

    def __call__(self, num_update: int) -> float:
        """Return the learning rate after a number of updates."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            done = (num_update - self.warmup_steps) / self.max_steps if self.max_steps else 1.0
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * self._left(done)
        return self.base_lr

    def _left(self, done: float) -> float:
        """Return the fraction of the decrease that is left after a fraction of the updates."""
        raise NotImplementedError


@documented(warmup=_WARMUP)
class PolyScheduler(_Falling):
    """A learning rate that falls as a power of the updates that are left.

    final_lr + (base_lr - final_lr) · (1 - update / max_update)^pwr, where updates are counted from the end of the
    warm-up.

    Parameters
    ----------
    max_update : int
        The update from which on the rate is `final_lr`.
    base_lr : float
        The rate after the warm-up.
    pwr : float
        The power.
    final_lr : float
        The rate at the end.
    {warmup}

    Raises
    ------
    ArgumentError, ArgumentValueError
        If `max_update` is no integer, or less than 1.

    Examples
    --------
    >>> import minpy as mx
    >>> schedule = mx.lr_scheduler.PolyScheduler(max_update=4, base_lr=1.0)
    >>> [schedule(update) for update in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._require_number("pwr", pwr)
        self.power = pwr

    def _left(self, done: float) -> float:
        return float((1 - done) ** self.power)


@documented(warmup=_WARMUP)
class CosineScheduler(_Falling):
    """A learning rate that falls as half a cosine.

    final_lr + (base_lr - final_lr) · (1 + cos(π · update / max_update)) / 2, where updates are counted from the end of
    the warm-up (Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017, equation 5).

    Parameters
    ----------
    max_update : int
        The update from which on the rate is `final_lr`.
    base_lr : float
        The rate after the warm-up.
    final_lr : float
        The rate at the end.
    {warmup}

    Raises
    ------
    ArgumentError, ArgumentValueError
        If `max_update` is no integer, or less than 1.

    Examples
    --------
    >>> import minpy as mx
    >>> schedule = mx.lr_scheduler.CosineScheduler(max_update=4, base_lr=1.0)
    >>> [round(schedule(update), 3) for update in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    def _left(self, done: float) -> float:
        return (1 + cos(pi * done)) / 2
