"""What every metric shares: sums over batches, local and global; names, and the check that labels fit predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any, TypeVar

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe, nearest
from minpy.registry import get_alias_func, get_create_func, get_register_func

__all__ = [
    "EvalMetric",
    "Names",
    "OfStatistics",
    "alias",
    "as_classes",
    "as_numpy",
    "average_of",
    "check_label_shapes",
    "checked_average",
    "create_metric",
    "matthews",
    "pairs",
    "predicted_classes",
    "register",
    "with_names_only",
]

Names = Sequence[str] | None
Metric = TypeVar("Metric", bound=type)


class EvalMetric:
    """The base of metrics: a sum and a number of instances, whose ratio is the metric's value.

    A derived class defines `update`, which adds to `sum_metric` and `num_inst`; and, if it says
    `has_global_stats=True`, to `global_sum_metric` and `global_num_inst`, which `reset_local` leaves alone: the local
    ones tell of what came since the last line of a log, the global ones of the whole epoch.

    Parameters
    ----------
    name : str
        What the value is called.
    output_names, label_names : list of str, optional
        Which predictions and labels `update_dict` uses, in this order; all if left out.
    **kwargs
        Further arguments of the derived class, for `get_config`. `has_global_stats` is not kept.

    Examples
    --------
    >>> import minpy as mx
    >>> class Largest(mx.metric.EvalMetric):
    ...     def __init__(self):
    ...         super().__init__('largest')
    ...     def update(self, labels, preds):
    ...         for pred in preds:
    ...             self.sum_metric += pred.max().item()
    ...             self.num_inst += 1
    >>> largest = Largest()
    >>> largest.update([], [mx.nd.array([1, 2]), mx.nd.array([4])])
    >>> largest.get()
    ('largest', 3.0)
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = bool(kwargs.pop("has_global_stats", False))
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        items = _paired(self.get())
        values = {name: value.item() if isinstance(value, numpy.generic) else value for name, value in items}
        return f"EvalMetric: {values}"

    def get_config(self) -> dict[str, Any]:
        """Return what makes the metric again: `mx.metric.create(metric.get_config())`.

        Returns
        -------
        dict

        Examples
        --------
        >>> import minpy as mx
        >>> mx.metric.Accuracy(axis=2).get_config()['axis']
        2
        """
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Update the metric with labels and predictions by name: those of `label_names` and `output_names`.

        Parameters
        ----------
        label, pred : dict of str to NDArray

        Raises
        ------
        ArgumentValueError
            If a name is missing.
        """
        self.update(self._chosen("label", label, self.label_names), self._chosen("prediction", pred, self.output_names))

    def _chosen(self, noun: str, arrays: Mapping[str, Any], names: Sequence[str] | None) -> list[Any]:
        if names is None:
            return [*arrays.values()]
        for name in names:
            if name not in arrays:
                raise ArgumentValueError(
                    f"{self.name}: there is no {noun} {name!r}.{nearest(name, arrays)} There are "
                    f"{', '.join(map(repr, arrays)) or 'none'}."
                )
        return [arrays[name] for name in names]

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels, preds : list of NDArray
            One label for each prediction.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say how to update it: define update(self, labels, preds), which adds to "
            f"self.sum_metric and self.num_inst."
        )

    def reset(self) -> None:
        """Forget everything."""
        self.num_inst: Any = 0
        self.sum_metric: Any = 0.0
        self.global_num_inst: Any = 0
        self.global_sum_metric: Any = 0.0

    def reset_local(self) -> None:
        """Forget the local statistics; the global ones go on."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """Return the metric's name and its value since the last reset.

        Returns
        -------
        tuple of (str, float)
            The value is nan if there was no update.
        """
        return self.name, self._value_of(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Return the metric's name and its value since the last reset of everything.

        Returns
        -------
        tuple of (str, float)
            What `get` returns, if the metric has no global statistics.
        """
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value_of(self.global_sum_metric, self.global_num_inst)

    def _value_of(self, total: Any, count: Any) -> Any:
        """Return the value that a sum and a number of instances make."""
        return average_of(total, count)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Return names and values: a list of pairs.

        Returns
        -------
        list of tuple

        Examples
        --------
        >>> import minpy as mx
        >>> mx.metric.Accuracy().get_name_value()
        [('accuracy', nan)]
        """
        return _paired(self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Return names and global values: a list of pairs.

        Returns
        -------
        list of tuple
        """
        if not self._has_global_stats:
            return self.get_name_value()
        return _paired(self.get_global())

    def _add(self, total: Any, count: Any) -> None:
        """Add to the local and to the global statistics."""
        self.sum_metric += total
        self.global_sum_metric += total
        self.num_inst += count
        self.global_num_inst += count


