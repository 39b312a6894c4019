"""Configuring, starting and stopping the profiler, and writing its results."""

from __future__ import annotations

import atexit
import threading
import warnings
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, UnknownWordError, nearest
from minpy.files import checked_path, write_file
from minpy.profiler import instrumentation
from minpy.profiler.event_log import LOG, as_json, as_table, trace

__all__ = [
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]

_STATES = ("run", "stop")
_PROCESSES = ("worker", "server")


class _Profiler:
    """The one profiler of this process: its configuration and state."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {
            "filename": "profile.json",
            "profile_all": False,
            "profile_symbolic": True,
            "profile_imperative": True,
            "profile_memory": True,
            "profile_api": True,
            "aggregate_stats": False,
            "continuous_dump": False,
            "dump_period": 1.0,
            "gpu_memory_profile_filename_prefix": "gpu_memory_profile",
        }
        self.lock = threading.RLock()
        self.state = "stop"
        self.paused = False
        self.has_run = False  # since the last finished dump
        self.dumps_at_exit = False

    def apply_state(self) -> None:
        """Start or stop the recording of events according to the state."""
        is_running = self.state == "run" and not self.paused
        if is_running == LOG.running:
            return
        if is_running:
            config = self.config
            instrumentation.install(
                eager=config["profile_imperative"] or config["profile_all"],
                programs=config["profile_symbolic"] or config["profile_all"],
            )
            LOG.running = True
        else:
            LOG.running = False
            instrumentation.remove()
            if self.config["continuous_dump"]:
                self.write()

    def write(self) -> None:
        """Write the trace."""
        path = checked_path("profiler.dump", self.config["filename"])
        write_file("profiler.dump", path, trace(LOG))


_profiler = _Profiler()


def _require_worker(function: str, process: str) -> None:
    if process not in _PROCESSES:
        raise ArgumentValueError(
            f"{function}: profile_process is {process!r}, expected 'worker' or 'server'."
            f"{nearest(str(process), _PROCESSES)}"
        )
    if process == "server":
        raise MXNetError(
            f"{function}: there are no servers of parameters to profile; leave profile_process out, for this process."
        )


def set_config(**kwargs: Any) -> None:
    """Set what is profiled from the next start on, and where the trace is written.

    Parameters
    ----------
    filename : str
        The file of the trace, by default 'profile.json'.
    profile_all : bool
        Whether to profile everything.
    profile_imperative : bool
        Whether to time calls of operators on arrays, and their gradients.
    profile_symbolic : bool
        Whether to time the steps of programs: of bound symbols, and of graphs that are called.
    continuous_dump : bool
        Whether to write the trace at each stop and pause, too.
    aggregate_stats, dump_period, profile_memory, profile_api, gpu_memory_profile_filename_prefix
        Accepted as in MXNet. Times are always added up for `dumps`; memory is not profiled, and there is no C interface
        and no GPU.
    profile_process : str
        'worker', this process.

    Raises
    ------
    ArgumentError
        For unknown names.

    Examples
    --------
    >>> from minpy import profiler
    >>> profiler.set_config(filename='profile.json', profile_all=True)
    """
    process = kwargs.pop("profile_process", "worker")
    _require_worker("profiler.set_config", process)
    config = _profiler.config
    for name, value in kwargs.items():
        if name not in config:
            raise ArgumentError(
                f"profiler.set_config has no argument {name!r}.{nearest(name, config)} It takes {', '.join(config)}."
            )
        if name == "filename":
            checked_path("profiler.set_config", value)
    config.update(kwargs)


def set_kvstore_handle(handle: Any) -> None:
    """Do nothing: in MXNet, this is needed to profile parameter servers, of which there are none here.

    Parameters
    ----------
    handle : object
        In MXNet, a pointer to a store in C++.

    Examples
    --------
    >>> from minpy import profiler
    >>> profiler.set_kvstore_handle(None)
    """


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start or stop the profiler.

    While it runs, calls of operators, gradients, and steps of programs are timed. While it is stopped, it costs
    nothing.

    Parameters
    ----------
    state : str
        'run' or 'stop'.
    profile_process : str
        'worker', this process.

    Raises
    ------
    ArgumentValueError
        For another state.

    Examples
    --------
    >>> from minpy import nd, profiler
    >>> profiler.set_state('run')
    >>> y = nd.dot(nd.ones((2, 2)), nd.ones((2, 2)))
    >>> profiler.set_state('stop')
    >>> 'dot' in profiler.dumps(reset=True)
    True
    """
    if state not in _STATES:
        raise UnknownWordError(
            f"profiler.set_state: the state is {state!r}, expected 'run' or 'stop'.{nearest(str(state), _STATES)}"
        )
    _require_worker("profiler.set_state", profile_process)
    with _profiler.lock:
        if state == "run" and not _profiler.has_run:
            LOG.clear()
            _profiler.has_run = True
        if state != _profiler.state:
            _profiler.paused = False
        _profiler.state = state
        _profiler.apply_state()


