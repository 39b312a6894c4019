"""Callbacks for notebooks, under the name of MXNet's module."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from minpy.namespaces import module_functions
from minpy.notebook.charts import LiveBokehChart, LiveLearningCurve, LiveTimeSeries
from minpy.notebook.logging_frames import PandasLogger

__all__ = ["LiveBokehChart", "LiveLearningCurve", "LiveTimeSeries", "PandasLogger", "args_wrapper"]
_IMPORTED = (defaultdict, time)
__dir__, __getattr__ = module_functions(__name__, __all__)


def args_wrapper(*args: Any) -> dict[str, list[Callable[..., None]]]:
    """Return the callbacks of several objects as arguments of `Module.fit`.

    Parameters
    ----------
    *args : objects with `callback_args`
        Such as `PandasLogger` and `LiveLearningCurve`.

    Returns
    -------
    dict of str to list of callable

    Examples
    --------
    >>> import minpy as mx
    >>> class Watcher:
    ...     def callback_args(self):
    ...         return {'batch_end_callback': print}
    >>> list(mx.notebook.callback.args_wrapper(Watcher(), Watcher()))
    ['batch_end_callback']
    """
    callbacks: defaultdict[str, list[Callable[..., None]]] = defaultdict(list)
    for logger in args:
        for name, callback in logger.callback_args().items():
            callbacks[name].append(callback)
    return dict(callbacks)
