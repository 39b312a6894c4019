"""Several metrics as one, and metrics made by name."""

from __future__ import annotations

import json
from typing import Any

from minpy import metric as _metric
from minpy.core.errors import ArgumentValueError
from minpy.gluon.metric.registering import CLASSES, named
from minpy.metric import EvalMetric

__all__ = ["CompositeEvalMetric", "create"]


def create(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a metric.

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

    Examples
    --------
    >>> from minpy.gluon import metric
    >>> metric.create('f1', average='macro').get()
    ('f1', nan)
    """
    if isinstance(metric, str) and metric.startswith("{"):
        try:
            metric = json.loads(metric)
        except ValueError as error:
            raise ArgumentValueError(f"create: {metric!r} is no JSON that names a metric: {error}") from None
    if isinstance(metric, dict) and isinstance(metric.get("metric"), str) and not (args or kwargs):
        kwargs = {name: value for name, value in metric.items() if name != "metric"}
        metric = metric["metric"]
    if isinstance(metric, str) and metric.lower() in CLASSES:
        return CLASSES[metric.lower()](*args, **kwargs)
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(one, *args, **kwargs) for one in metric])
    return _metric.create(metric, *args, **kwargs)


@named("composite")
class CompositeEvalMetric(_metric.CompositeEvalMetric):
    """Several metrics, updated together.

    Parameters
    ----------
    metrics : list of EvalMetric or str, optional
        Also functions, and whatever `create` takes.
    name : str
    output_names, label_names : list of str, optional
        Which `update_dict` passes on, of those that there are; all if left out.

    Examples
    --------
    >>> from minpy import nd
    >>> from minpy.gluon import metric
    >>> metrics = metric.CompositeEvalMetric(['acc', 'mae'])
    >>> metrics.update([nd.array([0, 1])], [nd.array([0, 3])])
    >>> [(name, value.item()) for name, value in metrics.get_name_value()]
    [('accuracy', 0.5), ('mae', 1.0)]
    """

    def _made(self, metric: Any) -> EvalMetric:
        made: EvalMetric = create(metric)
        return made
