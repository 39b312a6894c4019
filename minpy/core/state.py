"""The two flags of imperative differentiation, recording and training, one pair per thread."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Scope", "state"]


class _State(threading.local):
    recording: bool = False
    bridging: bool = False  # whether HIPS autograd runs our gradient rules
    training: bool = False


state = _State()


class Scope:
    """A context manager that sets the flags of this thread and restores them, exceptions or not.

    Parameters
    ----------
    recording, training : bool or None
        The value inside the scope; None leaves the flag as it is.
    """

    __slots__ = ("_previous", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._previous: Any = None  # (recording, training, what it was before), for each entry not yet left

    def __enter__(self) -> None:
        self._previous = (state.recording, state.training, self._previous)
        if self._recording is not None:
            state.recording = self._recording
        if self._training is not None:
            state.training = self._training

    def __exit__(self, *exception: object) -> None:
        state.recording, state.training, self._previous = self._previous
