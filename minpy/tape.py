"""MinPy's tape: recording that is turned on and off by hand. The tape itself is what `minpy.autograd` has.

`minpy.core.grad` does all of this. Examples of the programs that do it themselves are MinPy's own model builder, and
tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

import numpy

from minpy import autograd
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, describe
from minpy.namespaces import module_functions

__all__ = ["Tape", "global_tape", "tape"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_current = local()


class Tape:
    """Records what is computed between `start_recording` and `stop_recording`.

    Examples
    --------
    >>> import minpy.numpy as np
    >>> from minpy.array import wrap
    >>> x = wrap(np.array([1.0, 2.0]))
    >>> with tape() as current:
    ...     x.mark_for_bp(current)
    ...     current.start_recording()
    ...     y = np.sum(x * x)
    ...     current.stop_recording()
    ...     current.get_gradient((x,), y)
    [array([2., 4.], dtype=float32)]
    """

    def __init__(self) -> None:
        self._recording = self._before = False

    @property
    def is_recording(self) -> bool:
        """Whether the tape records."""
        return self._recording

    def start_recording(self) -> None:
        """Record what is computed from now on, in this thread."""
        if not self._recording:
            self._before = autograd.set_recording(True)
            self._recording = True

    def stop_recording(self) -> None:
        """Record as before `start_recording`."""
        if self._recording:
            self._recording = False
            autograd.set_recording(self._before)

    def get_gradient(self, origin: Sequence[Any], target: Any) -> list[Any]:
        """Return the gradients of the sum of a target's elements.

        Parameters
        ----------
        origin : sequence of Array
            What to differentiate with respect to: arrays that `mark_for_bp` was called on.
        target : Array, or tuple of Array

        Returns
        -------
        list of Array
            The gradient of each; zeros where the target does not depend on it.

        Raises
        ------
        ArgumentError
            If one of the two is no array.
        """
        targets = list(target) if isinstance(target, (tuple, list)) else [target]
        for value in (*origin, *targets):
            if not isinstance(value, Array):
                raise ArgumentError(f"get_gradient takes arrays of minpy, got {describe(value)}.")
        targets = [head for head in targets if head._node is not None]
        variables = [array for array in origin if array._node is not None]
        gradients = autograd.grad(targets, variables, retain_graph=True) if targets and variables else []
        by_variable = dict(zip(map(id, variables), gradients, strict=False))
        return [
            by_variable[id(array)] if id(array) in by_variable else array._like(numpy.zeros_like(array._data))
            for array in origin
        ]


@contextmanager
def tape() -> Iterator[Tape]:
    """Make a new tape that which `global_tape` returns in this thread, until the scope is left.

    Examples
    --------
    >>> with tape() as current:
    ...     global_tape() is current
    True
    >>> global_tape() is None
    True
    """
    before, new_tape = global_tape(), Tape()
    _current.tape = new_tape
    try:
        yield new_tape
    finally:
        new_tape.stop_recording()
        _current.tape = before


def global_tape() -> Tape | None:
    """Return the tape of this thread: inside of what `minpy.core.grad` differentiates, and of `with tape()`.

    Examples
    --------
    >>> import minpy
    >>> minpy.core.grad(lambda x: x * x if global_tape().is_recording else x)(3.0)
    6.0
    """
    return getattr(_current, "tape", None)
