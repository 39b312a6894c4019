"""The log line of a validation, which `FeedForward` writes by default."""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["LogValidationMetricsCallback"]


class LogValidationMetricsCallback:
    """Writes the metrics of a validation to the log, at its end.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.callback.LogValidationMetricsCallback()(mx.model.BatchEndParam(0, 3, mx.metric.create('acc'), None))
    """

    def __call__(self, param: Any) -> None:
        """Write a line for each metric.

        Parameters
        ----------
        param : BatchEndParam
        """
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


# As MXNet names it, which pickles say.
LogValidationMetricsCallback.__module__ = "minpy.callback"
