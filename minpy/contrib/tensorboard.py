"""`mx.contrib.tensorboard`: metrics written for TensorBoard, by tensorboardX (the extra `tensorboard`)."""

from __future__ import annotations

import os
from typing import Any

from minpy.core.errors import MissingDependencyError
from minpy.namespaces import module_functions

__all__ = ["LogMetricsCallback"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class LogMetricsCallback:
    """Writes metrics for TensorBoard while a module is trained: for `batch_end_callback` and `eval_end_callback`.

    The step is the number of the epoch.

    Parameters
    ----------
    logging_dir : str or PathLike
        The folder of the events: `tensorboard --logdir` shows it.
    prefix : str, optional
        What stands in front of the metrics' names. Callbacks of training and validation with folders of their own and
        the same prefix, or none, are lines of one chart.

    Raises
    ------
    MissingDependencyError
        If tensorboardX is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import minpy as mx
    >>> folder = tempfile.mkdtemp()
    >>> write = mx.contrib.tensorboard.LogMetricsCallback(folder, prefix='train')
    >>> metric = mx.metric.create('acc')
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.2, 0.8]])])
    >>> write(mx.model.BatchEndParam(epoch=0, nbatch=1, eval_metric=metric, locals=None))
    """

    def __init__(self, logging_dir: str | os.PathLike[str], prefix: str | None = None) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MissingDependencyError(
                "LogMetricsCallback needs the package tensorboardX, which is not installed. Install it with: "
                "python -m pip install tensorboardX."
            ) from None
        self.prefix = prefix
        self.summary_writer = SummaryWriter(os.fspath(logging_dir))

    def __call__(self, param: Any) -> None:
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            shown = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(shown, value, global_step=param.epoch)
