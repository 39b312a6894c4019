"""`mx.monitor`: the inner arrays of executors, watched while they run."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, describe
from minpy.namespaces import module_functions

__all__ = ["Monitor"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class Monitor:
    """Collects a number of every output of every node, and of every argument and state, every so many batches.

    Between those batches executors run at their usual speed.

    Parameters
    ----------
    interval : int
        Every how many batches.
    stat_func : callable, optional
        A function of an NDArray that returns one, or a list of them; by default the root of the mean square.
    pattern : str
        A regular expression; arrays whose names it matches are looked at.
    sort : bool
        Whether results are sorted by name.
    monitor_all : bool
        Whether inputs of nodes are looked at, too.

    Examples
    --------
    >>> import minpy as mx
    >>> executor = (2 * mx.sym.var('x', shape=(2,))).simple_bind(mx.cpu())
    >>> monitor = mx.mon.Monitor(interval=1, stat_func=lambda array: array.max(), pattern='x')
    >>> monitor.install(executor)
    >>> monitor.tic()
    >>> executor.forward(x=mx.nd.array([1, 3]))[0].asnumpy()
    array([2., 6.], dtype=float32)
    >>> monitor.toc()
    [(1, 'x', '3.0\\t')]
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[Any], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:
            raise ArgumentError(f"Monitor: interval is {describe(interval)}; expected a number of batches, at least 1.")
        self.interval = interval
        self.stat_func = stat_func or (lambda array: nd.norm(array) / math.sqrt(array.size))
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str, array: Any) -> None:
        """Note an array, if it is time and its name fits: what executors call.

        Parameters
        ----------
        name : str
        array : NDArray
        """
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Watch an executor.

        Parameters
        ----------
        exe : Executor
        """
        if self.activated:
            exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begin a batch: it is watched if it is time."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
            for exe in self.exes:
                exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch.

        Returns
        -------
        list of (int, str, str)
            Step, name, and what `stat_func` returned as text; empty if the batch was not watched.

        Raises
        ------
        ArgumentError
            If `stat_func` returns no NDArrays.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            if getattr(exe, "_monitor", None) == self.stat_helper:
                exe.set_monitor_callback(None)
            symbol = exe._symbol
            for names, arrays in (
                (symbol.list_arguments(), exe.arg_arrays),
                (symbol.list_auxiliary_states(), exe.aux_arrays),
            ):
                for name, array in zip(names, arrays, strict=True):
                    self.stat_helper(name, array)
        self.activated = False
        rows, self.queue = self.queue, []
        if self.sort:
            rows.sort(key=lambda row: row[1])
        return [(step, name, self._text(name, values)) for step, name, values in rows]

    def _text(self, name: str, values: Any) -> str:
        arrays = values if isinstance(values, list) else [values]
        for array in arrays:
            if not isinstance(array, nd.NDArray):
                raise ArgumentError(
                    f"Monitor: stat_func returned {describe(array)} for {name!r}; expected an NDArray, or a list "
                    "of them."
                )
        return "".join(str(array.asscalar() if array.shape == (1,) else array.asnumpy()) + "\t" for array in arrays)

    def toc_print(self) -> None:
        """End a batch, and write what was collected to the log."""
        for step, name, text in self.toc():
            logging.info(f"Batch: {step:7d} {name:30s} {text:s}")
