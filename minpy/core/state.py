"""What `with` statements set for a thread, such as the two flags of imperative differentiation.

An interrupt (Ctrl-C, a timer) is raised between two bytecodes of whatever Python code runs: also on the way into an
`__exit__` that is written in Python, before its first line. So scopes are left in C, by one `dict.update` of the
thread's values.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

__all__ = ["Scope", "ThreadValues", "leaving", "state"]


class ThreadValues(threading.local):
    """Values of a thread, as attributes, that scopes set and restore.

    A scope is entered by one update of `vars(values)` that includes `leave`: what restores all that it changes, `leave`
    as well. Nothing may be called after that update.
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


state = _State(recording=False, training=False, bridging=False)


class _Entering:
    """The `__enter__` of scopes. `with` looks it up, which computes everything, and calls what it found, which is C."""

    def __get__(self, scope: Scope | None, owner: type[Scope]) -> Callable[..., None]:
        if scope is None:
            return _enter
        recording, training, flags = scope._recording, scope._training, state.__dict__
        if recording is None:
            recording = flags["recording"]
        if training is None:
            training = flags["training"]
        update = flags.update
        return partial(update, {"recording": recording, "training": training, "leave": partial(update, flags.copy())})


def _enter(scope: Scope) -> None:
    """Enter a scope for those who look `__enter__` up in the class, as `contextlib.ExitStack` does."""
    scope.__enter__()


class Scope:
    """A context manager that sets the flags of this thread and restores them, exceptions and interrupts or not.

    Parameters
    ----------
    recording, training : bool or None
        The value inside the scope; None leaves the flag as it is.
    """

    __slots__ = ("_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training

    __enter__ = _Entering()
    __exit__ = leaving(state)
