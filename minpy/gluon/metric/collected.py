"""Several metrics as one, and metrics made by name."""

from __future__ import annotations

import json
from typing import Any

from minpy import metric as _metric
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError
from minpy.gluon.metric.registering import CLASSES, named
from minpy.metric import EvalMetric
from minpy.metric.collected import CREATION

__all__ = ["CompositeEvalMetric", "create"]


@documented(sections=CREATION)
def create(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a metric.

    {sections}

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
        return CompositeEvalMetric([create(member, *args, **kwargs) for member in metric])
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

    def _created(self, metric: Any) -> EvalMetric:
        return create(metric)
