"""Values that `with` statements set for a thread, such as the two flags of imperative differentiation.

An interrupt (Ctrl-C, a timer) is raised where Python code calls something, jumps back or begins: also on the way into
an `__exit__` that is written in Python, before its first line. So scopes are left in C, by one `dict.update` of the
thread's values; and a scope that has begun to set them neither calls nor jumps any more.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

__all__ = ["TRACES", "Scope", "ThreadValues", "leaving", "questions", "state", "tracing"]


class ThreadValues(threading.local):
    """Values of a thread, as attributes, that scopes set and restore.

    A scope stores its values in `vars(values)`, and `leave`: the function that restores all of them, `leave` as well.
    """

    leave: Callable[[], None]

    def __init__(self, **values: Any) -> None:
        vars(self).update(values, leave=_not_entered)


def _not_entered() -> None:
    raise RuntimeError("a scope is left in a thread in which none was entered: use it in a `with` statement.")


class _Leaving(io.IOBase):
    """Calls `values.leave` when it is left: `IOBase.__exit__`, which is C, calls `close`, whatever it is given."""

    closed = True  # the garbage collector need not close it
    close = property(attrgetter("values.leave"))

    def __init__(self, values: ThreadValues) -> None:
        self.values = values


def leaving(values: ThreadValues) -> Callable[..., None]:
    """Return an `__exit__` for the scopes that set `values`."""
    return _Leaving(values).__exit__


class _State(ThreadValues):
    recording: bool
    training: bool
    bridging: bool  # whether HIPS autograd runs our gradient rules


class _Questions(ThreadValues):
    # Set when a program reads the flags, because what it computes may depend on them.
    training: bool
    recording: bool


class _Tracing(ThreadValues):
    trace: Any  # what records a block's forward, in a thread in which one is traced
    modes: Any  # recording and training as a block's trace began; None: there is no trace
    eager: bool  # whether hybridized blocks are run as they are written


state = _State(recording=False, training=False, bridging=False)
questions = _Questions(training=False, recording=False)
tracing = _Tracing(trace=None, modes=None, eager=False)
# The traces that run in any thread: the list is almost always empty, which is cheap to check.
TRACES: list[Any] = []


class Scope:
    """A context manager that sets the flags of this thread and restores them, exceptions and interrupts or not.

    Parameters
    ----------
    recording, training : bool or None
        The value inside the scope; None leaves the flag as it is, and restores nothing.
    """

    __slots__ = ("_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training

    def __enter__(self) -> None:
        values = state.__dict__
        recording, training = self._recording, self._training
        before = values.copy()
        if recording is None:
            recording = before.pop("recording")
        if training is None:
            training = before.pop("training")
        leave = partial(values.update, before)
        values["recording"], values["training"], values["leave"] = recording, training, leave

    __exit__ = leaving(state)
