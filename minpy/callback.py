"""`mx.callback`: what training calls after batches and epochs."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from minpy.core.errors import ArgumentError, MissingDependencyError, describe
from minpy.core.notebooks import in_notebook
from minpy.model import save_checkpoint
from minpy.model.validation import LogValidationMetricsCallback
from minpy.namespaces import module_functions

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
    "save_checkpoint",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


def _every(function: str, period: Any, save: Callable[..., None]) -> Callable[..., None]:
    """Return a callback that saves at the end of each `period` epochs, called with their number and what is saved."""
    try:
        every = int(max(1, period))
    except (TypeError, ValueError):
        raise ArgumentError(f"{function}: period is {describe(period)}; expected a number of epochs.") from None

    def callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            save(iter_no + 1, sym, arg, aux)

    return callback


def module_checkpoint(
    mod: Any, prefix: Any, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Return a callback that saves a module at the end of epochs.

    Parameters
    ----------
    mod : Module
    prefix : str or PathLike
        How the names of the files begin.
    period : int
        After how many epochs.
    save_optimizer_states : bool
        Whether the optimizer's states are saved, too, from which training goes on as if it had not stopped.

    Returns
    -------
    callable
        For `epoch_end_callback`.

    Examples
    --------
    >>> import os, tempfile
    >>> import minpy as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=1), name='lro')
    >>> module = mx.mod.Module(net, label_names=['lro_label'])
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 2)), mx.nd.ones(4), 2, label_name='lro_label')
    >>> folder = tempfile.mkdtemp()
    >>> save = mx.callback.module_checkpoint(module, os.path.join(folder, 'net'), save_optimizer_states=True)
    >>> module.fit(data, num_epoch=1, eval_metric='mse', epoch_end_callback=save)
    >>> sorted(os.listdir(folder))
    ['net-0001.params', 'net-0001.states', 'net-symbol.json']
    """
    return _every(
        "module_checkpoint", period, lambda epoch, *_: mod.save_checkpoint(prefix, epoch, save_optimizer_states)
    )


def do_checkpoint(prefix: Any, period: int = 1) -> Callable[..., None]:
    """Return a callback that saves symbol and parameters at the end of epochs.

    Parameters
    ----------
    prefix : str or PathLike
        How the names of the files begin: `model.load_checkpoint` and `Module.load` read them.
    period : int
        After how many epochs.

    Returns
    -------
    callable
        For `epoch_end_callback`.

    Examples
    --------
    >>> import os, tempfile
    >>> import minpy as mx
    >>> folder = tempfile.mkdtemp()
    >>> save = mx.callback.do_checkpoint(os.path.join(folder, 'net'), period=2)
    >>> for epoch in range(4):
    ...     save(epoch, mx.sym.var('w') * 2, {'w': mx.nd.ones(2)}, {})
    >>> sorted(os.listdir(folder))
    ['net-0002.params', 'net-0004.params', 'net-symbol.json']
    """
    return _every("do_checkpoint", period, lambda *state: save_checkpoint(prefix, *state))


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Return a callback that writes the metrics of training to the log.

    Parameters
    ----------
    period : int
        After how many batches.
    auto_reset : bool
        Whether the numbers begin anew then.

    Returns
    -------
    callable
        For `batch_end_callback`.

    Examples
    --------
    >>> import minpy as mx
    >>> write = mx.callback.log_train_metric(10)
    >>> write(mx.model.BatchEndParam(epoch=0, nbatch=20, eval_metric=mx.metric.create('acc'), locals=None))
    """

    def write(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return write


class Speedometer:
    """Writes how many instances a second are trained to the log, and the metrics.

    Parameters
    ----------
    batch_size : int
    frequent : int
        After how many batches.
    auto_reset : bool
        Whether metrics are of the batches since the line before; else of the epoch so far.

    Examples
    --------
    >>> import minpy as mx
    >>> show = mx.callback.Speedometer(batch_size=32, frequent=10)
    >>> show(mx.model.BatchEndParam(epoch=0, nbatch=0, eval_metric=mx.metric.create('acc'), locals=None))
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.init = False
        self.tic: float = 0
        self.last_count = 0
        self.auto_reset = auto_reset

    def __call__(self, param: Any) -> None:
        """Write a line if it is time.

        Parameters
        ----------
        param : BatchEndParam
        """
        count = param.nbatch
        if self.last_count > count:
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
            return
        if count % self.frequent:
            return
        seconds = time.time() - self.tic
        speed = self.frequent * self.batch_size / seconds if seconds else float("inf")
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            metrics = param.eval_metric.get_name_value()
            text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(metrics)
            first = count - self.frequent if self.auto_reset else 0
            if self.auto_reset:
                param.eval_metric.reset_local()
            logging.info(text, param.epoch, first, count, speed, *(part for pair in metrics for part in pair))
        self.tic = time.time()


class ProgressBar:
    """Shows a bar of the batches of an epoch, which tqdm draws: in a terminal, and in a notebook.

    Parameters
    ----------
    total : int
        How many batches an epoch has.
    length : int
        How many characters wide the line is.

    Raises
    ------
    MissingDependencyError
        When it is shown first, if tqdm is not installed.

    Examples
    --------
    >>> import minpy as mx
    >>> show = mx.callback.ProgressBar(total=2)
    >>> for batch in range(2):
    ...     show(mx.model.BatchEndParam(epoch=0, nbatch=batch, eval_metric=None, locals=None))
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total
        self._bar: Any = None
        self._epoch: Any = None

    def __call__(self, param: Any) -> None:
        """Move the bar.

        Parameters
        ----------
        param : BatchEndParam
        """
        if self._bar is None or param.epoch != self._epoch:
            self.close()
            self._bar, self._epoch = _progress(self.total, self.bar_len, f"Epoch {param.epoch}"), param.epoch
        done = min(param.nbatch + 1, self.total)
        if param.eval_metric is not None:
            shown = {str(name): f"{value:.4f}" for name, value in param.eval_metric.get_name_value()}
            self._bar.set_postfix(shown, refresh=False)
        self._bar.update(done - self._bar.n)
        if done == self.total:
            self.close()

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _progress(total: int, length: int, title: str) -> Any:
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise MissingDependencyError(
            "ProgressBar: tqdm is not installed. Install it: pip install tqdm, or use Speedometer."
        ) from error
    if not in_notebook():  # nothing where output goes to a file
        return tqdm(total=total, desc=title, unit="batch", ncols=length, disable=None)
    try:
        import_module("ipywidgets")  # without it tqdm's bar for notebooks cannot be shown
        from tqdm.notebook import tqdm_notebook
    except ImportError:
        return tqdm(total=total, desc=title, unit="batch", ncols=length, file=sys.stdout)
    return tqdm_notebook(total=total, desc=title, unit="batch")
