"""Several metrics as one, and metrics made by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, OutOfRangeError, describe
from minpy.metric.averages import CustomMetric
from minpy.metric.eval_metric import EvalMetric, Names, alias, create_metric, register

__all__ = ["CREATION", "CompositeEvalMetric", "create"]


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics, updated together.

    Parameters
    ----------
    metrics : list of EvalMetric or str, optional
        Also functions, and whatever `create` takes.
    name : str
    output_names, label_names : list of str, optional
        Which `update_dict` passes on, of those that there are; all if left out.

    Raises
    ------
    ArgumentError
        If `metrics` is no list.

    Examples
    --------
    >>> import minpy as mx
    >>> metrics = mx.metric.CompositeEvalMetric(['acc', mx.metric.MSE()])
    >>> metrics.update([mx.nd.array([0, 1])], [mx.nd.array([0, 3])])
    >>> [(name, value.item()) for name, value in metrics.get_name_value()]
    [('accuracy', 0.5), ('mse', 2.0)]
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        if not (metrics is None or isinstance(metrics, (list, tuple))):
            raise ArgumentError(f"{type(self).__name__}: metrics must be a list, got {describe(metrics)}.")
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names, has_global_stats=True)
        for metric in metrics or ():
            self.add(metric)

    def _created(self, metric: Any) -> EvalMetric:
        return create(metric)

    def add(self, metric: Any) -> None:
        """Append a metric.

        Parameters
        ----------
        metric : EvalMetric or str
            Also a function, and whatever `create` takes.
        """
        self.metrics.append(self._created(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return a metric.

        Parameters
        ----------
        index : int

        Returns
        -------
        EvalMetric

        Raises
        ------
        OutOfRangeError
            If there is none at that place.
        """
        try:
            return self.metrics[index]
        except IndexError:
            raise OutOfRangeError(
                f"{self.name}: there is no metric {index}; there are {len(self.metrics)}, numbered from 0."
            ) from None

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:
        """Update the metrics with labels and predictions by name.

        Parameters
        ----------
        labels, preds : dict of str to NDArray
            Those in `label_names` and `output_names` are passed on.
        """
        if self.label_names is not None:
            labels = {name: value for name, value in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: value for name, value in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        """Return the metrics' names and their values since the last reset.

        Returns
        -------
        tuple of (list of str, list of float)
        """
        return _joined(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[list[str], list[Any]]:
        """Return the metrics' names and their values since the last reset of everything.

        Returns
        -------
        tuple of (list of str, list of float)
        """
        return _joined(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _joined(parts: Any) -> tuple[list[str], list[Any]]:
    names: list[str] = []
    values: list[Any] = []
    for name, value in parts:
        names += name if isinstance(name, list) else [name]
        values += value if isinstance(value, list) else [value]
    return names, values


# What `create` says of its arguments, here and in `gluon.metric`.
CREATION = """
Parameters
----------
metric : str, callable, EvalMetric, list or dict
    A name, with its arguments after it; a function of label and prediction; a class of metrics; a metric, which is
    returned; a list of these, for a metric of several; what `get_config` returned, or the JSON of that.
*args, **kwargs
    The arguments.

Returns
-------
EvalMetric

Raises
------
ArgumentError
    If it is none of these.
ArgumentValueError
    If the name is not registered.
"""


@documented(sections=CREATION)
def create(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a metric.

    {sections}

    Examples
    --------
    >>> import minpy as mx
    >>> mx.metric.create('top_k_acc', top_k=3).name
    'top_k_accuracy_3'
    >>> mx.metric.create(['acc', 'rmse']).get()[0]
    ['accuracy', 'rmse']
    """
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(member, *args, **kwargs) for member in metric])
    return create_metric(metric, *args, **kwargs)