class OfStatistics(EvalMetric):
    """A metric whose value is computed from statistics of all examples, local and global ones."""

    def _new_statistics(self) -> Any:
        """Return statistics of no examples: an object with a `count`."""
        raise NotImplementedError

    def _statistics_value(self, statistics: Any) -> Any:
        raise NotImplementedError

    def reset(self) -> None:
        super().reset()
        self._local, self._global = self._new_statistics(), self._new_statistics()

    def reset_local(self) -> None:
        super().reset_local()
        self._local = self._new_statistics()

    def get(self) -> tuple[str, Any]:
        return self.name, self._statistics_value(self._local) if self._local.count else float("nan")

    def get_global(self) -> tuple[str, Any]:
        return self.name, self._statistics_value(self._global) if self._global.count else float("nan")


def with_names_only(default: str) -> Callable[[Metric], Metric]:
    """Return a decorator for metrics that take their names only, and have global statistics."""

    def complete(metric: Metric) -> Metric:
        def __init__(
            self: EvalMetric,
            name: str = default,
            output_names: Sequence[str] | None = None,
            label_names: Sequence[str] | None = None,
        ) -> None:
            EvalMetric.__init__(self, name, output_names, label_names, has_global_stats=True)

        __init__.__qualname__, __init__.__module__ = f"{metric.__qualname__}.__init__", metric.__module__
        metric.__init__ = __init__  # type: ignore[misc]
        return metric

    return complete


def _paired(name_and_value: tuple[Any, Any]) -> list[tuple[str, Any]]:
    """Return (name, value) of a metric, or of each of several in two lists, as a list of pairs."""
    names, values = (part if isinstance(part, list) else [part] for part in name_and_value)
    return [*zip(names, values, strict=False)]


def average_of(total: Any, count: Any) -> Any:
    """Return a sum over a number, nan for none."""
    return float("nan") if count == 0 else total / count


def matthews(hits: float, wrong: float, missed: float, neither: float) -> float:
    """Return Matthews' correlation coefficient of true and false positives, false and true negatives.

    Factors of the denominator that are zero are left out.
    """
    below = 1.0
    for factor in (hits + wrong, hits + missed, neither + wrong, neither + missed):
        below *= factor or 1.0
    return (hits * neither - wrong * missed) / sqrt(below)


_register = get_register_func(EvalMetric, "metric")
_alias = get_alias_func(EvalMetric, "metric")
create_metric = get_create_func(EvalMetric, "metric")


def alias(*aliases: str) -> Callable[[type], type]:
    """Return a decorator that registers a metric under further names.

    Parameters
    ----------
    *aliases : str

    Returns
    -------
    callable

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.metric.alias('share')
    ... class Share(mx.metric.EvalMetric):
    ...     pass
    >>> type(mx.metric.create('share', name='share')) is Share
    True
    """
    return _alias(*aliases)


