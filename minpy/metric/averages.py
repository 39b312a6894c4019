"""Means of losses, and of the results of one's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, describe
from minpy.metric.eval_metric import EvalMetric, Names, as_numpy, check_label_shapes, register, with_names_only

__all__ = ["Caffe", "CustomMetric", "Loss", "Torch", "np"]


@register
@with_names_only("loss")
class Loss(EvalMetric):
    """The mean of all elements of the predictions, which are losses. Labels are not used.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Examples
    --------
    >>> import minpy as mx
    >>> loss = mx.metric.Loss()
    >>> loss.update(None, [mx.nd.array([1, 2]), mx.nd.array([6])])
    >>> loss.get()[1].item()
    3.0
    """

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        labels : object
        preds : NDArray or list of NDArray
        """
        for pred in [preds] if isinstance(preds, (Array, numpy.ndarray)) else preds:
            values = as_numpy(pred)
            self._add(values.sum(dtype="float64"), values.size)


@register
@with_names_only("torch")
class Torch(Loss):
    """`Loss` by another name, for criterions of Torch.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """


@register
@with_names_only("caffe")
class Caffe(Loss):
    """`Loss` by another name, for criterions of Caffe.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """


@register
class CustomMetric(EvalMetric):
    """The mean of what a function of one's own returns.

    Parameters
    ----------
    feval : callable
        `feval(label, pred)`, of NumPy arrays, returns the value of a batch; or a sum and a number of instances.
    name : str, optional
        The function's if left out.
    allow_extra_outputs : bool
        There may be more predictions than labels; the last are not used.
    output_names, label_names : list of str, optional

    Raises
    ------
    ArgumentError
        If `feval` cannot be called; by `update`, if it returns no number.
    ShapeError
        By `update`, if there are not as many labels as predictions.

    Examples
    --------
    >>> import minpy as mx
    >>> metric = mx.metric.CustomMetric(lambda label, pred: abs(label - pred).max(), name='worst')
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1.5, 4])])
    >>> metric.get()[1].item()
    2.0
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        if not callable(feval):
            raise ArgumentError(f"CustomMetric: expected a function of label and prediction, got {describe(feval)}.")
        if name is None:
            name = str(getattr(feval, "__name__", type(feval).__name__))
            name = f"custom({name})" if "<" in name else name
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        if self._allow_extra_outputs:
            labels, preds = (
                [value] if isinstance(value, (Array, numpy.ndarray)) else value for value in (labels, preds)
            )
        else:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds, strict=False):
            value = self._feval(as_numpy(label).copy(), as_numpy(pred).copy())
            total, count = value if isinstance(value, tuple) and len(value) == 2 else (value, 1)
            if not isinstance(total, (int, float, numpy.number, numpy.ndarray, Array)):
                raise ArgumentError(
                    f"{self.name}: the function must return a number, or a sum and a number of instances; it returned "
                    f"{describe(value)}."
                )
            self._add(numpy.float64(total) if isinstance(total, numpy.number) else total, count)

    def get_config(self) -> dict[str, Any]:
        """Raise: a function cannot be written.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(f"{self.name}: a CustomMetric cannot be written, as it is a function.")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Return a metric made of a function of NumPy arrays.

    Parameters
    ----------
    numpy_feval : callable
        `numpy_feval(label, pred)` returns the value of a batch; or a sum and a number of instances.
    name : str, optional
        The function's if left out.
    allow_extra_outputs : bool
        There may be more predictions than labels; the last are not used.

    Returns
    -------
    CustomMetric

    Raises
    ------
    ArgumentError
        If it cannot be called.

    Examples
    --------
    >>> import minpy as mx
    >>> metric = mx.metric.np(lambda label, pred: abs(label - pred).mean())
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> metric.get()[0], metric.get()[1].item()
    ('custom(<lambda>)', 1.0)
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
