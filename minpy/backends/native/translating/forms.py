"""Which calls are done by native code of their own: the one place where they get their form."""

from __future__ import annotations

from collections.abc import Callable

from minpy.backends.native.gathering.calls import form_of_gathering
from minpy.backends.native.language import Call, NativeForm
from minpy.backends.native.scanning.calls import form_of_scan

__all__ = ["FORMS", "form_of"]

# Each returns the form of a call; None if it has none for such calls.
FORMS: list[Callable[[Call], NativeForm | None]] = [form_of_gathering, form_of_scan]


def form_of(call: Call) -> NativeForm | None:
    """Return how a call is done by native code; None if it is one of Python's."""
    for find in FORMS:
        form = find(call)
        if form is not None:
            return form
    return None
