"""`LossScaler`: what losses are multiplied by, so that their gradients are within the range of float16."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import numpy

from minpy.namespaces import module_functions

__all__ = ["LossScaler"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class LossScaler:
    """A loss scale that is halved when gradients overflow, and doubled when they have not for 2000 steps.

    It starts at 2¹⁶ and ends at 2²⁴. (P. Micikevicius et al., Mixed Precision Training, ICLR 2018, section 3.2; the
    update is that of automatic scaling there.)

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> weight = mx.gluon.Parameter('weight', shape=(2,))
    >>> weight.initialize()
    >>> scaler = amp.loss_scaler.LossScaler()
    >>> scaler.loss_scale
    65536.0
    >>> weight.grad()[:] = float('inf')
    >>> scaler.has_overflow([weight]), scaler.has_overflow([weight]), scaler.loss_scale
    (True, True, 32768.0)
    """

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._next_loss_scale = self._loss_scale
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The present factor of losses; a change by `has_overflow` takes effect at its next call."""
        return self._loss_scale

    def has_overflow(self, params: Iterable[Any]) -> bool:
        """Tell whether a gradient holds an infinity or NaN, and adapt the scale for what comes next.

        Parameters
        ----------
        params : iterable of Parameter
            On all their contexts; those without gradients are left out.

        Returns
        -------
        bool
        """
        overflows = any(
            not numpy.isfinite(gradient._data).all()
            for parameter in params
            if parameter._grad is not None
            for gradient in parameter.list_grad()
        )
        self._loss_scale = self._next_loss_scale
        if overflows:
            self._next_loss_scale = self._loss_scale / 2
            self._unskipped = 0
            logging.info("AMP: decreasing loss scale to %f", self._next_loss_scale)
        else:
            self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2)
            logging.info("AMP: increasing loss scale to %f", self._next_loss_scale)
        return overflows