def _set_paused(function: str, process: str, paused: bool) -> None:
    _require_worker(function, process)
    with _profiler.lock:
        _profiler.paused = paused
        _profiler.apply_state()


def pause(profile_process: str = "worker") -> None:
    """Record no events until `resume`.

    Parameters
    ----------
    profile_process : str
        'worker', this process.
    """
    _set_paused("profiler.pause", profile_process, True)


def resume(profile_process: str = "worker") -> None:
    """Record events again, if the profiler runs.

    Parameters
    ----------
    profile_process : str
        'worker', this process.
    """
    _set_paused("profiler.resume", profile_process, False)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace into the file that `set_config` names. It appears whole or not at all.

    Parameters
    ----------
    finished : bool
        Whether the trace is complete: then the profiler is stopped, and its next start begins a new trace.
    profile_process : str
        'worker', this process.

    Raises
    ------
    MXNetError
        If the profiler has not run since the last dump.
    FileAccessError
        If the file cannot be written.
    """
    _require_worker("profiler.dump", profile_process)
    with _profiler.lock:
        if not _profiler.has_run:
            raise MXNetError(
                "profiler.dump: there is nothing to write: the profiler has not run since the last dump. Call "
                "profiler.set_state('run') before what is to be profiled, or dump(finished=False) to go on afterwards."
            )
        if finished:
            set_state("stop")
        _profiler.write()
        if finished:
            _profiler.has_run = False


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Return the count, and the total, smallest, greatest and average time, of each event.

    Parameters
    ----------
    reset : bool
        Whether to remove the statistics afterwards.
    format : str
        'table' for text, or 'json'.
    sort_by : str
        'total', 'avg', 'min', 'max' or 'count'.
    ascending : bool

    Returns
    -------
    str

    Raises
    ------
    ArgumentValueError
        For another format or order.
    """
    formats = {"table": as_table, "json": as_json}
    if format not in formats:
        raise ArgumentValueError(f"profiler.dumps: the format is {format!r}, expected 'table' or 'json'.")
    text = formats[format](LOG, sort_by, bool(ascending))
    if reset:
        LOG.reset_statistics()
    return text


def start_with_program() -> None:
    """Start the profiler, and write the trace when the program ends, for `MXNET_PROFILER_AUTOSTART=1`."""
    set_state("run")
    if not _profiler.dumps_at_exit:
        _profiler.dumps_at_exit = True
        atexit.register(lambda: dump() if _profiler.has_run else None)


# -- old names -----------------------------------------------------------------------------------------------------


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(f"profiler.{old} is the old name of profiler.{new}.", DeprecationWarning, stacklevel=3)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Do what `set_config` does: its old form, which warns.

    Parameters
    ----------
    mode : str
        'symbolic' for programs only, or 'all'.
    filename : str
    """
    _warn_renamed("profiler_set_config", "set_config")
    if mode not in ("symbolic", "all"):
        raise ArgumentValueError(f"profiler_set_config: the mode is {mode!r}, expected 'symbolic' or 'all'.")
    set_config(profile_symbolic=True, profile_imperative=mode == "all", filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """Do what `set_state` does: its old name, which warns.

    Parameters
    ----------
    state : str
        'run' or 'stop'.
    """
    _warn_renamed("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """Do what `dump` does: its old name, which warns."""
    _warn_renamed("dump_profile", "dump")
    dump(True)
