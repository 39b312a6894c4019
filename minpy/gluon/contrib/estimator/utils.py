"""Helpers of estimators for metrics: checked lists, names of training and validation, defaults for losses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minpy.core.errors import ArgumentValueError, describe
from minpy.gluon.loss import SoftmaxCrossEntropyLoss
from minpy.metric import Accuracy, CompositeEvalMetric, EvalMetric
from minpy.namespaces import listing

__all__ = ["Accuracy", "CompositeEvalMetric", "EvalMetric", "SoftmaxCrossEntropyLoss"]
__dir__ = listing(__all__)


def _check_metrics(metrics: Any) -> list[EvalMetric]:
    """Return metrics as a list: those of composite metrics one by one."""
    if isinstance(metrics, CompositeEvalMetric):
        metrics = metrics.metrics
    elif isinstance(metrics, EvalMetric):
        return [metrics]
    elif not isinstance(metrics, (list, tuple)):
        metrics = [metrics]
    for metric in metrics:
        if not isinstance(metric, EvalMetric):
            raise ArgumentValueError(
                f"Estimator: metrics must be an mx.metric.EvalMetric or a list of them, got {describe(metric)}. "
                "Make one of its name with mx.metric.create('accuracy')."
            )
    return [single for metric in metrics for single in _check_metrics(metric)]


def _suggest_metric_for_loss(loss: Any) -> EvalMetric | None:
    """Return the metric that people want to see beside a loss: accuracy for that of classes."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None


def _name_for(kind: str, metrics: Iterable[EvalMetric]) -> None:
    """Let the names of metrics begin with `kind`: "training" or "validation"."""
    for metric in metrics:
        if not metric.name.startswith(f"{kind} "):
            metric.name = f"{kind} {metric.name}"


def _check_metric_known(handler: Any, metric: Any, known_metrics: Sequence[EvalMetric]) -> None:
    """Raise, unless a handler's metric is one of the estimator's own: nobody else's are updated."""
    if not any(metric is own_metric for own_metric in known_metrics):
        names = ", ".join(own_metric.name for own_metric in known_metrics)
        raise ArgumentValueError(
            f"{type(handler).__name__} refers to the metric {getattr(metric, 'name', describe(metric))!r}, which is "
            f"none of the estimator's own, and so is never updated. Take one of estimator.train_metrics and "
            f"estimator.val_metrics: {names}."
        )


def _check_handler_metric_ref(handler: Any, known_metrics: Sequence[EvalMetric]) -> None:
    """Raise, if the attributes `monitor` or `metrics` of a handler hold a metric that is not the estimator's."""
    for name in ("monitor", "metrics"):
        value = vars(handler).get(name) if hasattr(handler, "__dict__") else None
        for metric in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(metric, EvalMetric):
                _check_metric_known(handler, metric, known_metrics)