def register(klass: type, name: str | None = None) -> type:
    """Register a metric, under its class's name in lower case or another, by which `create` can name it.

    Parameters
    ----------
    klass : type
        Derived from `EvalMetric`.
    name : str, optional

    Returns
    -------
    type
        The class: `register` is a decorator.

    Raises
    ------
    ArgumentError
        If it is not derived from `EvalMetric`.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.metric.register
    ... class Number(mx.metric.EvalMetric):
    ...     def update(self, labels, preds):
    ...         self.sum_metric += len(preds)
    ...         self.num_inst = 1
    >>> number = mx.metric.create('number', name='how many')
    >>> number.update([], [mx.nd.zeros((2,)), mx.nd.zeros((3,))])
    >>> number.get()
    ('how many', 2.0)
    """
    return _register(klass, name)


def _is_array(value: Any) -> bool:
    return isinstance(value, (Array, numpy.ndarray))


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Check that there are as many labels as predictions.

    Parameters
    ----------
    labels, preds : NDArray or list of NDArray
    wrap : bool
        Return single arrays as lists of one.
    shape : bool
        Compare the shapes of arrays, not only how long they are.

    Returns
    -------
    tuple
        The labels and the predictions.

    Raises
    ------
    ShapeError
        If they differ.

    Examples
    --------
    >>> import minpy as mx
    >>> labels, preds = mx.metric.check_label_shapes(mx.nd.zeros((2,)), mx.nd.zeros((2, 3)), wrap=True)
    >>> len(labels), len(preds)
    (1, 1)
    """
    if wrap and _is_array(labels) != _is_array(preds):
        labels, preds = ([value] if _is_array(value) else value for value in (labels, preds))
    got, expected = (value.shape if shape else _length(value) for value in (labels, preds))
    if got != expected:
        raise ShapeError(f"Shape of labels {got} does not match shape of predictions {expected}.")
    if wrap:
        labels, preds = ([value] if _is_array(value) else value for value in (labels, preds))
    return labels, preds


def _length(value: Any) -> int:
    try:
        return len(value)
    except TypeError:
        raise ArgumentError(
            f"labels and predictions of metrics must be arrays, or lists of arrays; got {describe(value)}."
        ) from None


def as_numpy(value: Any) -> numpy.ndarray:
    """Return an array as NumPy's, without a copy."""
    return value._data if isinstance(value, Array) else numpy.asarray(value)


def pairs(metric: EvalMetric, labels: Any, preds: Any) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """Yield each label with its prediction."""
    if not (_is_array(labels) and _is_array(preds)):
        labels, preds = ([value] if _is_array(value) else value for value in (labels, preds))
        if _length(labels) != _length(preds):
            raise ShapeError(
                f"{metric.name}: {len(labels)} label(s) for {len(preds)} prediction(s); there must be one for each. "
                f"output_names and label_names choose those of update_dict."
            )
    else:
        labels, preds = [labels], [preds]
    for label, pred in zip(labels, preds, strict=True):
        yield as_numpy(label), as_numpy(pred)


def predicted_classes(metric: EvalMetric, pred: numpy.ndarray, axis: int) -> numpy.ndarray:
    """Return the class with the greatest score along an axis."""
    if not -pred.ndim <= axis < pred.ndim:
        raise ShapeError(
            f"{metric.name}: predictions of shape {pred.shape} have no axis {axis} along which the scores of classes "
            f"could stand."
        )
    return pred.argmax(axis)


def as_classes(metric: EvalMetric, label: numpy.ndarray, classes: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the classes of labels and of predictions as vectors of integers that are equally long."""
    if label.size != classes.size:
        raise ShapeError(
            f"{metric.name}: Shape of labels {label.shape} does not match shape of predictions: there are {label.size} "
            f"labels for {classes.size} predicted classes {classes.shape}."
        )
    with numpy.errstate(invalid="ignore"):  # a nan becomes a class that there is not
        return label.astype("int64").ravel(), classes.astype("int64").ravel()


def checked_average(caller: str, average: Any) -> str:
    """Return how batches are averaged: 'macro' or 'micro'."""
    if average not in ("macro", "micro"):
        raise ArgumentValueError(f"{caller}: average must be 'macro' or 'micro', got {describe(average)}.")
    return str(average)
